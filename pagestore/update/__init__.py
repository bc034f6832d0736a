"""A store with changes becomes another store: one pass over its pages, merged with the sorted changes."""

from pagestore.update.job import Changes, update

__all__ = ["Changes", "update"]
