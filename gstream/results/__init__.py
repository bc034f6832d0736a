"""Answers by the user's own IDs: columns, tables, files."""
