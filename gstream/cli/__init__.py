"""The command line: one file a group of commands, imported without numpy so that `gstream --help` is quick."""
