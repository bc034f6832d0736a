"""Communities: partitions of large modularity, and the modularity of a given one."""
