"""The long-lived parts of one process, and what a process does with them beside serving."""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from eai.assembly.service import Assembly
from eai.audit.failures import FailureCounter
from eai.audit.jobs import Checkpointing
from eai.audit.service import Audit
from eai.audit.trail import AuditTrail
from eai.connectors.service import SourceConnectors
from eai.dlp.service import Scans
from eai.finops.expiry import ExpiredCalls
from eai.finops.quotas import Quotas
from eai.finops.usage import UsageLedger
from eai.gateway.endpoints import ProviderEndpoints
from eai.gateway.kill_switches import KillSwitches
from eai.gateway.registration import ModelRegistry
from eai.gateway.service import Gateway
from eai.identity.api_keys import ApiKeys
from eai.identity.authentication import Authentication
from eai.identity.groups import Groups
from eai.identity.me import Introspection
from eai.identity.onboarding import FirstKeys, Onboarding
from eai.identity.principals import Principals
from eai.ingestion.recutting import Recutting
from eai.ingestion.repository import JOB_NAME as INGESTION_JOB
from eai.ingestion.service import Ingestion
from eai.integrity.jobs import IntegrityJobs
from eai.integrity.ownership import StoreOwnership
from eai.integrity.service import Integrity
from eai.knowledge.bases.deletion import BaseDeletions
from eai.knowledge.bases.entries import AccessLists
from eai.knowledge.bases.service import Bases
from eai.knowledge.documents.counts import RetrievalCounts
from eai.knowledge.documents.deletion import Deletions
from eai.knowledge.documents.rights import DocumentRights
from eai.knowledge.documents.service import Documents
from eai.knowledge.documents.span_rights import RECUT
from eai.knowledge.jobs import job_handlers as knowledge_job_handlers
from eai.knowledge.jobs import try_later
from eai.knowledge.ports import Vectors
from eai.lineage.service import Lineage
from eai.platform.database import Database
from eai.platform.handlers import Group, JobHandler
from eai.platform.jobs import Jobs
from eai.platform.keys import Keyring
from eai.platform.settings import Environment, Settings
from eai.policies.tenant_policies import TenantPolicies
from eai.privacy.erasing import Erasing
from eai.privacy.service import Erasures
from eai.reindex.dropping import DROP_GENERATION, Dropping, ReindexSweep
from eai.reindex.running import EMBEDDINGS_REINDEX, Reindexing
from eai.reindex.service import Reindexes
from eai.retention.expiry import Expiry
from eai.retention.holds import LegalHolds
from eai.retention.policies import RetentionPolicies
from eai.retrieval.service import Retrieval
from eai.review.service import Reviews
from eai.tenants.key_rewrapping import REWRAP_KEYS, KeyRewrapping
from eai.tenants.service import Tenants
from eai.tenants.settings import TenantSettings

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Platform:
    """Every long-lived part of one process, built once."""

    settings: Settings
    database: Database
    keyring: Keyring
    jobs: Jobs
    vectors: Vectors
    audit: Audit
    audit_trail: AuditTrail
    checkpointing: Checkpointing
    failures: FailureCounter
    identity: Authentication
    onboarding: Onboarding
    tenants: Tenants
    tenant_settings: TenantSettings
    key_rewrapping: KeyRewrapping
    principals: Principals
    groups: Groups
    api_keys: ApiKeys
    me: Introspection
    quotas: Quotas
    usage: UsageLedger
    tenant_policies: TenantPolicies
    source_connectors: SourceConnectors
    expired_calls: ExpiredCalls
    gateway: Gateway
    scans: Scans
    provider_endpoints: ProviderEndpoints
    model_registry: ModelRegistry
    kill_switches: KillSwitches
    bases: Bases
    base_deletions: BaseDeletions
    access_lists: AccessLists
    documents: Documents
    document_rights: DocumentRights
    deletions: Deletions
    retention_policies: RetentionPolicies
    legal_holds: LegalHolds
    expiry: Expiry
    lineage: Lineage
    erasures: Erasures
    erasing: Erasing
    retrieval_counts: RetrievalCounts
    ingestion: Ingestion
    recutting: Recutting
    retrieval: Retrieval
    assembly: Assembly
    integrity: Integrity
    integrity_jobs: IntegrityJobs
    store_ownership: StoreOwnership
    reindexes: Reindexes
    reindexing: Reindexing
    generation_dropping: Dropping
    reindex_sweep: ReindexSweep
    reviews: Reviews


async def first_start(platform: Platform, keys: FirstKeys | None = None) -> FirstKeys | None:
    """Create tenant `default` and the first keys; None when they are there already."""
    return await platform.onboarding.first_start(keys)


def job_handlers(platform: Platform) -> Mapping[str, JobHandler]:
    """What a worker runs, by job name."""
    knowledge = knowledge_job_handlers(platform.database, platform.vectors, platform.jobs, platform.audit)
    ingestion = JobHandler(platform.ingestion.run, platform.ingestion.give_up, Group.INGESTION)
    recutting = JobHandler(platform.recutting.run, platform.recutting.give_up, Group.INGESTION)
    reindexing = JobHandler(platform.reindexing.run, platform.reindexing.give_up, Group.MAINTENANCE)
    later = try_later(platform.database, platform.jobs)
    dropping = JobHandler(platform.generation_dropping.run, later, Group.MAINTENANCE)
    reindex = {EMBEDDINGS_REINDEX: reindexing, DROP_GENERATION: dropping}
    documents = {INGESTION_JOB: ingestion, RECUT: recutting}
    keys = {REWRAP_KEYS: JobHandler(platform.key_rewrapping.run, later)}
    return {
        **knowledge,
        **documents,
        **reindex,
        **keys,
        **platform.expiry.handlers(),
        **platform.erasing.handlers(),
        **platform.integrity_jobs.handlers(),
    }


async def warm_up(platform: Platform) -> None:
    """Load the default embedding model, so that the first question need not wait for it; never fails."""
    if platform.settings.environment is Environment.TEST:
        return
    try:
        await platform.gateway.warm_up()
    except Exception:
        # Whatever is wrong with the model, whoever calls it is told; all else can be served meanwhile.
        log.exception("models.not_warm")


async def maintain(platform: Platform) -> None:
    """Periodic work that any worker may do at any time, tenant by tenant; doing it twice is harmless."""
    await platform.checkpointing.issue_due()
    await platform.expired_calls.close_due()
    await platform.retrieval_counts.forget_due()
    await platform.key_rewrapping.remove_due()
    await platform.integrity_jobs.queue_due(platform.settings.worker.integrity_interval_s)
    await platform.reindex_sweep.run_due()
    await platform.expiry.queue_due(platform.settings.worker.retention_interval_s)
