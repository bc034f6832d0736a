"""What is drawn of answers and runs."""
