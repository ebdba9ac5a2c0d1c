"""Every kind of event that an audit chain may hold."""

from enum import StrEnum, unique


@unique
class AuditAction(StrEnum):
    """What was done, tried or decided. Values are promised to clients; two names never share one."""

    TENANT_CREATE = "tenant.create"
    PRINCIPAL_CREATE = "principal.create"
    PRINCIPAL_UPDATE = "principal.update"
    PRINCIPAL_DELETE = "principal.delete"
    GROUP_CREATE = "group.create"
    GROUP_DELETE = "group.delete"
    GROUP_MEMBERS_SET = "group.members.set"
    API_KEY_CREATE = "api_key.create"
    API_KEY_ROTATE = "api_key.rotate"
    API_KEY_REVOKE = "api_key.revoke"
    SETTINGS_UPDATE = "settings.update"
    POLICY_SET = "policy.set"
    POLICY_DELETE = "policy.delete"
    AUTH_FAILED = "auth.failed"
    ACCESS_DENIED = "access.denied"

    KNOWLEDGE_BASE_CREATE = "knowledge_base.create"
    KNOWLEDGE_BASE_UPDATE = "knowledge_base.update"
    KNOWLEDGE_BASE_DELETE = "knowledge_base.delete"
    KNOWLEDGE_BASE_DELETED = "knowledge_base.deleted"
    KNOWLEDGE_BASE_ACL_SET = "knowledge_base.acl.set"
    KNOWLEDGE_BASE_REINDEX_REQUEST = "knowledge_base.reindex.request"
    KNOWLEDGE_BASE_REINDEX_COMPLETE = "knowledge_base.reindex.complete"

    DOCUMENT_INGEST = "knowledge.document.ingest"
    DOCUMENT_UPDATE = "knowledge.document.update"
    DOCUMENT_REPLACE = "knowledge.document.replace"
    DOCUMENT_RETRY = "knowledge.document.retry"
    DOCUMENT_READY = "knowledge.document.ready"
    DOCUMENT_FAILED = "knowledge.document.failed"
    DOCUMENT_ACL_SET = "knowledge.document.acl.set"
    DOCUMENT_DELETE = "knowledge.document.delete"
    DOCUMENT_DELETED = "knowledge.document.deleted"
    DOCUMENT_READ = "knowledge.document.read"
    CHUNK_READ = "knowledge.chunk.read"
    KNOWLEDGE_QUERY = "knowledge.query"

    PROVIDER_ENDPOINT_CREATE = "provider_endpoint.create"
    PROVIDER_ENDPOINT_UPDATE = "provider_endpoint.update"
    PROVIDER_ENDPOINT_DELETE = "provider_endpoint.delete"
    MODEL_CREATE = "model.create"
    MODEL_UPDATE = "model.update"
    MODEL_KILL_SWITCH_SET = "model.kill_switch.set"
    MODEL_INVOKE = "model.invoke"
    MODEL_RESULT = "model.result"
    MODEL_UNKNOWN = "model.unknown"

    QUOTA_SET = "quota.set"
    QUOTA_DELETE = "quota.delete"
    USAGE_RECORD = "usage.record"

    INTEGRITY_REPAIR = "integrity.repair"

    AUDIT_READ = "audit.read"
    AUDIT_DETAILS_READ = "audit.details.read"
    AUDIT_EXPORT = "audit.export"
    AUDIT_VERIFY = "audit.verify"
    AUDIT_DETAILS_ERASE = "audit.details.erase"
    AUDIT_KEY_ROTATE = "audit.key.rotate"
