"""Dense parts: cores, trusses, triangles, clustering; with their proofs."""
