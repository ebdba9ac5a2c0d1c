"""Why work is refused for what it would cost, and what is wrong with a quota."""

from eai.kernel.errors import Conflict, InvalidInput


class QuotaExceeded(Conflict):
    """The work could take more than is left of the `limit` of `owner`; `used` counts what is held, too."""

    code = "quota_exceeded"


class OwnerUnknown(InvalidInput):
    """A quota names a group or a knowledge base that the tenant does not have."""

    code = "owner_unknown"

    def __init__(self) -> None:
        super().__init__({"path": "owner", "code": "owner_unknown", "message": "unknown"})


class SwitchedOff(Exception):
    """A kill switch is engaged: `scope` names it. Whoever knows what was called tells the caller."""

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.scope = scope
