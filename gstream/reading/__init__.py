"""What is read of a store without a run: single vertices, edges in batches, tables for notebooks."""
