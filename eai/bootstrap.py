"""The composition root: settings become adapters, adapters become services. Nothing else builds any."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import structlog

from eai.audit.details import Details
from eai.audit.failures import FailureCounter
from eai.audit.jobs import Cadence, Checkpointing
from eai.audit.service import Audit
from eai.audit.signing import Signing
from eai.audit.trail import AuditTrail
from eai.dlp.scanner import PatternScanner
from eai.finops.expiry import ExpiredCalls
from eai.finops.quotas import Quotas
from eai.finops.reservations import Reservations
from eai.finops.usage import UsageLedger
from eai.gateway.attempts import Attempts
from eai.gateway.catalogue import LOCAL_E5_384, LOCAL_HASH_256, LOCAL_USE_512, REMOTE_MODELS
from eai.gateway.choice import ModelChoice
from eai.gateway.controls import Controls
from eai.gateway.dispatch import Dispatch
from eai.gateway.egress import EgressGuard
from eai.gateway.endpoints import ProviderEndpoints
from eai.gateway.facts_rows import FactsRows
from eai.gateway.kill_switches import KillSwitches
from eai.gateway.ledger import Ledger
from eai.gateway.listed_models import ListedModels
from eai.gateway.ports import Provider
from eai.gateway.provider_keys import ProviderKeys
from eai.gateway.registration import ModelRegistry
from eai.gateway.registry import EndpointKind
from eai.gateway.service import Gateway, RegisteredModel
from eai.identity.api_keys import ApiKeys
from eai.identity.authentication import Authentication
from eai.identity.credentials import Peppers
from eai.identity.groups import Groups
from eai.identity.issuing import Issuing
from eai.identity.me import Introspection
from eai.identity.onboarding import FirstKeys, Onboarding
from eai.identity.principals import Principals
from eai.ingestion.acceptance import JOB_NAME as INGESTION_JOB
from eai.ingestion.service import Ingestion
from eai.integrations import litellm, qdrant
from eai.integrations.anchor import FileAnchor
from eai.integrations.cedar import CedarEngine
from eai.integrations.local_models import E5Embedder, HashEmbedder, SentenceEmbedder
from eai.integrations.opa import OpaPolicies
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.kernel.clock import SystemClock
from eai.knowledge.bases.deletion import BaseDeletions
from eai.knowledge.bases.entries import AccessLists
from eai.knowledge.bases.service import Bases
from eai.knowledge.documents.counts import RetrievalCounts
from eai.knowledge.documents.deletion import Deletions
from eai.knowledge.documents.service import Documents
from eai.knowledge.jobs import job_handlers as knowledge_job_handlers
from eai.knowledge.ports import Vectors
from eai.platform.database import Database, DatabaseUnavailable
from eai.platform.egress import Allowance
from eai.platform.jobs import Jobs, Pace
from eai.platform.keys import Keyring, MasterKey
from eai.platform.outbound import Outbound
from eai.platform.roles import UnsafeRole, verify_role
from eai.platform.settings import Environment, Settings
from eai.platform.worker import JobHandler
from eai.policies.rule_sets import RuleSets
from eai.policies.service import Policies
from eai.policies.tenant_policies import TenantPolicies
from eai.retrieval.repository import QueryRows
from eai.retrieval.service import Retrieval
from eai.tenants.service import Tenants
from eai.tenants.settings import TenantSettings

log = structlog.get_logger(__name__)

Models = Mapping[str, RegisteredModel]


class NotStarted(Exception):
    """A process cannot begin its work; the text is for whoever started it."""


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
    principals: Principals
    groups: Groups
    api_keys: ApiKeys
    me: Introspection
    quotas: Quotas
    usage: UsageLedger
    tenant_policies: TenantPolicies
    expired_calls: ExpiredCalls
    gateway: Gateway
    provider_endpoints: ProviderEndpoints
    model_registry: ModelRegistry
    kill_switches: KillSwitches
    bases: Bases
    base_deletions: BaseDeletions
    access_lists: AccessLists
    documents: Documents
    deletions: Deletions
    retrieval_counts: RetrievalCounts
    ingestion: Ingestion
    retrieval: Retrieval


@asynccontextmanager
async def build(
    settings: Settings,
    *,
    models: Models | None = None,
    vectors: Vectors | None = None,
    pace: Pace | None = None,
) -> AsyncIterator[Platform]:
    """Open what `settings` name and compose the services; closes everything on the way out.

    `models`, `vectors` and `pace` replace what would be chosen; tests use them. Raises UnsafeRole when
    the database role could see past row level security.
    """
    database = Database(
        _required(settings.database.url),
        pool_size=settings.database.pool_max_size,
        checkout_timeout_s=settings.database.pool_timeout_s,
        connect_timeout_s=settings.database.connect_timeout_s,
    )
    await database.open()
    store = vectors or _vectors(settings)
    outbound = Outbound(settings.egress.allow)
    outside = OpaPolicies(settings.policies.opa_url) if settings.policies.opa_url else None
    outbound = Outbound(settings.egress.allow)
    try:
        await verify_role(database)
        jobs = Jobs(database, pace)
        platform = _compose(
            settings, database, store, models or _models(), jobs, outbound=outbound, outside=outside
        )
        _log_choices(settings, platform)
        yield platform
        await platform.audit.close()
    finally:
        await outbound.close()
        if outside is not None:
            await outside.close()
        await outbound.close()
        await store.close()
        await database.close()


@asynccontextmanager
async def start(settings: Settings) -> AsyncIterator[Platform]:
    """`build` for a process of its own. Raises NotStarted where settings or surroundings do not allow it."""
    async with AsyncExitStack() as stack:
        try:
            platform = await stack.enter_async_context(build(settings))
        except DatabaseUnavailable as error:
            raise NotStarted(
                "PostgreSQL cannot be reached under EAI_DATABASE_URL, or refuses its password or database; "
                "`eai doctor` shows its own words"
            ) from error
        except (UnsafeRole, ValueError) as error:
            raise NotStarted(str(error)) from error
        yield platform


async def first_start(platform: Platform, keys: FirstKeys | None = None) -> FirstKeys | None:
    """Create tenant `default` and the first keys; None when they are there already."""
    return await platform.onboarding.first_start(keys)


def job_handlers(platform: Platform) -> Mapping[str, JobHandler]:
    """What a worker runs, by job name."""
    knowledge = knowledge_job_handlers(platform.database, platform.vectors, platform.jobs, platform.audit)
    ingestion = JobHandler(platform.ingestion.run, platform.ingestion.give_up, is_slow=True)
    return {**knowledge, INGESTION_JOB: ingestion}


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


def _compose(
    settings: Settings,
    database: Database,
    vectors: Vectors,
    models: Models,
    jobs: Jobs,
    *,
    outbound: Outbound,
    outside: OpaPolicies | None,
) -> Platform:
    clock = SystemClock()
    master = MasterKey.from_text(_required(settings.keys.master_key))
    keyring = Keyring(master, database)
    details = Details(database, keyring)
    audit = Audit(database, details, clock)
    signing = Signing(keyring, clock)
    anchor = FileAnchor(settings.anchor_path)
    cadence = Cadence(
        settings.audit.checkpoint_events, timedelta(seconds=settings.audit.checkpoint_interval_s)
    )
    peppers = Peppers(master)
    issuing = Issuing(peppers)
    tenants = Tenants(database)
    cedar = CedarEngine()
    policies = Policies(cedar, RuleSets(database, cedar), outside)
    gateway = _gateway(_Shared(settings, database, keyring, audit, outbound, policies), models)
    registry = ModelRegistry(
        audit, ListedModels({model.name: model for model in gateway.models}, REMOTE_MODELS)
    )
    return Platform(
        settings=settings,
        database=database,
        keyring=keyring,
        jobs=jobs,
        vectors=vectors,
        audit=audit,
        audit_trail=AuditTrail(details, signing, anchor, clock),
        checkpointing=Checkpointing(database, signing, anchor, clock, cadence),
        failures=FailureCounter(audit, clock),
        identity=Authentication(database, peppers),
        onboarding=Onboarding(database, tenants, issuing, audit, warns_of_conflicts=settings.is_production),
        tenants=tenants,
        tenant_settings=TenantSettings(audit),
        principals=Principals(audit, warns_of_conflicts=settings.is_production),
        groups=Groups(audit),
        api_keys=ApiKeys(audit, issuing),
        me=Introspection(tenants),
        quotas=Quotas(audit),
        usage=UsageLedger(database, audit, clock),
        tenant_policies=TenantPolicies(audit, cedar),
        expired_calls=ExpiredCalls(database, audit),
        gateway=gateway,
        provider_endpoints=ProviderEndpoints(
            database, ProviderKeys(keyring), audit, Allowance.parse(settings.egress.allow)
        ),
        model_registry=registry,
        kill_switches=KillSwitches(audit, registry),
        bases=Bases(audit, ModelChoice(gateway)),
        base_deletions=BaseDeletions(database, vectors, jobs, audit),
        access_lists=AccessLists(audit),
        documents=Documents(audit, jobs),
        deletions=Deletions(database, vectors, jobs, audit),
        retrieval_counts=RetrievalCounts(database),
        ingestion=Ingestion(database, gateway, vectors, jobs, audit),
        retrieval=Retrieval(
            QueryRows(database, peppers),
            gateway,
            vectors,
            audit,
            store="qdrant" if settings.qdrant.url else "embedded",
            rerank_model=settings.models.rag_rerank_model,
        ),
    )


@dataclass(frozen=True)
class _Shared:
    """What the gateway shares with everybody else."""

    settings: Settings
    database: Database
    keyring: Keyring
    audit: Audit
    outbound: Outbound
    policies: Policies


def _gateway(shared: _Shared, models: Models) -> Gateway:
    chosen, is_production = shared.settings.models, shared.settings.is_production
    default = chosen.rag_embedding_model
    if default is None and not is_production:
        default = next((name for name in (LOCAL_USE_512.name, LOCAL_HASH_256.name) if name in models), None)
    controls = Controls(
        PatternScanner(), shared.policies, EgressGuard(shared.outbound), is_production=is_production
    )
    return Gateway(
        models,
        FactsRows(shared.database),
        controls,
        Ledger(Reservations(shared.database), shared.audit),
        Dispatch(_providers(shared.outbound), Attempts(), ProviderKeys(shared.keyring)),
        default_model=default,
        batch_size=chosen.embeddings_batch_size,
    )


def _providers(outbound: Outbound) -> Mapping[EndpointKind, Provider]:
    """Who speaks to which kind of endpoint."""
    over_http = OpenAiCompatible(outbound)
    return {EndpointKind.OPENAI: over_http, EndpointKind.LITELLM: litellm.connect(outbound, over_http)}


def _models() -> Models:
    """The shipped models that can run here: those of meaning only where their extra is installed."""
    shipped = {LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, HashEmbedder())}
    if SentenceEmbedder.is_available():
        shipped[LOCAL_USE_512.name] = RegisteredModel(LOCAL_USE_512, SentenceEmbedder())
    if E5Embedder.is_available():
        shipped[LOCAL_E5_384.name] = RegisteredModel(LOCAL_E5_384, E5Embedder())
    return shipped


def _vectors(settings: Settings) -> Vectors:
    key = settings.qdrant.api_key
    return qdrant.connect(
        settings.qdrant.url, key.get_secret_value() if key else None, settings.engine_socket
    )


def _log_choices(settings: Settings, platform: Platform) -> None:
    log.info(
        "platform.built",
        environment=settings.environment,
        vector_store="qdrant server" if settings.qdrant.url else "embedded engine",
        models=[model.name for model in platform.gateway.models],
    )


def _required(secret: object) -> str:
    value = getattr(secret, "get_secret_value", lambda: None)()
    if value is None:
        raise NotStarted(
            "EAI_DATABASE_URL and EAI_MASTER_KEY are needed here; only `eai up` makes them itself"
        )
    return str(value)
