"""What the backend leaves to NetworkX."""


class LeftToNetworkXError(NotImplementedError):
    """gstream does not do this call, for a reason that the message gives.

    NetworkX's protocol for backends wants this base: its dispatcher catches a NotImplementedError, and does the call
    itself where fallback is on. Nothing raises it for want of code: each reason is a difference of definition.
    """
