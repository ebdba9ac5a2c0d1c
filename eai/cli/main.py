"""The commands of `eai`. Each imports what it needs when it runs, so that `eai --help` is quick."""

import asyncio
import json
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from eai import __version__
from eai.cli import audit
from eai.cli.terminal import fail
from eai.platform.settings import Environment, SettingsError, process_environ

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
keys = typer.Typer(no_args_is_help=True, help="First keys of an installation, and the keys that seal.")
app.add_typer(keys, name="keys")
app.add_typer(audit.app, name="audit")

Home = Annotated[Path | None, typer.Option(help="Folder with everything of this instance (EAI_HOME).")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]


def _tell_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"eai {__version__}")
        raise typer.Exit


@app.callback()
def eai(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_tell_version, help="Print the version and exit."),
    ] = False,
) -> None:
    """Governed retrieval-augmented generation: decide, prove and record who may see what."""


@app.command()
def up(
    home: Home = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 takes a free one.")] = 8000,
    as_json: AsJson = False,
    with_demo: Annotated[
        bool, typer.Option("--demo/--no-demo", help="Take in the sample documents and their readers.")
    ] = False,
) -> None:
    """Start PostgreSQL, engine, API and worker on this machine, for development; stop with Ctrl-C."""
    from eai.cli.up import run  # noqa: PLC0415

    environ = process_environ() | ({} if home is None else {"EAI_HOME": str(home)})
    run(environ, port=port, as_json=as_json, with_demo=with_demo)


@app.command()
def demo(
    docs: Annotated[
        Path | None, typer.Option(help="Folder of your own .txt, .md and .html files, instead of the sample.")
    ] = None,
    ask: Annotated[str | None, typer.Option(help="The question to ask.")] = None,
    home: Annotated[
        Path | None, typer.Option(help="Folder to keep it all in; a temporary one otherwise.")
    ] = None,
) -> None:
    """Start everything, take documents in, ask the same as two people, verify the audit, stop."""
    from eai.cli.demo.run import run  # noqa: PLC0415

    run(process_environ(), home=home, docs=docs, question=ask)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    trusted_proxies: Annotated[
        str | None, typer.Option(help="Addresses whose X-Forwarded-For is believed, separated by commas.")
    ] = None,
    descriptor: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run one API process, the production way."""
    from eai.bootstrap import NotStarted  # noqa: PLC0415
    from eai.cli.home_settings import read_settings  # noqa: PLC0415
    from eai.cli.serve import listen  # noqa: PLC0415
    from eai.cli.serve import serve as run  # noqa: PLC0415

    try:
        settings = read_settings(process_environ())
        listener = listen(host, port, descriptor)
    except SettingsError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{host}:{port} cannot be had: {error.strerror}")
    try:
        run(settings, listener, trusted_proxies=trusted_proxies)
    except NotStarted as error:
        fail(str(error))


@app.command()
def migrate(home: Home = None) -> None:
    """Create the database's roles where they are missing, and bring its schema up to date."""
    import psycopg  # noqa: PLC0415
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415

    from eai.cli.home_settings import read_settings  # noqa: PLC0415
    from eai.platform.migrate import migrate as bring_up_to_date  # noqa: PLC0415
    from eai.platform.roles import UnsafeRole  # noqa: PLC0415

    try:
        database = read_settings(process_environ(), home=home).database
    except SettingsError as error:
        fail(str(error))
    if database.url is None or database.admin_url is None:
        fail("migrations need EAI_DATABASE_ADMIN_URL (a role that may create roles) and EAI_DATABASE_URL")
    urls = (database.admin_url.get_secret_value(), database.url.get_secret_value())
    try:
        asyncio.run(bring_up_to_date(*urls))
    except (UnsafeRole, psycopg.OperationalError) as error:
        fail(str(error))
    except DBAPIError as error:
        fail(f"a migration failed, and the schema is as it was before: {error.orig}")
    typer.echo("the database is current")


@app.command()
def doctor(home: Home = None, as_json: AsJson = False) -> None:
    """Check everything this instance depends on, and say how to mend what fails."""
    from eai.cli.doctor import run  # noqa: PLC0415

    raise typer.Exit(run(process_environ(), home, as_json=as_json))


