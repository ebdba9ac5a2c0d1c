"""What waits, and what was decided, turned into what clients read."""

from typing import Any

from eai.access.classification import LEVELS
from eai.knowledge.documents.schemas import DocumentStatus
from eai.knowledge.models import DocumentVersion
from eai.quarantine.judgement import Verdict, from_row
from eai.quarantine.models import Decision
from eai.quarantine.schemas import fields_of, finding_out
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen
from eai.review.context import context_of, holds_secrets, without_quotes, without_secrets
from eai.review.repository import Held
from eai.review.schemas import FindingInContext, HeldDocument, HeldDocumentDetail, ReviewOut


def held_out(held: Held) -> HeldDocument:
    """The document with the gravest of what was found; beside a secret nothing else is quoted."""
    found = [from_row(row) for row in held.findings]
    if holds_secrets(found):
        found = [without_quotes(each, None) for each in found]
    return HeldDocument(**_fields(held), findings=[finding_out(each) for each in found])


def detail_out(held: Held, specimen: Specimen) -> HeldDocumentDetail:
    """The document with all that was found, each in its context."""
    found = [from_row(row) for row in held.findings]
    shown = without_secrets(specimen, found)
    if holds_secrets(found):
        found = [without_quotes(each, shown) for each in found]
    return HeldDocumentDetail(
        **_fields(held),
        source_uri=held.source_uri,
        findings=[
            FindingInContext(**fields_of(finding), context=context_of(finding, shown)) for finding in found
        ],
    )


def review_out(made: Decision, version: DocumentVersion) -> ReviewOut:
    """The decision, and what the version is now."""
    return ReviewOut(
        id=made.id,
        knowledge_base_id=made.base_id,
        document_id=made.document_id,
        version=str(version.number),
        decision=Verdict(made.decision),
        comment=made.comment,
        decided_by=made.decided_by,
        decided_at=made.decided_at,
        status=DocumentStatus(version.status),
    )


def _fields(held: Held) -> dict[str, Any]:
    return {
        "knowledge_base_id": held.base,
        "document_id": held.document,
        "version": str(held.number),
        "title": held.title,
        "content_type": held.content_type,
        "classification": LEVELS[held.level],
        "submitted_by": held.submitted_by,
        "held_at": held.held_at,
        "threshold": Severity(held.threshold),
        "findings_count": held.findings_count,
    }
