"""Benchmarks of the store, the converter and the engine on this machine's cores; `python bench/run.py` runs them."""
