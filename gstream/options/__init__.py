"""Options of a run: values, limits, wording."""
