"""What an examination may find, by name, and what it says in the end."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Any

from eai.kernel.ids import TenantId

SHOWN_IDS = 20
"""How many ids a finding names; its count is of all."""


@unique
class Kind(StrEnum):
    """Everything that can be wrong. Values are promised to operators' scripts."""

    POINT_MISSING = "point_missing"
    POINT_ORPHANED = "point_orphaned"
    POINT_OF_DELETED_DOCUMENT = "point_of_deleted_document"
    POINT_RIGHTS_WRONG = "point_rights_wrong"
    POINT_DOCUMENT_WRONG = "point_document_wrong"
    POINT_VERSION_WRONG = "point_version_wrong"
    POINT_GENERATION_WRONG = "point_generation_wrong"
    POINT_VECTOR_WRONG = "point_vector_wrong"
    POINT_WEIGHTS_WRONG = "point_weights_wrong"
    SPACE_DIMENSIONS_WRONG = "space_dimensions_wrong"
    GENERATION_UNKNOWN = "generation_unknown"
    STORE_NOT_OURS = "store_not_ours"
    GENERATION_ABANDONED = "generation_abandoned"

    CHUNK_NOT_SERVING = "chunk_not_serving"
    CHUNK_CLASS_WRONG = "chunk_class_wrong"
    CHUNK_MISFILED = "chunk_misfiled"
    CHUNK_TEXT_WRONG = "chunk_text_wrong"
    EMBEDDING_SIZE_WRONG = "embedding_size_wrong"
    RIGHTS_CLASS_WRONG = "rights_class_wrong"
    BASE_GENERATION_WRONG = "base_generation_wrong"
    DOCUMENT_WITHOUT_CHUNKS = "document_without_chunks"
    DOCUMENT_SERVES_WRONG_VERSION = "document_serves_wrong_version"
    VERSION_TEXT_WRONG = "version_text_wrong"
    STATISTICS_WRONG = "statistics_wrong"

    DOCUMENT_STUCK = "document_stuck"
    JOB_TARGET_MISSING = "job_target_missing"
    DELETION_UNFINISHED = "deletion_unfinished"
    RECEIPT_MISSING = "receipt_missing"
    RECEIPT_UNTRUE = "receipt_untrue"

    RESERVATION_EXPIRED = "reservation_expired"
    QUOTA_RESERVED_WRONG = "quota_reserved_wrong"
    QUOTA_USED_WRONG = "quota_used_wrong"
    USAGE_DIFFERS_FROM_AUDIT = "usage_differs_from_audit"

    AUDIT_CHAIN_BROKEN = "audit_chain_broken"
    AUDIT_HEAD_WRONG = "audit_head_wrong"
    AUDIT_EVENT_MISSING = "audit_event_missing"
    AUDIT_DETAILS_WRONG = "audit_details_wrong"
    MODEL_CALL_UNCLOSED = "model_call_unclosed"
    MODEL_CALL_CLOSED_TWICE = "model_call_closed_twice"


POINT_KINDS = frozenset(
    {
        Kind.POINT_MISSING,
        Kind.POINT_ORPHANED,
        Kind.POINT_OF_DELETED_DOCUMENT,
        Kind.POINT_RIGHTS_WRONG,
        Kind.POINT_DOCUMENT_WRONG,
        Kind.POINT_VERSION_WRONG,
        Kind.POINT_GENERATION_WRONG,
        Kind.POINT_VECTOR_WRONG,
        Kind.POINT_WEIGHTS_WRONG,
        Kind.GENERATION_UNKNOWN,
    }
)
"""What is wrong with the projection alone: rows say what is right, and rebuilding it loses nothing."""

UNASKED = POINT_KINDS - {Kind.GENERATION_UNKNOWN}
"""What workers mend by themselves. A generation of which nothing is known may be another database's."""

OF_THE_INDEX = POINT_KINDS | {
    Kind.CHUNK_NOT_SERVING,
    Kind.CHUNK_CLASS_WRONG,
    Kind.DELETION_UNFINISHED,
    Kind.RECEIPT_MISSING,
}
"""What is mended in the index, or by jobs that go on there."""

REMOVED = frozenset(
    {
        Kind.POINT_ORPHANED,
        Kind.POINT_OF_DELETED_DOCUMENT,
        Kind.POINT_GENERATION_WRONG,
        Kind.GENERATION_UNKNOWN,
    }
)
"""What is mended by removing points: in a store of another database these would be its own."""

REPAIRABLE = POINT_KINDS | {
    Kind.CHUNK_NOT_SERVING,
    Kind.CHUNK_CLASS_WRONG,
    Kind.CHUNK_MISFILED,
    Kind.RIGHTS_CLASS_WRONG,
    Kind.BASE_GENERATION_WRONG,
    Kind.STATISTICS_WRONG,
    Kind.DOCUMENT_STUCK,
    Kind.JOB_TARGET_MISSING,
    Kind.DELETION_UNFINISHED,
    Kind.RECEIPT_MISSING,
    Kind.RESERVATION_EXPIRED,
    Kind.QUOTA_RESERVED_WRONG,
    Kind.QUOTA_USED_WRONG,
}
"""What `--repair` tries to mend. The rest waits for a person: mending it would hide what happened."""


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that is wrong. `id` names it; `where` is what a repair needs beside the id."""

    kind: Kind
    id: str
    where: Any = None


@dataclass(frozen=True, slots=True)
class Finding:
    """All of one kind: how many, and the first of their ids."""

    kind: Kind
    count: int
    ids: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As it is printed and stored."""
        return {"kind": str(self.kind), "count": self.count, "ids": list(self.ids)}


@dataclass(frozen=True, slots=True)
class Report:
    """What one examination of a tenant looked at and found."""

    tenant: TenantId
    findings: tuple[Finding, ...]
    examined: Mapping[str, int] = field(default_factory=dict)
    not_checked: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As it is printed and stored."""
        return {
            "tenant": str(self.tenant),
            "findings": [finding.to_json() for finding in self.findings],
            "examined": dict(self.examined),
            "not_checked": list(self.not_checked),
        }


def grouped(found: Iterable[Found]) -> tuple[Finding, ...]:
    """Findings by kind, in the order of `Kind`."""
    ids: dict[Kind, list[str]] = defaultdict(list)
    for each in found:
        ids[each.kind].append(each.id)
    return tuple(Finding(k, len(ids[k]), tuple(sorted(ids[k])[:SHOWN_IDS])) for k in Kind if k in ids)
