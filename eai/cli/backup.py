"""`eai backup` and `eai restore`: a development home as one file, and back again.

The index is not in it: rows hold every vector, and `eai fsck --repair` makes the index of them.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import typer

from eai import __version__
from eai.bootstrap import NotStarted, start
from eai.cli import archive
from eai.cli.archive import ANCHOR, DUMP, ArchiveUnusable, Manifest
from eai.cli.fsck import CLEAN, Examiner, Outcome, code_of, summary, words_for
from eai.cli.home_services import awake
from eai.cli.home_settings import arrange, master_key
from eai.cli.process_tree import ProcessTree
from eai.cli.terminal import fail, report
from eai.integrations.home import HomeFolder, HomeInUse, HomeUnusable
from eai.integrations.postgres import PostgresFailed, dumps
from eai.integrity.errors import VectorStoreNotOurs
from eai.kernel.errors import EaiError
from eai.platform.conninfo import libpq_conninfo
from eai.platform.logging import configure_logging
from eai.platform.migrate import migrate, revisions
from eai.platform.roles import create_roles
from eai.platform.settings import Environment, Settings, SettingsError, load_settings
from eai.tenants.repository import list_tenant_ids

_ARRANGED_ANEW = {"environment.json", "database-url", "database-admin-url"}
"""Of a home's secrets, what says where its database answers."""
_FAILURES = (
    SettingsError, NotStarted, HomeInUse, HomeUnusable, PostgresFailed, ArchiveUnusable,
    psycopg.Error, OSError,
)  # fmt: skip


