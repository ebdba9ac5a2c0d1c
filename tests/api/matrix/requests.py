"""One valid request of each operation. A new operation fails the suite until it has its line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2

from tests.api.matrix.operations import Operation, Place, with_id
from tests.api.matrix.world import Things
from tests.stack import Caller, Json


@dataclass(frozen=True)
class Valid:
    """What an operation takes besides the ids in its path."""

    body: Json | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)
    """Where an id in the path must be of another thing than usual."""


def _name() -> str:
    return f"name {uuid4().hex[:10]}"


def _entries(ids: Things) -> list[Json]:
    return [{"principal": ids.reference, "permission": "manage", "effect": "allow"}]


_SAID = [{"role": "user", "content": "Where is my parcel?"}]

VALID: dict[str, Callable[[Things], Valid]] = {
    "create_knowledge_base": lambda ids: Valid(
        {"name": _name(), "embedding_model": "local-hash-256", "acl": _entries(ids)}
    ),
    "list_knowledge_bases": lambda _: Valid(),
    "get_knowledge_base": lambda _: Valid(),
    "update_knowledge_base": lambda _: Valid({"description": "x"}),
    "delete_knowledge_base": lambda _: Valid(),
    "get_knowledge_base_acl": lambda _: Valid(),
    "set_knowledge_base_acl": lambda ids: Valid({"entries": _entries(ids)}),
    "explain_knowledge_base_access": lambda ids: Valid(query={"principal": ids.reference}),
    "create_document": lambda ids: Valid(
        {
            "title": "A note",
            "content": f"Some words, {uuid4()}.",
            "source_connector": "direct",
            "readers": [ids.reference],
            "chunk_readers": [{"start": 0, "end": 3, "readers": [ids.reference]}],
        }
    ),
    "replace_document": lambda ids: Valid(
        {
            "content": f"Other words, {uuid4()}.",
            "source_connector": "direct",
            "readers": [ids.reference],
            "chunk_readers": [{"start": 0, "end": 3, "readers": [ids.reference]}],
        }
    ),
    "retry_document": lambda ids: Valid(path={"document": ids.failed}),
    "list_documents": lambda _: Valid(query={"limit": "1"}),
    "get_document": lambda _: Valid(),
    "update_document": lambda _: Valid({"title": "Another title"}),
    "delete_document": lambda _: Valid(),
    "get_document_content": lambda _: Valid(),
    "list_document_versions": lambda _: Valid(),
    "get_chunk": lambda _: Valid(),
    "set_document_acl": lambda ids: Valid(
        {
            "readers": [ids.reference],
            "chunk_readers": [{"start": 0, "end": 3, "readers": [ids.reference]}],
        }
    ),
    "reindex_knowledge_base": lambda _: Valid({"embedding_model": "local-hash-256"}),
    "list_reindex_jobs": lambda _: Valid(),
    "get_reindex_job": lambda _: Valid(),
    "cancel_reindex_job": lambda _: Valid(),
    "roll_back_reindex_job": lambda _: Valid(),
    "query_knowledge_base": lambda _: Valid({"query": "parcel"}),
    "assemble_context": lambda ids: Valid(
        {"passages": [{"knowledge_base_id": ids.base, "chunk_id": ids.chunk}]}
    ),
    "list_contracts": lambda _: Valid(),
    "get_contract": lambda _: Valid(),
    "validate_contract": lambda _: Valid({"owner": "tenant", "metric": "tokens", "limit": 1}),
    "get_job": lambda _: Valid(),
    "follow_job": lambda _: Valid(),
    "get_deletion_receipt": lambda _: Valid(),
    "list_held_documents": lambda _: Valid(),
    "list_held_documents_of_base": lambda _: Valid(),
    "get_held_document": lambda ids: Valid(path={"document": ids.held}),
    "review_document": lambda ids: Valid(
        {"version": "1", "decision": "reject", "comment": "Nobody needs it."}, path={"document": ids.held}
    ),
    # Each under a level of its own: there is one policy for each kind of document.
    "create_retention_policy": lambda ids: Valid(
        {"knowledge_base_id": ids.base, "classification": "secret", "keep_days": 36500}
    ),
    "list_retention_policies": lambda _: Valid(),
    "get_retention_policy": lambda _: Valid(),
    "update_retention_policy": lambda _: Valid({"keep_days": 30000}),
    "delete_retention_policy": lambda _: Valid(),
    "list_due_documents": lambda _: Valid(query={"within_days": "1"}),
    "list_expired_documents": lambda _: Valid(),
    "place_legal_hold": lambda ids: Valid(
        {"knowledge_base_id": ids.kept_base, "document_id": ids.kept, "reason": "Asked for by a court."}
    ),
    "list_legal_holds": lambda _: Valid(),
    "get_legal_hold": lambda _: Valid(),
    "release_legal_hold": lambda _: Valid({"reason": "The case is closed."}),
    "get_document_lineage": lambda _: Valid(),
    "list_version_lineage": lambda _: Valid(),
    "list_chunk_lineage": lambda _: Valid(),
    "list_citing_answers": lambda _: Valid(),
    # Whoever it looks for, nobody here is called so.
    "create_erasure": lambda ids: Valid(
        {
            "action": "redact",
            "identifiers": [f"nobody.{uuid4().hex}@nowhere.example"],
            "principal_id": ids.principal,
            "reason": "Case 17",
        }
    ),
    "list_erasures": lambda _: Valid(),
    "get_erasure": lambda _: Valid(),
    "cancel_erasure": lambda _: Valid(),
    "list_found_documents": lambda _: Valid(),
    "list_policies": lambda _: Valid(),
    "get_policy": lambda _: Valid(),
    "set_policy": lambda _: Valid({"cedar": "forbid (principal is Agent, action, resource);"}),
    "delete_policy": lambda _: Valid(),
    "create_source_connector": lambda ids: Valid(
        {"name": f"s-{uuid4().hex[:12]}", "kind": "wiki", "principal": ids.reference}
    ),
    "list_source_connectors": lambda _: Valid(),
    "get_source_connector": lambda _: Valid(),
    "update_source_connector": lambda ids: Valid({"enabled": True, "principal": ids.reference}),
    "list_models": lambda _: Valid(),
    "get_model": lambda _: Valid(),
    "create_model": lambda ids: Valid(
        {"name": f"m-{uuid4().hex[:12]}", "endpoint": ids.provider, "capability": "rerank"}
    ),
    "update_model": lambda ids: Valid({"endpoint": ids.provider, "enabled": True}),
    # Engaged, it would stop whatever else is tried in this tenant.
    "set_model_kill_switch": lambda _: Valid({"engaged": False, "reason": "Nothing is wrong."}),
    "get_kill_switch": lambda _: Valid(),
    "set_kill_switch": lambda _: Valid({"engaged": False, "reason": "Nothing is wrong."}),
    "create_provider_endpoint": lambda ids: Valid(
        {
            "name": f"e-{uuid4().hex[:12]}",
            "kind": "openai",
            "url": "https://models.example/v1",
            "region": "eu",
            "retention": "none",
            "classification_ceiling": "secret",
            "tenants": [ids.tenant],
        }
    ),
    "list_provider_templates": lambda _: Valid(),
    "list_provider_endpoints": lambda _: Valid(),
    "get_provider_endpoint": lambda _: Valid(),
    "update_provider_endpoint": lambda ids: Valid({"retention": "unknown", "tenants": [ids.tenant]}),
    "delete_provider_endpoint": lambda _: Valid(),
    "create_embeddings": lambda _: Valid({"model": "local-hash-256", "input": ["parcel"]}),
    "rerank_documents": lambda ids: Valid(
        {"model": ids.ranker, "query": "parcel", "documents": ["A parcel.", "A letter."]}
    ),
    "create_chat_completion": lambda ids: Valid({"model": ids.talker, "messages": _SAID}),
    "scan_texts": lambda _: Valid({"texts": ["Write to jean@exemple.fr"]}),
    "create_openai_embeddings": lambda _: Valid({"model": "local-hash-256", "input": ["parcel"]}),
    "create_openai_chat_completion": lambda ids: Valid({"model": ids.talker, "messages": _SAID}),
    "list_openai_models": lambda _: Valid(),
    "get_openai_model": lambda _: Valid(),
    "list_audit_events": lambda _: Valid(),
    "list_audit_checkpoints": lambda _: Valid(),
    "verify_audit": lambda _: Valid(),
    "export_audit": lambda _: Valid(),
    "create_tenant": lambda _: Valid({"name": "A tenant", "slug": f"s{uuid4().hex[:20]}"}),
    "list_tenants": lambda _: Valid(),
    "get_tenant": lambda _: Valid(),
    "create_principal": lambda ids: Valid({"kind": "agent", "name": _name(), "groups": [ids.group]}),
    "list_principals": lambda _: Valid(),
    "get_principal": lambda _: Valid(),
    "update_principal": lambda ids: Valid({"groups": [ids.group]}),
    "delete_principal": lambda _: Valid(),
    "create_group": lambda _: Valid({"name": _name()}),
    "list_groups": lambda _: Valid(),
    "get_group": lambda _: Valid(),
    "delete_group": lambda _: Valid(),
    "set_group_members": lambda ids: Valid({"members": [ids.principal]}),
    "create_api_key": lambda ids: Valid({"principal_id": ids.principal}),
    "list_api_keys": lambda ids: Valid(query={"principal_id": ids.principal}),
    "get_api_key": lambda _: Valid(),
    "revoke_api_key": lambda _: Valid(),
    "rotate_api_key": lambda _: Valid({"grace_seconds": 60}),
    "get_me": lambda _: Valid(),
    "list_quotas": lambda _: Valid(),
    "get_quota": lambda _: Valid(),
    "set_quota": lambda ids: Valid({"owner": f"group:{ids.group}", "metric": "tokens", "limit": 10**12}),
    "delete_quota": lambda _: Valid(),
    "get_usage": lambda _: Valid(query={"group_by": "model"}),
    "record_usage": lambda _: Valid({"kind": "storage", "unit": "bytes", "quantity": 1}),
    "get_settings": lambda _: Valid(),
    "update_settings": lambda _: Valid(
        {
            "rate_limits": {"requests_per_minute": 100000},
            "regions": None,
            "retention_required_from": "confidential",
            "dlp": {"email": "record"},
            "quarantine": {"threshold": "high"},
        }
    ),
}


def ids_of(things: Things) -> dict[str, str]:
    """What stands in a path, by the parameter's name."""
    named = {name: str(value) for name, value in vars(things).items()}
    return {**named, "name": things.model, "scope": "tenant", "contract": "quota"}


