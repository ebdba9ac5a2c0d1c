"""The settings tree: small frozen groups, each field naming its variable beside its type."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from eai.platform.egress import Allowance


class Environment(StrEnum):
    """What kind of place this is; only `dev` and `test` let stand-ins serve."""

    DEV = "dev"
    TEST = "test"
    PRODUCTION = "production"


@dataclass(frozen=True, slots=True)
class Env:
    """The variable a field is read from; a `secret` may also be given as a file in `<name>_FILE`."""

    name: str
    secret: bool = False


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _database_url(value: SecretStr) -> SecretStr:
    scheme, found, _ = value.get_secret_value().partition("://")
    if not found or scheme not in {"postgresql", "postgres", "postgresql+psycopg"}:
        raise ValueError("is no PostgreSQL URL; write postgresql://user:password@host:port/database")
    return value


def _http_url(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("is no URL; write https://host:port")
    return value.rstrip("/")


def _redis_url(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("is no Redis URL; write rediss://user:password@host:port/0")
    return value


def _origin(value: str) -> str:
    _, found, rest = value.partition("://")
    if value != "*" and (not found or not rest or "/" in rest):
        raise ValueError("is no origin; write https://host or https://host:port, without a path")
    return value


def _egress_entries(value: tuple[str, ...]) -> tuple[str, ...]:
    Allowance.parse(value)
    return value


DatabaseUrl = Annotated[SecretStr, AfterValidator(_database_url)]
RedisUrl = Annotated[SecretStr, AfterValidator(_redis_url)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
EgressEntries = Annotated[Names, AfterValidator(_egress_entries)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], BeforeValidator(_split)]


class Group(BaseModel):
    """Part of the tree: immutable, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DatabaseSettings(Group):
    """Where the truth is kept."""

    url: Annotated[DatabaseUrl | None, Env("EAI_DATABASE_URL", secret=True)] = Field(
        default=None,
        description="PostgreSQL as the role eai_app. Absent in dev: the embedded server under the home.",
    )
    admin_url: Annotated[DatabaseUrl | None, Env("EAI_DATABASE_ADMIN_URL", secret=True)] = Field(
        default=None,
        description="PostgreSQL as a role that may create roles; used by `eai migrate` only.",
    )
    pool_max_size: Annotated[int, Env("EAI_DATABASE_POOL_MAX_SIZE")] = Field(
        default=10, ge=1, le=500, description="Most connections per pool and process."
    )
    pool_timeout_s: Annotated[float, Env("EAI_DATABASE_POOL_TIMEOUT_SECONDS")] = Field(
        default=5.0, gt=0, le=300, description="Seconds a request waits for a free connection before 503."
    )
    connect_timeout_s: Annotated[int, Env("EAI_DATABASE_CONNECT_TIMEOUT_SECONDS")] = Field(
        default=5, ge=1, le=300, description="Seconds until a connection attempt is given up."
    )


class QdrantSettings(Group):
    """A Qdrant server; without a URL the embedded engine process answers instead."""

    url: Annotated[HttpUrl | None, Env("EAI_QDRANT_URL")] = Field(
        default=None, description="Qdrant server. Absent in dev: the engine process of `eai up`."
    )
    api_key: Annotated[SecretStr | None, Env("EAI_QDRANT_API_KEY", secret=True)] = Field(
        default=None, description="API key of the Qdrant server; required in production."
    )


class AuditSettings(Group):
    """Where signed checkpoints of the audit chains go, and how often."""

    anchor_path: Annotated[Path | None, Env("EAI_AUDIT_ANCHOR_PATH")] = Field(
        default=None,
        description="File that checkpoints are appended to, on another mount than the database; "
        "required in production. Absent in dev: under the home.",
    )
    checkpoint_interval_s: Annotated[float, Env("EAI_AUDIT_CHECKPOINT_INTERVAL_SECONDS")] = Field(
        default=60.0, gt=0, le=3600, description="Seconds between two checkpoints of a chain that grew."
    )
    checkpoint_events: Annotated[int, Env("EAI_AUDIT_CHECKPOINT_EVENTS")] = Field(
        default=1000, ge=1, description="Events after which a checkpoint is due before its time."
    )


