"""Distances, widths, levels and reach from sources; with their proofs."""
