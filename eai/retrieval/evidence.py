"""What an answered query leaves on record: the event, the charge, and which documents were shown."""

from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource, UsageRow
from eai.kernel.canonical import nfc
from eai.kernel.ids import DocumentId
from eai.retrieval.values import Cited, Question


def evidence_of(cited: Cited, warnings: Sequence[str], results: bytes) -> Evidence:
    """The evidence of one answer; `results` are the bytes its results were sent as."""
    question = cited.readable.question
    documents = {passage.row.document for passage in cited.readable.passages}
    return Evidence(
        entries=(_event(cited, warnings, results),),
        usage=(_usage(question),),
        retrieved=tuple([DocumentId(UUID(document)) for document in documents]),
    )


def _event(cited: Cited, warnings: Sequence[str], results: bytes) -> AuditEntry:
    question = cited.readable.question
    opening, request = question.opening, question.request
    return AuditEntry(
        opening.subject.tenant,
        AuditAction.KNOWLEDGE_QUERY,
        actor=Actor.of(opening.subject),
        resource=Resource("knowledge_base", str(opening.base.id)),
        facts={
            "mode": request.mode.value,
            "top_k": request.top_k,
            "count": len(cited.results),
            "generation": str(opening.base.generation),
            "passages": [
                {"chunk": passage.row.chunk, "document": passage.row.document, "version": passage.row.version}
                for passage in cited.readable.passages
            ],
            "warnings": list(warnings),
            "results_sha256": sha256(results).hexdigest(),
            "labels": dict(question.labels),
            **({"is_cached": True} if question.is_recalled else {}),
        },
        private={"query": nfc(request.query)},
    )


def _usage(question: Question) -> UsageRow:
    subject = question.opening.subject
    return UsageRow(
        subject.tenant,
        kind="rag",
        unit="retrieval_queries",
        quantity=1,
        principal=subject.principal,
        api_key=subject.api_key,
        labels=question.labels,
        base=question.opening.base.id,
    )
