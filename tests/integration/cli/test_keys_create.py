"""`eai keys create`: how a production database gets its first keys, once."""

import asyncio
import base64
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from eai.platform.conninfo import libpq_conninfo
from tests.conftest import TEMPLATE

Run = tuple[int, str, str]


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A production environment over a migrated database that has no tenant yet."""
    admin, app = (make_url(url) for url in os.environ["EAI_TEST_POSTGRES"].split())
    name = f"eai_{uuid4().hex[:12]}"
    server = libpq_conninfo(admin.set(database="postgres"))
    create, drop = "CREATE DATABASE {} TEMPLATE {}", "DROP DATABASE {} WITH (FORCE)"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL(create).format(sql.Identifier(name), sql.Identifier(TEMPLATE)))
        yield {
            **{name: value for name, value in os.environ.items() if not name.startswith("EAI_")},
            "EAI_ENV": "production",
            "EAI_HOME": str(tmp_path / "home"),
            "EAI_DATABASE_URL": app.set(database=name).render_as_string(hide_password=False),
            "EAI_MASTER_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
            "EAI_AUDIT_ANCHOR_PATH": str(tmp_path / "anchor.jsonl"),
            "EAI_QDRANT_URL": "https://127.0.0.1:1",
            "EAI_QDRANT_API_KEY": "not asked for",
        }
        connection.execute(sql.SQL(drop).format(sql.Identifier(name)))


async def create(environ: dict[str, str]) -> Run:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "eai.cli", "keys", "create", "--json",
        env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    output, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


def texts_below(folder: str) -> list[str]:
    return [path.read_text() for path in Path(folder).rglob("*") if path.is_file()]


async def test_the_first_keys_are_shown_once_and_kept_nowhere(environ: dict[str, str]) -> None:
    code, output, errors = await create(environ)
    assert code == 0, errors
    keys = json.loads(output)
    assert sorted(keys) == ["api_key", "platform_key"]
    assert [text for text in texts_below(environ["EAI_HOME"]) for key in keys.values() if key in text] == []

    code, output, errors = await create(environ)
    assert (code, output) == (1, "")
    assert "tenant default is there already, and its keys were shown when it was made" in errors


async def test_a_database_that_does_not_answer_is_said_so(environ: dict[str, str]) -> None:
    url = make_url(environ["EAI_DATABASE_URL"]).set(database="nobody_made_this")
    code, output, errors = await create(
        {**environ, "EAI_DATABASE_URL": url.render_as_string(hide_password=False)}
    )
    assert (code, output) == (1, "")
    assert "the database does not answer, or is not migrated" in errors