@app.command()
def fsck(
    home: Home = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be mended; no model is called.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also read every text and vector: a hundred times as long.")
    ] = False,
    tenant: Annotated[UUID | None, typer.Option(help="One tenant only, by its id.")] = None,
    *,
    adopt_index: Annotated[
        bool,
        typer.Option("--adopt-index", help="This database replaces the one that the index was made of."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare rows, index, audit and ledger; exit code 0 when they agree, 1 when not, 2 when it is not known.

    It may run beside everything else, and starts a home that is stopped for as long as it needs.
    """
    from eai.cli.fsck import run  # noqa: PLC0415

    raise typer.Exit(
        run(
            process_environ(),
            home,
            tenant=tenant,
            repairs=repair,
            is_deep=deep,
            adopts_index=adopt_index,
            as_json=as_json,
        )
    )


@app.command()
def backup(
    target: Annotated[
        Path, typer.Argument(help="A new file, or a folder for one that is named by its time.")
    ],
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Write a development home into one file, which holds its secrets; it may run meanwhile."""
    from eai.cli.backup import back_up  # noqa: PLC0415

    back_up(process_environ(), home, target, as_json=as_json)


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(help="A file that `eai backup` wrote.")],
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Make a new home of a backup, build its index from its rows, and examine it as `eai fsck` does."""
    from eai.cli.backup import restore as run  # noqa: PLC0415

    run(process_environ(), home, source, as_json=as_json)


@keys.command("create")
def create_keys(as_json: AsJson = False) -> None:
    """Create tenant `default` on a new, migrated database, and print its first two keys.

    In production this is the one time that they are shown. `eai up` does it by itself.
    """
    from sqlalchemy.exc import ProgrammingError  # noqa: PLC0415

    from eai.cli.first_keys import first_keys_once  # noqa: PLC0415
    from eai.cli.home_settings import read_settings  # noqa: PLC0415
    from eai.integrations.home import HomeFolder, HomeUnusable  # noqa: PLC0415
    from eai.kernel.errors import Unavailable  # noqa: PLC0415
    from eai.platform.logging import configure_logging  # noqa: PLC0415
    from eai.platform.roles import UnsafeRole  # noqa: PLC0415

    configure_logging(level="WARNING")
    try:
        settings = read_settings(process_environ())
        found = asyncio.run(first_keys_once(HomeFolder(settings.home), settings))
    except (SettingsError, HomeUnusable, UnsafeRole) as error:
        fail(str(error))
    except (Unavailable, ProgrammingError):
        fail("the database does not answer, or is not migrated; `eai doctor` says what is missing")
    if not found:
        fail("tenant default is there already, and its keys were shown when it was made")
    typer.echo(json.dumps(found) if as_json else _told(found))


@keys.command("show")
def show_keys(home: Home = None, as_json: AsJson = False) -> None:
    """Print the keys that the first start of a development home created, and those of the demo's people."""
    from eai.cli.demo.people_keys import read_people_keys  # noqa: PLC0415
    from eai.cli.first_keys import read_keys  # noqa: PLC0415
    from eai.integrations.home import HomeFolder  # noqa: PLC0415
    from eai.platform.settings import load_settings  # noqa: PLC0415

    environ = process_environ() | ({} if home is None else {"EAI_HOME": str(home)})
    try:
        folder = load_settings(environ, default_environment=Environment.DEV).home
        found, people = read_keys(HomeFolder(folder)), read_people_keys(HomeFolder(folder))
    except SettingsError as error:
        fail(str(error))
    except PermissionError:
        fail(f"{folder} may only be read by its owner")
    if not found:
        fail(f"{folder} keeps no keys; `eai up --home {folder}` makes them at its first start")
    if as_json:
        typer.echo(json.dumps(found | ({"people": people} if people else {}), ensure_ascii=False))
    else:
        typer.echo(_told(found | people))


@keys.command("rewrap")
def rewrap_keys(
    home: Home = None,
    tenant: Annotated[UUID | None, typer.Option(help="One tenant only, by its id.")] = None,
    as_json: AsJson = False,
) -> None:
    """Have the workers give tenants new keys for what is sealed; nobody has to wait or to do anything."""
    from eai.bootstrap import NotStarted  # noqa: PLC0415
    from eai.cli.home_settings import read_settings  # noqa: PLC0415
    from eai.cli.rewrapping import request_rewrapping  # noqa: PLC0415
    from eai.platform.logging import configure_logging  # noqa: PLC0415

    configure_logging(level="WARNING")
    try:
        queued = asyncio.run(request_rewrapping(read_settings(process_environ(), home=home), tenant))
    except (SettingsError, NotStarted) as error:
        fail(str(error))
    if not queued:
        fail("there is no such tenant")
    typer.echo(json.dumps({"queued": queued}) if as_json else f"queued; tenants: {queued}")


def _told(found: dict[str, str]) -> str:
    return "\n".join(f"{name}: {key}" for name, key in found.items())
