"""What the backend leaves to NetworkX."""


class LeftToNetworkXError(NotImplementedError):
    """gstream does not do this call. NetworkX's dispatcher catches NotImplementedError, and does the call itself where
    fallback is on; else the user reads the reason."""
