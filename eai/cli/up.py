"""What `eai up` says, and to whom."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict

import psycopg
import typer

from eai.cli.demo.api import DemoFailed
from eai.cli.demo.people_keys import seed_sample
from eai.cli.supervisor import Access, Supervisor, UpFailed
from eai.cli.terminal import fail, report
from eai.integrations.home import HomeFolder, HomeInUse, HomeUnusable
from eai.integrations.postgres import PostgresFailed
from eai.platform.logging import configure_logging
from eai.platform.roles import UnsafeRole
from eai.platform.settings import Environment, Settings, SettingsError, load_settings

_FAILURES = (
    UpFailed, PostgresFailed, HomeInUse, HomeUnusable, UnsafeRole, DemoFailed, psycopg.OperationalError,
)  # fmt: skip


def run(environ: Mapping[str, str], *, port: int, as_json: bool, with_demo: bool = False) -> None:
    """Run until a signal; exits with 1 and a sentence when it cannot."""
    try:
        settings = load_settings(environ, default_environment=Environment.DEV)
    except SettingsError as error:
        fail(str(error))
    if settings.is_production:
        fail("`eai up` is for development; in production run `eai serve` and `python -m workers.all`")

    async def ready(access: Access, is_first_start: bool) -> None:
        if with_demo:
            await seed_sample(access, HomeFolder(settings.home), report)
        typer.echo(json.dumps(asdict(access)) if as_json else _words(settings, access, is_first_start))

    # Standard output holds the answer and nothing else.
    configure_logging(level="WARNING", show_messages=True)
    supervisor = Supervisor(settings, environ, port=port, report=report)
    try:
        asyncio.run(supervisor.run(ready))
    except _FAILURES as error:
        fail(str(error))


def _words(settings: Settings, access: Access, is_first_start: bool) -> str:
    lines = [f"eai answers at {access.url}  (its API page: {access.console_url})"]
    if is_first_start:
        lines.append(f"administrator's key of tenant default: {access.api_key}")
        lines.append(f"platform operator's key:               {access.platform_key}")
    lines.append(f"state and logs: {settings.home}; keys: eai keys show --home {settings.home}")
    lines.append("stop with Ctrl-C")
    return "\n".join(lines)