def _said(error: Exception) -> str:
    """What a person is told; of what the system refuses, which file, and without its number."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error)


def back_up(environ: Mapping[str, str], home: Path | None, target: Path, *, as_json: bool) -> None:
    """Write a backup and say where; exits with 1 and a sentence when there is none."""
    configure_logging(level="ERROR")
    try:
        file, manifest = asyncio.run(_backed_up(environ, home, target))
    except _FAILURES as error:
        fail(_said(error))
    told = {"file": str(file), "created_at": manifest.created_at, "bytes": file.stat().st_size}
    typer.echo(json.dumps(told) if as_json else f"backed up to {file}: keep it where secrets are kept")


async def _backed_up(environ: Mapping[str, str], home: Path | None, target: Path) -> tuple[Path, Manifest]:
    now = datetime.now(UTC)
    file = target / f"eai-{now:%Y%m%d-%H%M%S}.tar" if target.is_dir() else target
    if file.exists():
        raise HomeUnusable(f"{file} is there already; name another file")
    async with awake(environ, home) as settings:
        _refuse_production(settings)
        if settings.database.admin_url is None:
            raise HomeUnusable("a backup needs the database of a home, or EAI_DATABASE_ADMIN_URL")
        admin_url = settings.database.admin_url.get_secret_value()
        with tempfile.TemporaryDirectory(prefix=".eai-backup-", dir=file.absolute().parent) as folder:
            files = _copied(settings, Path(folder))
            # After the anchor: what was anchored by then is in the dump as well.
            files[DUMP] = Path(folder) / DUMP
            await dumps.dump(admin_url, files[DUMP])
            digests = {name: archive.digest_of(path) for name, path in files.items()}
            manifest = Manifest(__version__, await _revision(admin_url), now.isoformat(), digests)
            archive.write(file, manifest, files)
    return file, manifest


def _copied(settings: Settings, folder: Path) -> dict[str, Path]:
    """The secrets and the anchor, as they are now."""
    files = {}
    for path in sorted(HomeFolder(settings.home).secrets.iterdir()):
        if path.is_file() and not path.name.startswith(".") and path.name not in _ARRANGED_ANEW:
            files[f"secrets/{path.name}"] = Path(shutil.copy(path, folder / path.name))
    if settings.anchor_path.exists():
        files[ANCHOR] = Path(shutil.copy(settings.anchor_path, folder / ANCHOR))
    return files


def restore(environ: Mapping[str, str], home: Path | None, source: Path, *, as_json: bool) -> None:
    """Make a home of a backup and examine it; exits with 1 and a sentence when it is not what it was."""
    configure_logging(level="ERROR")
    named = {} if home is None else {"EAI_HOME": str(home)}
    try:
        settings = load_settings({**environ, **named}, default_environment=Environment.DEV)
        _refuse_production(settings)
        outcomes = asyncio.run(_restored(environ, settings, source))
    except _FAILURES as error:
        fail(_said(error))
    except EaiError as error:
        fail(f"the home was restored and cannot be examined ({error.code}); try `eai fsck --repair`")
    if as_json:
        told = {"home": str(settings.home), "clean": code_of(outcomes) == CLEAN}
        typer.echo(json.dumps({**told, "tenants": [outcome.to_json() for outcome in outcomes]}))
    else:
        typer.echo(f"restored to {settings.home}\n{summary(outcomes)}")
    refused = next((outcome.refused for outcome in outcomes if outcome.refused is not None), None)
    if refused is not None:
        report(words_for(refused))
    raise typer.Exit(code_of(outcomes))


async def _restored(environ: Mapping[str, str], settings: Settings, source: Path) -> list[Outcome]:
    manifest = archive.check(source)
    if manifest.revision not in revisions():
        raise ArchiveUnusable(
            f"{source} was made by eai {manifest.version}, with a schema that {__version__} does not know"
        )
    home = HomeFolder(settings.home)
    if home.path.exists() and any(home.path.iterdir()):
        raise HomeUnusable(f"{home.path} is not empty; a backup is restored into a new home only")
    if settings.anchor_path.exists():
        raise HomeUnusable(
            f"{settings.anchor_path} is there already, and is the anchor of the instance that writes it; "
            "name another file in EAI_AUDIT_ANCHOR_PATH, or move that one to where you keep it as evidence"
        )
    home.prepare()
    dump = home.path / DUMP
    try:
        archive.unpack(source, {DUMP: dump, ANCHOR: settings.anchor_path}, home.secrets)
        await dumps.check(dump)
        with home.lock("supervisor"):
            await _load(settings, dump)
    except BaseException as error:  # interrupted or failed: half a home would be taken for a whole one
        _empty(home.path)
        if not isinstance(error, FileExistsError):  # somebody else's, made meanwhile
            settings.anchor_path.unlink(missing_ok=True)
        raise
    finally:
        dump.unlink(missing_ok=True)
    async with awake(environ, settings.home) as found, start(found) as platform:
        # The copy of a database has the same bases as the one that works, and an older idea of them.
        is_ours = await platform.store_ownership.take_empty()
        refused = None if is_ours else VectorStoreNotOurs()
        examiner = Examiner(platform)
        tenants = await list_tenant_ids(platform.database)
        outcomes = [await examiner.examine(each, repairs=is_ours, is_deep=False) for each in tenants]
        return [replace(outcome, refused=outcome.refused or refused) for outcome in outcomes]


async def _load(settings: Settings, dump: Path) -> None:
    """Fill a new database, and leave in the home what its commands need."""
    home = HomeFolder(settings.home)
    tree = ProcessTree(home, report)
    try:
        postgres = await tree.start_postgres()
        await create_roles(postgres.admin_url, postgres.app_url)
        await dumps.load(postgres.admin_url, dump)
        await migrate(postgres.admin_url, postgres.app_url)
        kept = {"EAI_DATABASE_URL": postgres.app_url, "EAI_DATABASE_ADMIN_URL": postgres.admin_url}
        if settings.keys.master_key is None:
            kept["EAI_MASTER_KEY"] = master_key(home)
        fixed = {"EAI_ENV": str(settings.environment), "EAI_HOME": str(settings.home)}
        arrange(home, fixed, kept)
    finally:
        await tree.stop()


def _empty(home: Path) -> None:
    """Leave nothing of a restore that failed: what was there before was nothing."""
    for entry in home.iterdir():
        if entry.is_symlink():
            shutil.rmtree(entry.resolve(), ignore_errors=True)
            entry.unlink()
        elif entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink()


def _refuse_production(settings: Settings) -> None:
    if settings.is_production:
        raise HomeUnusable(
            "this is for development homes; production is backed up by PostgreSQL's own means, "
            "see docs/how-to/back-up-and-restore.md"
        )


async def _revision(admin_url: str) -> str:
    async with await psycopg.AsyncConnection.connect(libpq_conninfo(admin_url)) as connection:
        row = await (await connection.execute("SELECT version_num FROM eai.schema_version")).fetchone()
    if row is None:
        raise PostgresFailed("the database has no schema yet; start `eai up` once")
    return str(row[0])
