"""Every kind of audit entry, with what it tells."""

from collections.abc import Mapping, Sequence

from eai.audit.actions import AuditAction
from eai.audit.fields import ANY, FIELDS
from eai.cli.reference.tables import page, table

_PREFACE = """\
An entry says who (`actor`) did what (`action`) to what (`resource`), how it was decided (`decision`:
`allow` or `deny`), when, and for which request. `facts` holds ids, enumerations and numbers; values that may
be personal are `details`, kept beside the chain and erasable
([why](../explanation/erasable-details.md)). `GET /v1/audit/events?action=<action>` finds them.

Actions and names are promised within `/v1`, what does not apply is left out, and new names may come. They are
listed for machines, with the kinds of `resource`, in
[`contracts/v1/audit-events.json`](../../contracts/v1/audit-events.json)."""

_RESERVED_PREFACE = "Promised names of things that the product does not do yet. Nothing writes them today."

MEANINGS: Mapping[AuditAction, str] = {
    AuditAction.TENANT_CREATE: "A tenant was made; the first entry of its chain.",
    AuditAction.TENANT_KEYS_REWRAP: "The keys that seal for the tenant were succeeded; the new epochs.",
    AuditAction.PRINCIPAL_CREATE: "A user, service or agent was made.",
    AuditAction.PRINCIPAL_UPDATE: "Its name, clearance, roles, groups or suspension changed.",
    AuditAction.PRINCIPAL_DELETE: "It was removed; its keys open nothing any more.",
    AuditAction.GROUP_CREATE: "A group was made.",
    AuditAction.GROUP_DELETE: "A group was removed.",
    AuditAction.GROUP_MEMBERS_SET: "The members of a group were replaced.",
    AuditAction.API_KEY_CREATE: "A key was made. The secret is nowhere in the audit.",
    AuditAction.API_KEY_ROTATE: "A key got a fresh secret.",
    AuditAction.API_KEY_REVOKE: "A key was revoked.",
    AuditAction.SETTINGS_UPDATE: "The tenant's settings changed.",
    AuditAction.POLICY_SET: "A policy was put in force, or its text replaced: its version and digest.",
    AuditAction.POLICY_DELETE: "A policy was taken out of force.",
    AuditAction.SOURCE_CONNECTOR_CREATE: "A source of documents was registered, and who may stamp it.",
    AuditAction.SOURCE_CONNECTOR_UPDATE: "Its service, levels or kind changed, or it was switched on or off.",
    AuditAction.AUTH_FAILED: "Credentials were refused; a sum per minute, not one entry per attempt.",
    AuditAction.ACCESS_DENIED: "An authenticated caller was refused, or asked for what it may not know of.",
    AuditAction.KNOWLEDGE_BASE_CREATE: "A knowledge base was made.",
    AuditAction.KNOWLEDGE_BASE_UPDATE: "Name, description or level changed; a lower level has its reason.",
    AuditAction.KNOWLEDGE_BASE_DELETE: "Somebody deleted it; it is out of sight from here on.",
    AuditAction.KNOWLEDGE_BASE_DELETED: "Nothing of it is left: what was removed, and the engine's count.",
    AuditAction.KNOWLEDGE_BASE_ACL_SET: "Its access list was replaced.",
    AuditAction.KNOWLEDGE_BASE_REINDEX_REQUEST: "A reindex was asked for.",
    AuditAction.KNOWLEDGE_BASE_REINDEX_COMPLETE: "A reindex was completed and its generation answers.",
    AuditAction.KNOWLEDGE_BASE_REINDEX_FAILED: "A reindex was given up; the code says why.",
    AuditAction.KNOWLEDGE_BASE_REINDEX_CANCEL: "Somebody cancelled a reindex.",
    AuditAction.KNOWLEDGE_BASE_REINDEX_ROLLBACK: "Somebody asked to go back to the generation before.",
    AuditAction.KNOWLEDGE_BASE_GENERATION_DROPPED: "Nothing of it is left; there is no way back to it.",
    AuditAction.DOCUMENT_INGEST: "A document was accepted: version, level and the keyed hash of its bytes.",
    AuditAction.DOCUMENT_UPDATE: "Its title or metadata changed.",
    AuditAction.DOCUMENT_REPLACE: "A new version of a document was accepted.",
    AuditAction.DOCUMENT_RETRY: "A failed version was queued again.",
    AuditAction.DOCUMENT_READY: "A version answers from here on.",
    AuditAction.DOCUMENT_FAILED: "A version was refused or given up; the code says why.",
    AuditAction.DOCUMENT_QUARANTINED: "A version is held for a data steward: what was found, by gravity.",
    AuditAction.DOCUMENT_REVIEW: "A data steward released, redacted or rejected what was held.",
    AuditAction.QUARANTINE_READ: "A data steward looked at what is held: one document, or a list of them.",
    AuditAction.DOCUMENT_ACL_SET: "Its readers or level changed.",
    AuditAction.DOCUMENT_RECUT: "Passages were cut anew where rights had come to change within them.",
    AuditAction.DOCUMENT_DELETE: "Somebody deleted it; it is out of sight from here on.",
    AuditAction.DOCUMENT_DELETED: "Nothing of it is left: what was removed, and the engine's count.",
    AuditAction.DOCUMENT_READ: "Somebody opened its text.",
    AuditAction.CHUNK_READ: "Somebody opened one passage.",
    AuditAction.KNOWLEDGE_QUERY: "A question: who asked which base, and which passages were given.",
    AuditAction.CONTEXT_ASSEMBLE: "Passages were read anew and put together for a model: which ones.",
    AuditAction.RETENTION_POLICY_CREATE: "A retention policy was made: for what, and for how long.",
    AuditAction.RETENTION_POLICY_UPDATE: "A retention policy got another term.",
    AuditAction.RETENTION_POLICY_DELETE: "A retention policy was removed.",
    AuditAction.LEGAL_HOLD_PLACE: "A document or a base must not be removed from here on.",
    AuditAction.LEGAL_HOLD_RELEASE: "What was held may be removed again.",
    AuditAction.DOCUMENT_EXPIRE: "A document was due under a policy, and is out of sight from here on.",
    AuditAction.LINEAGE_READ: "Somebody followed a document: to its versions, passages or answers.",
    AuditAction.PRIVACY_ERASURE_REQUEST: "Somebody asked for a person to be found or erased.",
    AuditAction.PRIVACY_ERASURE_COMPLETE: "An erasure came to its end: how many documents, by outcome.",
    AuditAction.PRIVACY_ERASURE_FAILED: "An erasure was given up; the code says why.",
    AuditAction.PRIVACY_ERASURE_CANCEL: "Somebody cancelled an erasure.",
    AuditAction.PRIVACY_ERASURE_READ: "Somebody looked at the documents that an erasure found.",
    AuditAction.PRIVACY_DOCUMENT_FOUND: "An erasure found the person in a document: what became of it.",
    AuditAction.PRIVACY_DOCUMENT_REDACTED: "What became of a text that was redacted by an erasure.",
    AuditAction.PROVIDER_ENDPOINT_CREATE: "An endpoint was approved. Its key is nowhere in the audit.",
    AuditAction.PROVIDER_ENDPOINT_UPDATE: "Where an endpoint is, what it may see or whom it serves changed.",
    AuditAction.PROVIDER_ENDPOINT_DELETE: "An endpoint and its key were removed.",
    AuditAction.MODEL_CREATE: "A model was registered.",
    AuditAction.MODEL_UPDATE: "A model changed, or an operator said where a shipped one goes.",
    AuditAction.MODEL_KILL_SWITCH_SET: "Calls were stopped or let go on; how many were under way then.",
    AuditAction.MODEL_INVOKE: "The gateway called a model: which, at which level, for what; or refused to.",
    AuditAction.MODEL_RESULT: "What a provider answered to a call.",
    AuditAction.MODEL_UNKNOWN: "A call to a provider of which no outcome is known, charged at its bound.",
    AuditAction.DLP_SCAN: "Texts were searched for a client: how many, and what was found in them.",
    AuditAction.QUOTA_SET: "A quota was set: whose, of what, how much and per which period.",
    AuditAction.INTEGRITY_ADOPT_INDEX: "An operator said that this database owns the vector store.",
    AuditAction.INTEGRITY_REPAIR: "What contradicts itself in rows, index and ledger was mended.",
    AuditAction.QUOTA_DELETE: "A quota was removed; what it bounded is unlimited from here on.",
    AuditAction.USAGE_RECORD: "A client told of usage that was not measured here.",
    AuditAction.AUDIT_READ: "Somebody read entries.",
    AuditAction.AUDIT_DETAILS_READ: "Somebody read details of entries.",
    AuditAction.AUDIT_EXPORT: "Somebody exported the chain.",
    AuditAction.AUDIT_VERIFY: "Somebody had the chain verified, with the verdict.",
    AuditAction.AUDIT_DETAILS_ERASE: "The key of a principal's details was destroyed.",
    AuditAction.AUDIT_KEY_ROTATE: "Checkpoints are signed with a new key from here on.",
}

RESERVED = frozenset({
    AuditAction.AUDIT_DETAILS_READ,
})  # fmt: skip
"""What nothing in the product writes yet; a test compares this with the source."""


def audit_actions_page() -> str:
    """docs/reference/audit-actions.md."""
    written = [action for action in AuditAction if action not in RESERVED]
    reserved = [action for action in AuditAction if action in RESERVED]
    body = [_table(written)]
    if reserved:
        body += ["## Reserved", _RESERVED_PREFACE, _table(reserved)]
    return page("Audit actions", _PREFACE, body)


def _table(actions: list[AuditAction]) -> str:
    rows = [(f"`{a}`", MEANINGS[a], _names(FIELDS[a].facts), _names(FIELDS[a].details)) for a in actions]
    return table(("action", "what it tells", "facts", "details"), rows)


def _names(names: Sequence[str]) -> str:
    if ANY in names:
        return "what stood in the path"
    return ", ".join(f"`{name}`" for name in sorted(names))
