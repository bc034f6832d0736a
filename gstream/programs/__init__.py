"""The algorithms as programs, one file each: they read like their pseudocode."""
