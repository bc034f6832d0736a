"""What the backend leaves to NetworkX."""


class LeftToNetworkXError(NotImplementedError):
    """gstream does not do this call, for a reason that the message gives.

    It is a NotImplementedError, which NetworkX's dispatcher catches: where fallback is on, NetworkX does the call.
    """
