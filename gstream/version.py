"""Version of gstream, read by the build and by `gstream --version`."""

__version__ = "0.1.0"
