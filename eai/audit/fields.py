"""What an entry of each kind tells: whose id its resource has, and which facts and details it may hold.

The names are promised to clients in `contracts/v1/audit-events.json`. The suite holds every entry that the
product writes to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from eai.audit.actions import AuditAction
from eai.audit.entries import AuditEntry

ANY = "*"
"""In the place of names: those of the parameters in the path of the operation that was asked for."""


@dataclass(frozen=True, slots=True)
class EntryFields:
    """The kinds of resource that an entry may be about (none: about nothing in particular), and its names.

    Not every entry of a kind has every one of them: what does not apply is left out.
    """

    resources: tuple[str, ...]
    facts: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


def undeclared(entry: AuditEntry) -> list[str]:
    """What an entry tells beyond what is promised of its kind."""
    promised = FIELDS[entry.action]
    found = [f"fact {name}" for name in entry.facts if name not in promised.facts]
    if ANY not in promised.details:
        found += [f"detail {name}" for name in entry.private if name not in promised.details]
    if entry.resource is not None and entry.resource.kind not in promised.resources:
        found.append(f"resource {entry.resource.kind}")
    return found


def _about(resource: str, facts: str = "", details: str = "") -> EntryFields:
    return EntryFields((resource,), tuple(facts.split()), tuple(details.split()))


_PRINCIPAL = "kind clearance roles groups"
_POLICY = "base level keep_days"
_QUOTA = "owner metric window limit"
_CONNECTOR = "name kind allowed_classifications principal enabled"
_ENDPOINT = (
    "name kind template region retention classification_ceiling has_api_key tenants_count tenants_digest"
)
_MODEL = "endpoint provider_model capability revision enabled dimensions classification_ceiling region"
_CALL = "operation level texts policy_version"
_ENDED = f"{_CALL} tokens code answer_entities is_estimated usage_above_reservation"
_SETTINGS = (
    "from_generation from_embedding_model from_dimensions generation embedding_model dimensions "
    "chunk_size chunk_overlap"
)
_REMOVED = "chunks_removed vectors_removed vectors_remaining"
_CHANGED = "base changed classification readers"

FIELDS: Mapping[AuditAction, EntryFields] = {
    AuditAction.TENANT_CREATE: _about("tenant", details="name slug"),
    AuditAction.TENANT_KEYS_REWRAP: _about("tenant", "epochs"),
    AuditAction.PRINCIPAL_CREATE: _about("principal", _PRINCIPAL, "name"),
    AuditAction.PRINCIPAL_UPDATE: _about("principal", f"{_PRINCIPAL} suspended", "name"),
    AuditAction.PRINCIPAL_DELETE: _about("principal", details="name"),
    AuditAction.GROUP_CREATE: _about("group", details="name"),
    AuditAction.GROUP_DELETE: _about("group", details="name"),
    AuditAction.GROUP_MEMBERS_SET: _about("group", "members_count members_digest", "name"),
    AuditAction.API_KEY_CREATE: _about("api_key", "principal scopes clearance expires_at", "name"),
    AuditAction.API_KEY_ROTATE: _about("api_key", "principal grace_seconds", "name"),
    AuditAction.API_KEY_REVOKE: _about("api_key", "principal", "name"),
    AuditAction.SETTINGS_UPDATE: _about(
        "settings",
        "requests_per_minute regions retention_required_from dlp quarantine_threshold "
        "cache_max_classification",
    ),
    AuditAction.POLICY_SET: _about("policy", "version digest is_new", "name"),
    AuditAction.POLICY_DELETE: _about("policy", "version", "name"),
    AuditAction.SOURCE_CONNECTOR_CREATE: _about("source_connector", _CONNECTOR),
    AuditAction.SOURCE_CONNECTOR_UPDATE: _about("source_connector", f"{_CONNECTOR} changed"),
    AuditAction.AUTH_FAILED: EntryFields((), ("failures", "reasons", "since")),
    AuditAction.ACCESS_DENIED: _about("operation", "code status connector reason", ANY),
    AuditAction.KNOWLEDGE_BASE_CREATE: _about(
        "knowledge_base", "classification embedding_model entries", "name"
    ),
    AuditAction.KNOWLEDGE_BASE_UPDATE: _about(
        "knowledge_base", "from_classification classification changed", "reason"
    ),
    AuditAction.KNOWLEDGE_BASE_DELETE: _about("knowledge_base"),
    AuditAction.KNOWLEDGE_BASE_DELETED: _about("knowledge_base", f"documents_removed {_REMOVED}"),
    AuditAction.KNOWLEDGE_BASE_ACL_SET: _about("knowledge_base", "entries"),
    AuditAction.KNOWLEDGE_BASE_REINDEX_REQUEST: _about("knowledge_base", f"job {_SETTINGS}"),
    AuditAction.KNOWLEDGE_BASE_REINDEX_COMPLETE: _about(
        "knowledge_base", "job from_generation generation embedding_model dimensions documents"
    ),
    AuditAction.KNOWLEDGE_BASE_REINDEX_FAILED: _about("knowledge_base", "job code"),
    AuditAction.KNOWLEDGE_BASE_REINDEX_CANCEL: _about("knowledge_base", "job"),
    AuditAction.KNOWLEDGE_BASE_REINDEX_ROLLBACK: _about("knowledge_base", f"job rollback_of {_SETTINGS}"),
    AuditAction.KNOWLEDGE_BASE_GENERATION_DROPPED: _about("knowledge_base", "generation"),
    AuditAction.DOCUMENT_INGEST: _about(
        "document", "base version level source_hmac source_connector", "title"
    ),
    AuditAction.DOCUMENT_UPDATE: _about("document", f"{_CHANGED} erasure", "title reason"),
    AuditAction.DOCUMENT_REPLACE: _about(
        "document", f"{_CHANGED} version source_hmac erasure", "title reason"
    ),
    AuditAction.DOCUMENT_RETRY: _about("document", f"{_CHANGED} version", "title reason"),
    AuditAction.DOCUMENT_READY: _about("document", "base version chunks content_hmac dlp noted"),
    AuditAction.DOCUMENT_FAILED: _about(
        "document", "base version code source_hmac entities connector reason"
    ),
    AuditAction.DOCUMENT_QUARANTINED: _about(
        "document", "base version threshold findings reasons content_hmac"
    ),
    AuditAction.DOCUMENT_REVIEW: _about("document", "base version review verdict findings", "comment"),
    AuditAction.QUARANTINE_READ: EntryFields(
        ("tenant", "knowledge_base", "document"), ("base", "version", "documents")
    ),
    AuditAction.DOCUMENT_ACL_SET: _about("document", f"{_CHANGED} from_classification", "title reason"),
    AuditAction.DOCUMENT_RECUT: _about("document", "base version passages pieces generation"),
    AuditAction.DOCUMENT_DELETE: _about("document", "base"),
    AuditAction.DOCUMENT_DELETED: _about("document", f"base {_REMOVED}"),
    AuditAction.DOCUMENT_READ: _about("document", "base document version"),
    AuditAction.CHUNK_READ: _about("chunk", "base document version"),
    AuditAction.KNOWLEDGE_QUERY: _about(
        "knowledge_base",
        "mode top_k count generation passages warnings results_sha256 labels is_cached",
        "query",
    ),
    AuditAction.CONTEXT_ASSEMBLE: EntryFields(
        ("knowledge_base", "tenant"),
        (
            "count",
            "generation",
            "passages",
            "left_out",
            "classification",
            "characters",
            "context_sha256",
        ),
    ),
    AuditAction.RETENTION_POLICY_CREATE: _about("retention_policy", _POLICY),
    AuditAction.RETENTION_POLICY_UPDATE: _about("retention_policy", _POLICY),
    AuditAction.RETENTION_POLICY_DELETE: _about("retention_policy", _POLICY),
    AuditAction.LEGAL_HOLD_PLACE: _about("legal_hold", "base document", "reason"),
    AuditAction.LEGAL_HOLD_RELEASE: _about("legal_hold", "base document texts_forgotten", "reason"),
    AuditAction.DOCUMENT_EXPIRE: _about("document", "base policy keep_days level due_at"),
    AuditAction.LINEAGE_READ: _about("document", "base what"),
    AuditAction.PRIVACY_ERASURE_REQUEST: _about(
        "erasure", "action identifiers principal clearance", "reason"
    ),
    AuditAction.PRIVACY_ERASURE_COMPLETE: _about("erasure", "documents details_erased"),
    AuditAction.PRIVACY_ERASURE_FAILED: _about("erasure", "code"),
    AuditAction.PRIVACY_ERASURE_CANCEL: _about("erasure"),
    AuditAction.PRIVACY_ERASURE_READ: _about("erasure", "documents"),
    AuditAction.PRIVACY_DOCUMENT_FOUND: _about("document", "erasure base outcome"),
    AuditAction.PRIVACY_DOCUMENT_REDACTED: _about("document", "erasure base outcome"),
    AuditAction.PROVIDER_ENDPOINT_CREATE: _about("provider_endpoint", _ENDPOINT, "url"),
    AuditAction.PROVIDER_ENDPOINT_UPDATE: _about("provider_endpoint", f"{_ENDPOINT} changed", "url"),
    AuditAction.PROVIDER_ENDPOINT_DELETE: _about("provider_endpoint", "name", "url"),
    AuditAction.MODEL_CREATE: _about("model", _MODEL),
    AuditAction.MODEL_UPDATE: _about("model", f"{_MODEL} changed"),
    AuditAction.MODEL_KILL_SWITCH_SET: _about("kill_switch", "engaged in_flight", "reason"),
    AuditAction.MODEL_INVOKE: _about("model", f"{_ENDED} bound"),
    AuditAction.MODEL_RESULT: _about("model", f"{_ENDED} intent"),
    AuditAction.MODEL_UNKNOWN: _about("model", "operation tokens intent"),
    AuditAction.DLP_SCAN: _about("tenant", "texts entities"),
    AuditAction.QUOTA_SET: _about("quota", _QUOTA),
    AuditAction.QUOTA_DELETE: _about("quota", _QUOTA),
    AuditAction.USAGE_RECORD: _about("usage", "quantity tokens cost_micros", "kind unit labels"),
    AuditAction.INTEGRITY_ADOPT_INDEX: _about("tenant"),
    AuditAction.INTEGRITY_REPAIR: _about("tenant", "mended left"),
    AuditAction.AUDIT_READ: EntryFields((), ("after_seq", "entries")),
    AuditAction.AUDIT_DETAILS_READ: EntryFields(()),
    AuditAction.AUDIT_EXPORT: EntryFields((), ("after_seq",)),
    AuditAction.AUDIT_VERIFY: EntryFields((), ("valid", "events")),
    AuditAction.AUDIT_DETAILS_ERASE: _about("principal", "erasure had_details"),
    AuditAction.AUDIT_KEY_ROTATE: _about("signing_key", "predecessor public_key"),
}
