"""What can go wrong with the audit, as callers are told."""

from eai.kernel.errors import Unavailable


class AuditUnavailable(Unavailable):
    """The event could not be written in time, so what it tells of was not done or not shown."""

    code = "audit_unavailable"
