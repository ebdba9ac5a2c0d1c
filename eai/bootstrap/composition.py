"""Adapters become services, the lower before the higher."""

from dataclasses import dataclass
from datetime import timedelta

from eai.assembly.service import Assembly
from eai.audit.details import Details
from eai.audit.failures import FailureCounter
from eai.audit.jobs import Cadence, Checkpointing
from eai.audit.service import Audit
from eai.audit.signing import Signing
from eai.audit.trail import AuditTrail
from eai.bootstrap.gateway import Models, Surroundings, compose_gateway
from eai.bootstrap.platform import Platform
from eai.cache.ports import CacheStore
from eai.cache.service import SensitiveCache
from eai.connectors.service import SourceConnectors
from eai.dlp.scanner import PatternScanner
from eai.dlp.service import Scans
from eai.finops.expiry import ExpiredCalls
from eai.finops.holdings import KnowledgeQuotas
from eai.finops.quotas import Quotas
from eai.finops.usage import UsageLedger
from eai.gateway.catalogue import REMOTE_MODELS
from eai.gateway.choice import ModelChoice
from eai.gateway.endpoints import ProviderEndpoints
from eai.gateway.kill_switches import KillSwitches
from eai.gateway.listed_models import ListedModels
from eai.gateway.provider_keys import ProviderKeys
from eai.gateway.registration import ModelRegistry
from eai.identity.api_keys import ApiKeys
from eai.identity.authentication import Authentication
from eai.identity.credentials import Peppers
from eai.identity.groups import Groups
from eai.identity.issuing import Issuing
from eai.identity.me import Introspection
from eai.identity.onboarding import Onboarding
from eai.identity.principals import Principals
from eai.ingestion.fields import FieldExamination
from eai.ingestion.recutting import Recutting
from eai.ingestion.service import Ingestion
from eai.integrations.anchor import FileAnchor
from eai.integrations.cedar import CedarEngine
from eai.integrations.opa import OpaPolicies
from eai.integrity.jobs import IntegrityJobs
from eai.integrity.mending import RowMending
from eai.integrity.ownership import StoreOwnership
from eai.integrity.rebuilding import Rebuilding
from eai.integrity.service import Integrity
from eai.kernel.clock import SystemClock
from eai.knowledge.bases.deletion import BaseDeletions
from eai.knowledge.bases.entries import AccessLists
from eai.knowledge.bases.service import Bases
from eai.knowledge.documents.counts import RetrievalCounts
from eai.knowledge.documents.deletion import Deletions
from eai.knowledge.documents.rights import DocumentRights
from eai.knowledge.documents.service import Documents
from eai.knowledge.ports import Vectors
from eai.lineage.service import Lineage
from eai.platform.database import Database
from eai.platform.egress import Allowance
from eai.platform.jobs import Jobs, Pace
from eai.platform.keys import Keyring, MasterKey
from eai.platform.outbound import Outbound
from eai.platform.settings import Settings
from eai.policies.rule_sets import RuleSets
from eai.policies.service import Policies
from eai.policies.tenant_policies import TenantPolicies
from eai.privacy.erasing import Erasing
from eai.privacy.service import Erasures
from eai.quarantine.service import Quarantine
from eai.reindex.dropping import Dropping, ReindexSweep
from eai.reindex.running import Reindexing
from eai.reindex.service import Reindexes
from eai.retention.expiry import Expiry
from eai.retention.holds import LegalHolds
from eai.retention.policies import RetentionPolicies
from eai.retrieval.repository import QueryRows
from eai.retrieval.service import Retrieval
from eai.review.service import Reviews
from eai.tenants.key_rewrapping import KeyRewrapping
from eai.tenants.service import Tenants
from eai.tenants.settings import TenantSettings


@dataclass(frozen=True)
class Outside:
    """What one process has open, and the key that it was trusted with."""

    database: Database
    vectors: Vectors
    outbound: Outbound
    master_key: MasterKey
    opa: OpaPolicies | None
    cache: CacheStore


