"""What a document is worth, and who may set which level."""

from collections.abc import Iterable

from eai.access.classification import LEVELS, Classification, highest, level_at
from eai.access.subject import Subject
from eai.identity.grants import require_clearance
from eai.kernel.errors import InvalidInput
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.documents.drafts import SpanRights
from eai.knowledge.errors import PermissionMissing
from eai.knowledge.models import KnowledgeDocument


def found_level(row: KnowledgeDocument) -> Classification | None:
    """The level that the document is not below for what DLP found in it, whatever anybody sets."""
    ranks = [rank for rank in (row.text_level, row.field_level) if rank is not None]
    return LEVELS[max(ranks)] if ranks else None


def effective_level(
    base: BaseHandle, row: KnowledgeDocument, chunk: Classification | None = None
) -> Classification:
    """The level of the document, or of a part of it with a level of its own."""
    return highest(base.level_of(level_at(row.classification), chunk), found_level(row))


def levels_of(
    base: BaseHandle,
    own: Classification | None,
    spans: Iterable[SpanRights],
    found: Classification | None = None,
) -> tuple[Classification, ...]:
    """The effective level of a document that sets `own`, first, and of those parts that set one.

    None is below `found`, which DLP raises the document to.
    """
    parts = (base.level_of(own, span.classification) for span in spans)
    return tuple(highest(level, found) for level in (base.level_of(own), *parts))


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
