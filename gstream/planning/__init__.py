"""What a run will hold and move, decided before it starts; what it will cost."""
