"""Why something of a person is not erased."""

from eai.kernel.errors import Forbidden


class SelfErasureForbidden(Forbidden):
    """Nobody makes what the audit says of them unreadable."""

    code = "self_erasure_forbidden"
