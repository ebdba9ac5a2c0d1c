"""A home that is backed up while it works, lost, and restored: nothing but its index has to be made anew."""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.test_up import environ

pytestmark = pytest.mark.timeout(300)

TEXT = "Refunds are paid within seven days after the parcel has come back."


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: its name is too long for a socket, and for root nobody else can enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


async def eai(*arguments: str | Path) -> tuple[int, dict[str, Any], str]:
    """Run a command to its end: exit code, its answer in JSON, what it said besides."""
    process = await _spawn(*arguments)
    output, errors = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode is not None
    lines = output.decode().splitlines()
    return process.returncode, json.loads(lines[-1]) if lines else {}, errors.decode()


async def _spawn(*arguments: str | Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "eai.cli", *arguments, env=environ(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


class Up:
    """`eai up` on a home, for as long as the block lasts."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def __aenter__(self) -> httpx2.AsyncClient:
        self._process = await _spawn("up", "--home", self._home, "--port", "0", "--json")
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 100)
        access = json.loads(line)
        headers = {"Authorization": f"Bearer {access['api_key']}"}
        self._client = httpx2.AsyncClient(
            base_url=access["url"], headers=headers, trust_env=False, timeout=60
        )
        return self._client

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()
        self._process.terminate()
        await asyncio.wait_for(self._process.communicate(), 30)


async def _passages(api: httpx2.AsyncClient, base: str) -> list[str]:
    answer = await api.post(f"/v1/knowledge-bases/{base}/query", json={"query": "refunds"})
    assert answer.status_code == 200, answer.text
    return [result["content"] for result in answer.json()["results"]]


async def test_a_lost_home_is_made_anew_from_its_backup(folder: Path) -> None:
    home, again, file = folder / "home", folder / "again", folder / "backup.tar"
    async with Up(home) as api:
        body = {"name": "Kept", "embedding_model": "local-hash-256"}
        base = (await api.post("/v1/knowledge-bases", json=body)).json()["id"]
        await api.post(f"/v1/knowledge-bases/{base}/documents", json={"title": "A", "content": TEXT})
        assert await _passages(api, base) == [TEXT]
        code, told, errors = await eai("backup", file, "--home", home, "--json")
        assert (code, told.get("file")) == (0, str(file)), errors

    shutil.rmtree(home / "engine")
    code, found, _ = await eai("fsck", "--home", home, "--json")
    kinds = [finding["kind"] for tenant in found["tenants"] for finding in tenant["findings"]]
    assert (code, kinds) == (1, ["point_missing"])

    code, told, errors = await eai("restore", file, "--home", again, "--json")
    assert (code, told.get("clean")) == (0, True), errors
    async with Up(again) as api:
        assert await _passages(api, base) == [TEXT]
        verdict = (await api.get("/v1/audit/verify")).json()
        assert (verdict["valid"], verdict["anchor_reachable"]) == (True, True)
        assert (await eai("fsck", "--home", again, "--deep", "--json"))[1]["clean"] is True
    assert (await eai("restore", file, "--home", again))[0] == 1


async def test_a_damaged_backup_leaves_no_home(folder: Path) -> None:
    (folder / "backup.tar").write_bytes(b"\0" * 10_000)
    code, _, errors = await eai("restore", folder / "backup.tar", "--home", folder / "home")
    assert (code, "backup" in errors) == (1, True)
    assert not (folder / "home").exists()


async def test_what_is_no_instance_cannot_be_examined(folder: Path) -> None:
    code, _, errors = await eai("fsck", "--home", folder / "none")
    assert (code, "is no home" in errors) == (2, True)
