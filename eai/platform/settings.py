"""The settings tree and the one place that turns environment variables into it.

Small frozen groups; each field names its variable beside its type. `load_settings` takes the
environment as an argument and reports every fault of it at once. No field does any work.
"""

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


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


def _origin(value: str) -> str:
    _, found, rest = value.partition("://")
    if value != "*" and (not found or not rest or "/" in rest):
        raise ValueError("is no origin; write https://host or https://host:port, without a path")
    return value


DatabaseUrl = Annotated[SecretStr, AfterValidator(_database_url)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
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
    pool_min_size: Annotated[int, Env("EAI_DATABASE_POOL_MIN_SIZE")] = Field(
        default=2, ge=0, le=500, description="Connections kept open per pool and process."
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


class EngineSettings(Group):
    """The embedded engine process, used when there is no Qdrant server."""

    socket: Annotated[Path | None, Env("EAI_ENGINE_SOCKET")] = Field(
        default=None, description="Unix socket the engine process answers on. Absent: under the home."
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
        default=None, description="Model that reorders hits when a query asks for it and names none."
    )
    embeddings_batch_size: Annotated[int, Env("EAI_EMBEDDINGS_BATCH_SIZE")] = Field(
        default=64, ge=1, le=2048, description="Most texts in one embedding call."
    )


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
    engine: EngineSettings = EngineSettings()
    audit: AuditSettings = AuditSettings()
    keys: KeySettings = KeySettings()
    models: ModelSettings = ModelSettings()
    http: HttpSettings = HttpSettings()

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
        return self.engine.socket or self.home / "run" / "engine.sock"

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


STAND_IN_MODELS = frozenset({"local-hash-256"})
"""Models that compare spelling only; they may not serve in production."""

IGNORED = frozenset({
    # read by clients, benchmarks and the test suite
    "EAI_API_KEY",
    "EAI_API_KEY_FILE",
    "EAI_BASE_URL",
    "EAI_EVAL_DATA",
    "EAI_REQUIRE_TOOLCHAINS",
    # documented for parts that are not built yet; they move into the tree with what reads them
    "EAI_EGRESS_ALLOW",
    "EAI_LITELLM_URL",
    "EAI_MEMORY_EMBEDDING_MODEL",
    "EAI_OPA_URL",
    "EAI_REDIS_URL",
    "EAI_REDIS_URL_FILE",
    "EAI_WORKER_EMBEDDINGS_REINDEX_INTERVAL_SECONDS",
})  # fmt: skip
"""Names that are not ours to read, and no mistakes either."""

IGNORED_PREFIX = "EAI_TEST_"


class SettingsError(Exception):
    """The environment cannot be used; `problems` holds one line for each thing to mend."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"the settings cannot be used:\n{lines}")


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable of the tree: where its value goes and what it is for."""

    name: str
    path: tuple[str, ...]
    secret: bool
    description: str
    default: object


def variables() -> Iterator[Variable]:
    """Every variable of the tree, in the order of the tree."""
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Group):
            for inner, inner_field in field.annotation.model_fields.items():
                yield _variable((name, inner), inner_field)
        else:
            yield _variable((name,), field)


def _variable(path: tuple[str, ...], field: FieldInfo) -> Variable:
    env = next(mark for mark in field.metadata if isinstance(mark, Env))
    default = None if field.is_required() else field.default
    return Variable(env.name, path, env.secret, field.description or "", default)


def process_environ() -> dict[str, str]:
    """A copy of this process's variables; nothing else in the product reads them."""
    return dict(os.environ)


def load_settings(
    environ: Mapping[str, str], *, default_environment: Environment = Environment.PRODUCTION
) -> Settings:
    """The tree for this environment; raises `SettingsError` with every problem found."""
    return _Loading(environ, default_environment).finish()


class _Loading:
    """One pass over one environment, collecting problems instead of stopping at the first."""

    def __init__(self, environ: Mapping[str, str], default_environment: Environment) -> None:
        # An empty variable is how compose files and charts say "not set".
        self._environ = {name: value for name, value in environ.items() if value != ""}
        self._default_environment = default_environment
        self._variables = {variable.name: variable for variable in variables()}
        self._problems: list[str] = []

    def finish(self) -> Settings:
        self._refuse_unknown_names()
        tree: dict[str, Any] = {"environment": self._default_environment, "home": self._default_home()}
        for variable in self._variables.values():
            value = self._value(variable)
            if value is not None:
                self._put(tree, variable.path, value)
        if tree["environment"] == Environment.PRODUCTION:
            tree.setdefault("http", {}).setdefault("allowed_hosts", ("*",))
        settings = self._validated(tree)
        if settings is not None and settings.is_production:
            self._problems.extend(_production_problems(settings))
        if self._problems or settings is None:
            raise SettingsError(self._problems)
        return settings

    def _refuse_unknown_names(self) -> None:
        known = {*self._variables, *(f"{v.name}_FILE" for v in self._variables.values() if v.secret)}
        for name in sorted(self._environ):
            if not name.startswith("EAI_") or name.startswith(IGNORED_PREFIX):
                continue
            if name not in known and name not in IGNORED:
                nearest = difflib.get_close_matches(name, sorted(known | IGNORED), n=1)
                mend = f"did you mean {nearest[0]}?" if nearest else "remove it"
                self._problems.append(f"{name} is not a setting; {mend}")

    def _default_home(self) -> Path:
        user_home = self._environ.get("HOME", "")
        # The database server of root runs as another user, who cannot enter root's own folder.
        if not user_home or user_home == "/root":
            return Path("/var/lib/eai")
        return Path(user_home) / ".eai"

    def _value(self, variable: Variable) -> str | None:
        direct = self._environ.get(variable.name)
        file_name = f"{variable.name}_FILE"
        path = self._environ.get(file_name) if variable.secret else None
        if path is None:
            return direct
        if direct is not None:
            self._problems.append(f"{variable.name} and {file_name} are both set; keep one")
            return None
        try:
            text = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            self._problems.append(f"{file_name} names {path}, which cannot be read: {reason}")
            return None
        if not text:
            self._problems.append(f"{file_name} names {path}, which is empty")
        return text or None

    @staticmethod
    def _put(tree: dict[str, Any], path: tuple[str, ...], value: str) -> None:
        for part in path[:-1]:
            tree = tree.setdefault(part, {})
        tree[path[-1]] = value

    def _validated(self, tree: dict[str, Any]) -> Settings | None:
        try:
            return Settings(**tree)
        except ValidationError as error:
            names = {variable.path: variable for variable in self._variables.values()}
            for fault in error.errors(include_url=False):
                place = tuple(part for part in fault["loc"] if isinstance(part, str))
                variable = names[place[: 1 if place[0] in {"environment", "home"} else 2]]
                shown = "" if variable.secret else f" ({fault['input']!r})"
                message = fault["msg"].removeprefix("Value error, ")
                self._problems.append(f"{variable.name}{shown}: {message}")
            return None


def _production_problems(settings: Settings) -> Iterator[str]:
    """What may serve in dev and never in production, each with its mend."""
    if settings.database.url is None:
        yield "EAI_DATABASE_URL is required in production: the embedded PostgreSQL is for development"
    if settings.keys.master_key is None:
        yield "EAI_MASTER_KEY (or EAI_MASTER_KEY_FILE) is required in production: 32 random bytes in base64"
    if settings.audit.anchor_path is None:
        yield "EAI_AUDIT_ANCHOR_PATH is required in production: a file on another mount than the database"
    if settings.qdrant.url is None:
        yield "EAI_QDRANT_URL is required in production: the embedded engine is for development"
    elif not settings.qdrant.url.startswith("https://"):
        yield "EAI_QDRANT_URL must use https in production"
    if settings.qdrant.api_key is None:
        yield "EAI_QDRANT_API_KEY (or EAI_QDRANT_API_KEY_FILE) is required in production"
    if settings.models.rag_embedding_model in STAND_IN_MODELS:
        yield (
            f"EAI_RAG_EMBEDDING_MODEL={settings.models.rag_embedding_model} compares spelling only "
            "and may not serve in production; name a semantic model"
        )
