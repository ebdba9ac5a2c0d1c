"""Every level that a document will have, as a whole and in its parts."""

from collections.abc import Iterable

from eai.access.classification import Classification, highest
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.documents.drafts import SpanRights


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
