"""Connected and strongly connected components, spanning forests; with their proofs."""
