"""Runs programs superstep by superstep: the driver of the nested-loop join, its fast paths, its checkpoints."""
