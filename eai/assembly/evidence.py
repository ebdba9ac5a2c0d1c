"""What an assembled context leaves on record: who was shown which passages, base by base."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from eai.access.subject import Subject
from eai.assembly.composing import Composed, Shown
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource
from eai.kernel.canonical import Canonical
from eai.kernel.ids import BaseId


def evidence_of(subject: Subject, composed: Composed) -> Evidence:
    """An event for each base that passages are from; one of the tenant where there are none."""
    of_bases: dict[BaseId, list[Shown]] = {}
    for passage in composed.passages:
        of_bases.setdefault(passage.base, []).append(passage)
    about = {Resource("knowledge_base", str(base)): shown for base, shown in of_bases.items()}
    told: dict[Resource, list[Shown]] = about or {Resource("tenant", str(subject.tenant)): []}
    return Evidence(
        entries=tuple(
            [
                AuditEntry(
                    subject.tenant,
                    AuditAction.CONTEXT_ASSEMBLE,
                    actor=Actor.of(subject),
                    resource=resource,
                    facts=_facts(composed, shown),
                )
                for resource, shown in told.items()
            ]
        )
    )


def _facts(composed: Composed, shown: Sequence[Shown]) -> dict[str, Canonical]:
    context = composed.context
    return {
        "count": len(shown),
        "generation": str(shown[0].generation) if shown else None,
        "passages": [
            {"chunk": each.row.chunk, "document": each.row.document, "version": each.row.version}
            for each in shown
        ],
        "left_out": dict(Counter(each.reason.value for each in context.left_out)),
        "classification": context.classification.value,
        "characters": context.characters,
        "context_sha256": sha256(context.text.encode()).hexdigest(),
    }
