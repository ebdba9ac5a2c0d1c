"""Who may set which level."""

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.identity.grants import require_clearance
from eai.kernel.errors import InvalidInput
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.errors import PermissionMissing


def check_change(
    subject: Subject,
    base: BaseHandle,
    before: Classification,
    after: Classification,
    reason: str | None,
) -> None:
    """Raise what stands against moving something from effective level `before` to `after`.

    Nobody sets a level above the own clearance, or lowers one that lies above it: that would be a way to
    see it. Lowering takes `manage` and a reason.
    """
    require_clearance(subject, after)
    if not before.exceeds(after):
        return
    if not base.rights.can_manage:
        raise PermissionMissing(permission="manage")
    require_clearance(subject, before)
    if reason is None:
        raise InvalidInput.field("reason", "missing", "is needed to lower the classification")
