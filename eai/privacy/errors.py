"""Why something of a person is not erased."""

from eai.kernel.errors import Forbidden


class ErasureNotPermitted(Forbidden):
    """Whoever asked for an erasure could not ask for it any more: it goes no further."""

    code = "erasure_not_permitted"


class SelfErasureForbidden(Forbidden):
    """Nobody makes what the audit says of them unreadable, nor has what they hold a secret of do it."""

    code = "self_erasure_forbidden"