class KeySettings(Group):
    """The key that wraps every tenant's key."""

    master_key: Annotated[SecretStr | None, Env("EAI_MASTER_KEY", secret=True)] = Field(
        default=None,
        description="32 random bytes in base64; required in production. Absent in dev: made by `eai up`.",
    )


class ModelSettings(Group):
    """Which models serve where a request or a base names none."""

    rag_embedding_model: Annotated[str | None, Env("EAI_RAG_EMBEDDING_MODEL")] = Field(
        default=None,
        description="Embedding model of bases that name none. Absent: local-use-512 when installed, "
        "else local-hash-256; in production a base must then name its model.",
    )
    rag_rerank_model: Annotated[str | None, Env("EAI_RAG_RERANK_MODEL")] = Field(
        default=None,
        description="Reranking model of questions that name none. Absent: such questions keep the order of "
        "the search, with a warning.",
    )
    embeddings_batch_size: Annotated[int, Env("EAI_EMBEDDINGS_BATCH_SIZE")] = Field(
        default=64, ge=1, le=2048, description="Most texts in one embedding call."
    )
    calls_per_tenant: Annotated[int, Env("EAI_MODEL_CALLS_PER_TENANT")] = Field(
        default=100,
        ge=1,
        le=512,
        description="Most calls of providers that a tenant may have open in one process, streams among them. "
        "Further ones are refused with 429; those that take documents in wait.",
    )


class PolicySettings(Group):
    """Who decides besides the product's and the tenants' own policies."""

    opa_url: Annotated[HttpUrl | None, Env("EAI_OPA_URL")] = Field(
        default=None,
        description="Open Policy Agent that must allow every call of a model too: the decision document, "
        "or the server alone for its /v1/data/eai. Absent: nobody outside is asked.",
    )


class EgressSettings(Group):
    """What may be reached besides the public internet over TLS."""

    allow: Annotated[EgressEntries, Env("EAI_EGRESS_ALLOW")] = Field(
        default=(),
        description="Hosts and networks (`models.internal,10.20.0.0/16`), separated by commas, whose private "
        "or loopback addresses providers may have, and that may be reached without TLS. Metadata services "
        "and link-local addresses stay out of reach whatever is listed.",
    )


class CacheSettings(Group):
    """Where answers are cached: for 15 minutes at most, and sealed under a key of their tenant."""

    redis_url: Annotated[RedisUrl | None, Env("EAI_REDIS_URL", secret=True)] = Field(
        default=None,
        description="Redis that all processes share. Absent: each API process caches in its own memory.",
    )
    memory_mb: Annotated[int, Env("EAI_CACHE_MEMORY_MB")] = Field(
        default=64,
        ge=0,
        le=65_536,
        description="Megabytes that an API process caches in its own memory at most, where no Redis is "
        "named. 0: nothing is cached.",
    )

    @property
    def keeps(self) -> bool:
        """Whether anything is cached at all."""
        return self.redis_url is not None or self.memory_mb > 0


class HttpSettings(Group):
    """What the API accepts from browsers and proxies."""

    cors_origins: Annotated[Origins, Env("EAI_CORS_ORIGINS")] = Field(
        default=(), description="Origins browsers may call from, separated by commas."
    )
    allowed_hosts: Annotated[Names, Env("EAI_ALLOWED_HOSTS")] = Field(
        default=("localhost", "127.0.0.1", "[::1]"),
        description="Host names the API answers to, separated by commas; `*` for any. "
        "Absent: loopback names in dev and test, any host in production.",
    )