def compose(settings: Settings, outside: Outside, models: Models, pace: Pace | None) -> Platform:
    """Build every service once. Opens nothing."""
    database, vectors = outside.database, outside.vectors
    clock = SystemClock()
    jobs = Jobs(database, pace)
    keyring = Keyring(outside.master_key, database)
    details = Details(database, keyring)
    audit = Audit(database, details, clock)
    signing = Signing(keyring, clock)
    anchor = FileAnchor(settings.anchor_path)
    cadence = Cadence(
        settings.audit.checkpoint_events, timedelta(seconds=settings.audit.checkpoint_interval_s)
    )
    peppers = Peppers(outside.master_key)
    issuing = Issuing(peppers)
    tenants = Tenants(database)
    cedar = CedarEngine()
    policies = Policies(cedar, RuleSets(database, cedar), outside.opa)
    scanner = PatternScanner()
    gateway = compose_gateway(
        Surroundings(settings, database, keyring, audit, outside.outbound, policies, scanner), models
    )
    registry = ModelRegistry(
        audit, ListedModels({model.name: model for model in gateway.models}, REMOTE_MODELS)
    )
    trail = AuditTrail(details, signing, anchor, clock)
    expired_calls = ExpiredCalls(database, audit)
    ownership = StoreOwnership(database, vectors)
    quarantine = Quarantine(database)
    fields = FieldExamination(scanner, quarantine)
    documents = Documents(audit, jobs, fields)
    integrity = Integrity(database, vectors, trail, ownership)
    query_rows = QueryRows(database, peppers)
    dropping = Dropping(database, vectors, jobs, audit, grace_s=settings.reindex.grace_s)
    return Platform(
        settings=settings,
        database=database,
        keyring=keyring,
        jobs=jobs,
        vectors=vectors,
        audit=audit,
        audit_trail=trail,
        checkpointing=Checkpointing(database, signing, anchor, database.now, cadence),
        failures=FailureCounter(audit, clock),
        identity=Authentication(database, peppers),
        onboarding=Onboarding(database, tenants, issuing, audit, warns_of_conflicts=settings.is_production),
        tenants=tenants,
        tenant_settings=TenantSettings(audit),
        key_rewrapping=KeyRewrapping(database, keyring, jobs, audit),
        principals=Principals(audit, warns_of_conflicts=settings.is_production),
        groups=Groups(audit),
        api_keys=ApiKeys(audit, issuing),
        me=Introspection(tenants),
        quotas=Quotas(audit),
        usage=UsageLedger(database, audit, clock),
        tenant_policies=TenantPolicies(audit, cedar),
        source_connectors=SourceConnectors(audit),
        expired_calls=expired_calls,
        gateway=gateway,
        scans=Scans(database, scanner),
        provider_endpoints=ProviderEndpoints(
            database, ProviderKeys(keyring), audit, Allowance.parse(settings.egress.allow)
        ),
        model_registry=registry,
        kill_switches=KillSwitches(audit, registry),
        bases=Bases(audit, ModelChoice(gateway), KnowledgeQuotas()),
        base_deletions=BaseDeletions(database, vectors, jobs, audit),
        access_lists=AccessLists(audit),
        documents=documents,
        document_rights=DocumentRights(database, documents),
        deletions=Deletions(database, vectors, jobs, audit),
        retention_policies=RetentionPolicies(audit),
        legal_holds=LegalHolds(audit),
        expiry=Expiry(database, jobs, audit),
        lineage=Lineage(),
        erasures=Erasures(keyring, jobs, audit),
        erasing=Erasing(database, keyring, details, jobs, audit),
        retrieval_counts=RetrievalCounts(database),
        reindexes=Reindexes(gateway, ModelChoice(gateway), jobs, audit),
        reindexing=Reindexing(database, gateway, vectors, jobs, audit),
        generation_dropping=dropping,
        reindex_sweep=ReindexSweep(dropping, interval_s=settings.reindex.interval_s),
        ingestion=Ingestion(
            database, gateway, vectors, jobs, audit, KnowledgeQuotas(), quarantine, scanner, fields
        ),
        recutting=Recutting(database, gateway, vectors, jobs, audit),
        reviews=Reviews(jobs, audit),
        assembly=Assembly(database, query_rows, audit),
        retrieval=Retrieval(
            query_rows,
            gateway,
            vectors,
            audit,
            store="qdrant" if settings.qdrant.url else "embedded",
            rerank_model=settings.models.rag_rerank_model,
            cache=SensitiveCache(outside.cache, keyring, clock) if settings.cache.keeps else None,
        ),
        integrity=integrity,
        integrity_jobs=IntegrityJobs(
            database,
            jobs,
            audit,
            integrity=integrity,
            mending=RowMending(database, jobs, audit, expired_calls),
            rebuilding=Rebuilding(database, vectors, jobs, ownership),
            ownership=ownership,
        ),
        store_ownership=ownership,
    )
