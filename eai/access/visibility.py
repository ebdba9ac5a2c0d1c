"""Whether one passage may be shown: the rule that the re-check applies to raw rows."""

from dataclasses import dataclass

from eai.access.acl import BaseRights
from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.kernel.ids import TenantId


@dataclass(frozen=True, slots=True)
class PassageRights:
    """What guards a passage, as its rows say at this instant.

    `document_readers` and `chunk_readers` are references; `None` means every reader of the base and
    an empty set means nobody. `classification` is the effective level. `is_live` is false for a
    document that is being deleted, a version that is not the serving one, or one held back;
    `is_source_enabled` for one whose source connector is switched off.
    """

    tenant: TenantId
    document_readers: frozenset[str] | None
    chunk_readers: frozenset[str] | None
    classification: Classification
    is_live: bool
    is_source_enabled: bool


def may_read(subject: Subject, base: BaseRights, passage: PassageRights) -> bool:
    """The whole rule of design.md, section 5, with nothing taken for granted."""
    return (
        passage.tenant == subject.tenant
        and base.can_read_passages
        and passage.is_live
        and passage.is_source_enabled
        and not passage.classification.exceeds(subject.clearance)
        and _names(passage.document_readers, subject)
        and _names(passage.chunk_readers, subject)
    )


def _names(readers: frozenset[str] | None, subject: Subject) -> bool:
    return readers is None or not readers.isdisjoint(subject.references)
