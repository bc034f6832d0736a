"""Coded pages: what a compressed store holds in place of each page (FORMAT.md, "Coded pages")."""
