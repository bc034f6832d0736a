"""Pages on their way: tables of pages, owners, caches, sources; arrays of vertices."""
