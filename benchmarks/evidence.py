"""What requests leave in the audit: events as the product makes them, for a hundred tenants."""

import hashlib
import secrets
from collections.abc import Sequence
from uuid import UUID, uuid4

from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource, UsageRow
from eai.kernel.ids import ApiKeyId, DocumentId, PrincipalId, TenantId

TENANTS = [TenantId(UUID(int=0x7000 + number)) for number in range(100)]
SHOWN = 5
_PRINCIPALS = {tenant: PrincipalId(UUID(int=tenant.int + 2**64)) for tenant in TENANTS}
_KEYS = {tenant: ApiKeyId(UUID(int=tenant.int + 2**65)) for tenant in TENANTS}


def query_event(tenant: TenantId, documents: Sequence[DocumentId]) -> AuditEntry:
    """What a query leaves in the chain, with five passages shown."""
    return AuditEntry(
        tenant,
        AuditAction.KNOWLEDGE_QUERY,
        actor=_actor(tenant),
        resource=Resource("knowledge_base", str(tenant)),
        facts={
            "mode": "hybrid",
            "top_k": SHOWN,
            "count": SHOWN,
            "generation": str(tenant),
            "passages": [
                {"chunk": str(uuid4()), "document": str(document), "version": str(uuid4())}
                for document in documents
            ],
            "warnings": [],
            "results_sha256": hashlib.sha256(tenant.bytes).hexdigest(),
            "labels": {},
        },
        private={"query": "how long do we keep the invoices of suppliers"},
    )


def model_event(tenant: TenantId) -> AuditEntry:
    """What the embedding of its question leaves there."""
    return AuditEntry(
        tenant,
        AuditAction.MODEL_INVOKE,
        actor=_actor(tenant),
        resource=Resource("model", "local-hash-256"),
        facts={"operation": "query", "level": "internal", "texts": 1, "tokens": 9},
    )


def query_evidence(tenant: TenantId) -> Evidence:
    """All that one query hands over: two events, two charges, and the documents shown."""
    documents = tuple(DocumentId(UUID(int=tenant.int * 64 + secrets.randbelow(64))) for _ in range(SHOWN))
    usage = [
        UsageRow(tenant, "rag", "retrieval_queries", 1, principal=_PRINCIPALS[tenant], api_key=_KEYS[tenant]),
        UsageRow(tenant, "embeddings", "tokens", 9, "local", "local", "local-hash-256", 9),
    ]
    entries = (model_event(tenant), query_event(tenant, documents))
    return Evidence(entries, tuple(usage), documents)


def _actor(tenant: TenantId) -> Actor:
    return Actor("user", _PRINCIPALS[tenant], _KEYS[tenant])
