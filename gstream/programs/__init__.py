"""The algorithms as programs, one file each: they read like their pseudocode.

A class has 25 lines at most, without blank ones and its docstring (tests/answers/test_entries.py counts them).
"""