@dataclass(frozen=True)
class Request:
    """A request of an operation, valid until something in it is replaced."""

    operation: Operation
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any = None

    @classmethod
    def of(cls, operation: Operation, things: Things) -> "Request":
        valid = VALID[operation.name](things)
        return cls(operation, {**ids_of(things), **valid.path}, valid.query, valid.body)

    def put(self, place: Place, value: str) -> "Request":
        """The same request with `value` at `place`."""
        path, query, body = dict(self.path), dict(self.query), self.body
        if place.part == "path":
            path[place.name] = value
        elif place.part == "query":
            query[place.name] = value
        else:
            body = with_id(body, place.way, value)
        return Request(self.operation, path, query, body)

    def spoilt(self) -> "Request":
        """The same request with a body that no operation accepts."""
        return Request(self.operation, self.path, self.query, {"no_such_field": True})

    @property
    def url(self) -> str:
        return self.operation.path.format(**self.path)

    async def sent_unreadable(self, caller: Caller) -> httpx2.Response:
        """The answer to a body that is no JSON, under a type that nothing reads."""
        headers = {"content-type": "text/x-nothing"}
        return await caller.request(self.operation.method, self.url, content=b"{", headers=headers)

    async def sent(self, caller: Caller, *, method: str | None = None, **headers: str) -> httpx2.Response:
        body = {} if self.body is None else {"json": self.body}
        return await caller.request(
            method or self.operation.method, self.url, params=dict(self.query), headers=headers, **body
        )
