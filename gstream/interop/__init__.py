"""Graphs from what Python holds: files by name, tables, arrays and other libraries' graphs become stores."""
