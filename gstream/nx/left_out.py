"""What the backend leaves to NetworkX."""


class LeftToNetworkXError(NotImplementedError):
    """gstream does not do this call, for a reason that the message gives.

    NetworkX's dispatcher asks for a NotImplementedError: it catches that, and does the call itself where fallback is
    on.
    """
