"""Processes that cannot begin say so in one sentence and end with 1."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(60)

PROGRAMS = {"api": ("eai.cli", "serve", "--port", "0"), "worker": ("workers.all",)}
USABLE = {
    "EAI_MASTER_KEY": "bWFzdGVyIGtleSBvZiB0aGlydHktdHdvIGJ5dGVzISE=",
    "EAI_AUDIT_ANCHOR_PATH": "/nowhere/anchor.jsonl",
    "EAI_DATABASE_URL": "postgresql://eai_app:pw@127.0.0.1:1/eai",
    "EAI_DATABASE_POOL_TIMEOUT_SECONDS": "0.5",
    "EAI_QDRANT_URL": "https://127.0.0.1:1",
    "EAI_QDRANT_API_KEY": "not asked for",
}


async def run(program: str, environ: dict[str, str], home: Path) -> tuple[int | None, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("EAI_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *PROGRAMS[program],
        env={**others, "EAI_HOME": str(home), **environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    output, errors = await asyncio.wait_for(process.communicate(), 50)
    assert output == b""
    return process.returncode, errors.decode()


@pytest.mark.parametrize("program", PROGRAMS)
async def test_settings_that_cannot_be_used(program: str, tmp_path: Path) -> None:
    code, errors = await run(program, {**USABLE, "EAI_QDRANT_API_KEY": ""}, tmp_path)
    assert code == 1
    assert errors.splitlines() == [
        "eai: the settings cannot be used:",
        "  - EAI_QDRANT_API_KEY (or EAI_QDRANT_API_KEY_FILE) is required in production",
    ]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_database_that_cannot_be_reached(program: str, tmp_path: Path) -> None:
    code, errors = await run(program, USABLE, tmp_path)
    assert code == 1
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == (
        "eai: PostgreSQL cannot be reached under EAI_DATABASE_URL, or refuses its password or database; "
        "`eai doctor` shows its own words"
    )
