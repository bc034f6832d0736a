"""How central vertices are: PageRank, centralities by searches and by iteration, simulations; with their proofs."""
