"""The algorithms that come with gstream, as a user calls them: options in, a Result out. One file each."""
