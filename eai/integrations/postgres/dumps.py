"""Dumps of the embedded database: PostgreSQL's own, whole and of one instant, also of a server that works."""

import asyncio
import os
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from eai.integrations.postgres import binaries
from eai.integrations.postgres.cluster import PostgresFailed
from eai.platform.conninfo import libpq_conninfo

_SCHEMAS = ("eai", "eai_jobs")


async def dump(admin_url: str, file: Path) -> None:
    """Write the database behind `admin_url` to `file`, which must not exist. Raises PostgresFailed."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    schemas = [f"--schema={name}" for name in _SCHEMAS]
    await _run("pg_dump", "--format=custom", *schemas, f"--file={file}", url=admin_url)


async def check(file: Path) -> None:
    """Raise PostgresFailed unless `file` is a dump that can be read."""
    await _run("pg_restore", "--list", str(file), url=None)


async def load(admin_url: str, file: Path) -> None:
    """Fill the database behind `admin_url`, which has roles and no tables, from a dump: all of it or nothing.

    Raises PostgresFailed.
    """
    async with await psycopg.AsyncConnection.connect(libpq_conninfo(admin_url)) as connection:
        for name in _SCHEMAS:
            # Made with the roles, and empty: a schema that holds something is not dropped.
            await connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {}").format(sql.Identifier(name)))
    options = ("--single-transaction", "--exit-on-error", f"--dbname={_without_password(admin_url)}")
    await _run("pg_restore", *options, str(file), url=admin_url)


async def _run(program: str, *arguments: str, url: str | None) -> None:
    target = () if url is None or program != "pg_dump" else (f"--dbname={_without_password(url)}",)
    environ = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    if url is not None:
        environ["PGPASSWORD"] = make_url(url).password or ""
    child = await asyncio.create_subprocess_exec(
        binaries.installed() / program,
        *target,
        *arguments,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    _, errors = await child.communicate()
    if child.returncode != 0:
        raise PostgresFailed(f"{program} failed: {errors.decode(errors='replace').strip()}")


def _without_password(url: str) -> str:
    """As libpq takes it on a command line, which everybody on the machine can read."""
    return libpq_conninfo(make_url(url).set(password=None))