class WorkerSettings(Group):
    """How many jobs a worker process runs at a time, how it gives way, and what it does besides."""

    niceness: Annotated[int, Env("EAI_WORKER_NICENESS")] = Field(
        default=10,
        ge=0,
        le=19,
        description="How far a worker, and what it starts, gives way to other programs of its machine that "
        "want the processor, as `nice` counts it. 0: not at all.",
    )

    quick_slots: Annotated[int, Env("EAI_WORKER_QUICK_SLOTS")] = Field(
        default=2,
        ge=1,
        le=64,
        description="Deletions and changes of rights that a worker of this group runs at a time.",
    )
    ingestion_slots: Annotated[int, Env("EAI_WORKER_INGESTION_SLOTS")] = Field(
        default=4, ge=1, le=64, description="Documents that a worker of this group takes in at a time."
    )
    maintenance_slots: Annotated[int, Env("EAI_WORKER_MAINTENANCE_SLOTS")] = Field(
        default=2,
        ge=1,
        le=64,
        description="Reindexes, removals of generations, reweighings, examinations and repairs that a worker "
        "of this group runs at a time.",
    )
    metrics_port: Annotated[int | None, Env("EAI_WORKER_METRICS_PORT")] = Field(
        default=None, ge=1, le=65535, description="Port for a worker's /metrics. Absent: none is served."
    )
    metrics_host: Annotated[str, Env("EAI_WORKER_METRICS_HOST")] = Field(
        default="127.0.0.1",
        description="Address a worker's /metrics listens on. It asks nobody who they are: open it to the "
        "network of your metrics collector only.",
    )
    integrity_interval_s: Annotated[float, Env("EAI_WORKER_INTEGRITY_INTERVAL_SECONDS")] = Field(
        default=21_600,
        ge=0,
        le=31_536_000,
        description="How long after the last examination of a tenant (see `eai fsck`) the workers make "
        "another. 0: never.",
    )
    retention_interval_s: Annotated[float, Env("EAI_WORKER_RETENTION_INTERVAL_SECONDS")] = Field(
        default=3_600,
        ge=0,
        le=86_400,
        description="Seconds between two looks for documents due under a retention policy. 0: never.",
    )


class ReindexSettings(Group):
    """What becomes of generations that are searched no more, and how often is looked for them."""

    interval_s: Annotated[float, Env("EAI_WORKER_EMBEDDINGS_REINDEX_INTERVAL_SECONDS")] = Field(
        default=300.0,
        gt=0,
        le=86_400,
        description="Seconds between two looks for generations to drop. A requested reindex begins at once.",
    )
    grace_s: Annotated[float, Env("EAI_REINDEX_GRACE_SECONDS")] = Field(
        default=86_400.0,
        ge=0,
        le=31_536_000,
        description="Seconds for which a reindex can be rolled back; then the former generation is dropped.",
    )


class Settings(BaseSettings):
    """Everything an operator can choose. Built by `load_settings`; tests may build it directly."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    environment: Annotated[Environment, Env("EAI_ENV")] = Field(
        description="dev, test or production. `eai up` takes dev when absent, everything else production."
    )
    home: Annotated[Path, AfterValidator(Path.absolute), Env("EAI_HOME")] = Field(
        description="Folder for everything kept on this machine. "
        "Absent: .eai in the user's home, /var/lib/eai for root."
    )
    database: DatabaseSettings = DatabaseSettings()
    qdrant: QdrantSettings = QdrantSettings()
    audit: AuditSettings = AuditSettings()
    keys: KeySettings = KeySettings()
    models: ModelSettings = ModelSettings()
    policies: PolicySettings = PolicySettings()
    egress: EgressSettings = EgressSettings()
    cache: CacheSettings = CacheSettings()
    http: HttpSettings = HttpSettings()
    worker: WorkerSettings = WorkerSettings()
    reindex: ReindexSettings = ReindexSettings()

    @property
    def is_production(self) -> bool:
        return self.environment is Environment.PRODUCTION

    @property
    def engine_folder(self) -> Path:
        """Where the embedded engine keeps its shards."""
        return self.home / "engine"

    @property
    def engine_socket(self) -> Path:
        """Where the embedded engine answers."""
        return self.home / "run" / "engine.sock"

    @property
    def anchor_path(self) -> Path:
        """Where audit checkpoints are appended."""
        return self.audit.anchor_path or self.home / "anchor" / "checkpoints.jsonl"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what the caller hands over: the process environment is never read behind its back."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)
