"""Changing the signing key, as an operator does."""

import json
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import orjson
import pytest

from eai.audit.checkpoint import TrustedKeys
from eai.audit.signing import Signing
from eai.kernel.ids import PLATFORM_TENANT
from eai.platform.database import Database
from tests.conftest import DatabaseUrls
from tests.integration.audit.conftest import Superuser


@pytest.fixture
def environ(database_urls: DatabaseUrls, tmp_path: Path) -> dict[str, str]:
    return {
        "EAI_ENV": "test",
        "EAI_HOME": str(tmp_path),
        "EAI_DATABASE_URL": database_urls.app,
        "EAI_MASTER_KEY": b64encode(b"m" * 32).decode(),
    }


def rotate(environ: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eai.cli", "audit", "rotate-key", *options]
    own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(command, env=own | environ, capture_output=True, text=True, check=False)


@pytest.fixture
async def pinned(database: Database, signing: Signing) -> bytes:
    """The public key that an auditor wrote down."""
    async with database.transaction(PLATFORM_TENANT) as session:
        return (await signing.current(session)).public_key().public_bytes_raw()


def test_the_new_key_is_told_endorsed_and_audited(
    environ: dict[str, str], pinned: bytes, superuser: Superuser
) -> None:
    result = rotate(environ, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert told["public_key"] != pinned.hex()
    ((body,),) = superuser.execute(
        "SELECT body FROM eai.audit_events WHERE tenant_id = %(tenant)s ORDER BY seq DESC LIMIT 1",
        tenant=PLATFORM_TENANT,
    )
    event = orjson.loads(bytes(body))  # type: ignore[call-overload]
    assert event["action"] == "audit.key.rotate"
    assert event["resource"] == {"kind": "signing_key", "id": told["key_id"]}
    assert event["facts"]["public_key"] == told["public_key"]


async def test_whoever_pinned_the_old_key_trusts_the_new_one(
    database: Database, signing: Signing, pinned: bytes
) -> None:
    async with database.transaction(PLATFORM_TENANT) as session:
        rotated = await signing.rotate(session)
        records = await signing.records(session)
    assert rotated.public_key in TrustedKeys(records, pinned=[pinned])


def test_without_the_right_master_key_nothing_changes(
    environ: dict[str, str], pinned: bytes, superuser: Superuser
) -> None:
    before = superuser.execute("SELECT count(*) FROM eai.signing_keys")
    stranger = environ | {"EAI_MASTER_KEY": b64encode(b"x" * 32).decode()}
    result = rotate(stranger)
    assert (result.returncode, result.stdout) == (1, "")
    assert "the present signing key cannot be opened" in result.stderr
    assert superuser.execute("SELECT count(*) FROM eai.signing_keys") == before
