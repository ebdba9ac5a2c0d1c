"""Turns environment variables into the settings tree, reporting every fault of them at once."""

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from eai.platform.settings.tree import Env, Environment, Group, Settings

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
    "EAI_LITELLM_URL",
    "EAI_MEMORY_EMBEDDING_MODEL",
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
                # What is not read is no mend, and the prefix alone makes any two names look alike.
                bare = {each.removeprefix("EAI_"): each for each in sorted(known)}
                near = difflib.get_close_matches(name.removeprefix("EAI_"), bare, n=1)
                nearest = [bare[each] for each in near]
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
    if settings.cache.redis_url is not None and settings.cache.redis_url.get_secret_value().startswith(
        "redis:"
    ):
        yield "EAI_REDIS_URL must begin with rediss:// or unix:// in production: its password travels with it"
    if settings.models.rag_embedding_model in STAND_IN_MODELS:
        yield (
            f"EAI_RAG_EMBEDDING_MODEL={settings.models.rag_embedding_model} compares spelling only "
            "and may not serve in production; name a semantic model"
        )
