"""A home that is backed up while it works, lost, and restored: nothing but its index has to be made anew."""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from eai.integrations.postgres import EmbeddedPostgres
from tests.e2e.test_up import environ
from tests.integration.faults.outages import eventually

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


async def _spawn(*arguments: str | Path, **more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "eai.cli", *arguments, env=environ() | more,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


class Up:
    """`eai up` on a home, for as long as the block lasts."""

    def __init__(self, home: Path, **more: str) -> None:
        self._home, self._environ = home, more

    async def __aenter__(self) -> httpx2.AsyncClient:
        arguments = ("up", "--home", self._home, "--port", "0", "--json")
        self._process = await _spawn(*arguments, **self._environ)
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
    body = {"query": "refunds", "top_k": 100}
    answer = await api.post(f"/v1/knowledge-bases/{base}/query", json=body)
    assert answer.status_code == 200, answer.text
    return sorted(result["content"] for result in answer.json()["results"])


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


async def test_a_home_that_was_backed_up_in_the_middle_of_a_reindex_is_consistent(folder: Path) -> None:
    """Fault 42: what answers is the old generation, until the reindex has gone on to its end."""
    home, again, file = folder / "home", folder / "again", folder / "backup.tar"
    async with Up(home, EAI_EMBEDDINGS_BATCH_SIZE="1") as api:
        # So small that each document is a batch of its own.
        body = {"name": "Kept", "embedding_model": "local-hash-256", "chunk_size": 200}
        base = (await api.post("/v1/knowledge-bases", json=body)).json()["id"]
        path = f"/v1/knowledge-bases/{base}"
        made = [await _document(api, base, number) for number in range(3)]
        before = await _passages(api, base)
        assert len(before) > len(made)
        async with _held(home, made[1]):
            job = (await api.post(f"{path}/reindex", json={})).json()
            await eventually(lambda: _has_done(api, f"{path}/reindex-jobs/{job['job_id']}", 1), 60)
            code, _, errors = await eai("backup", file, "--home", home, "--json")
            assert code == 0, errors
            (now,) = (await api.get(f"{path}/reindex-jobs")).json()["data"]
            assert (now["status"], now["documents_done"]) == ("running", 1)

    code, told, errors = await eai("restore", file, "--home", again, "--json")
    assert (code, told.get("clean")) == (0, True), errors
    old, new = job["from"]["generation"], job["to"]["generation"]
    assert await _generations(again) == {old: ("serving", True), new: ("building", False)}
    async with Up(again) as api:
        assert await _passages(api, base) == before
        await eventually(lambda: _has_done(api, f"{path}/reindex-jobs/{job['job_id']}", 3), 60)
        await eventually(lambda: _is_searched_in(api, path, new), 60)
        assert await _passages(api, base) == before
        code, told, errors = await eai("fsck", "--home", again, "--deep", "--json")
        assert (code, told["clean"]) == (0, True), errors
    assert await _generations(again) == {old: ("retired", False), new: ("serving", True)}


async def _document(api: httpx2.AsyncClient, base: str, number: int) -> str:
    content = " ".join(f"Refunds of part {number}.{each} are paid." for each in range(20))
    body = {"title": f"Part {number}", "content": content}
    answer = await api.post(f"/v1/knowledge-bases/{base}/documents", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@asynccontextmanager
async def _held(home: Path, document: str) -> AsyncIterator[None]:
    """Whoever is to keep something of it waits."""
    async with await psycopg.AsyncConnection.connect(EmbeddedPostgres(home).admin_url) as connection:
        await connection.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [document])
        yield
        await connection.rollback()


async def _has_done(api: httpx2.AsyncClient, path: str, number: int) -> bool:
    return bool((await api.get(path)).json()["documents_done"] == number)


async def _is_searched_in(api: httpx2.AsyncClient, path: str, generation: str) -> bool:
    return bool((await api.get(path)).json()["vector_generation"] == generation)


async def _generations(home: Path) -> dict[str, tuple[str, bool]]:
    """Of a home that is stopped: how each stands, and whether it is the one that answers."""
    server = EmbeddedPostgres(home)
    await server.start()
    try:
        async with await psycopg.AsyncConnection.connect(server.admin_url) as connection:
            found = await connection.execute(
                "SELECT g.id::text, g.state, g.id = b.vector_generation FROM eai.kb_generations g"
                " JOIN eai.knowledge_bases b ON (b.tenant_id, b.id) = (g.tenant_id, g.base_id)"
            )
            return {id_: (state, answers) for id_, state, answers in await found.fetchall()}
    finally:
        await server.stop()


async def test_a_damaged_backup_leaves_no_home(folder: Path) -> None:
    (folder / "backup.tar").write_bytes(b"\0" * 10_000)
    code, _, errors = await eai("restore", folder / "backup.tar", "--home", folder / "home")
    assert (code, "backup" in errors) == (1, True)
    assert not (folder / "home").exists()


async def test_what_is_no_instance_cannot_be_examined(folder: Path) -> None:
    code, _, errors = await eai("fsck", "--home", folder / "none")
    assert (code, "is no home" in errors) == (2, True)
