"""A disk of the running product is full, and has room again: nobody does more than make that (fault 17)."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx2
import psycopg
import pytest

from eai.cli import archive
from eai.integrations.postgres import EmbeddedPostgres
from eai.integrations.qdrant.client import EngineVectors
from eai.integrations.qdrant.shard import RESERVE_BYTES
from eai.platform.settings import Environment, Settings
from tests.e2e.test_backup import eai
from tests.e2e.test_up import start
from tests.integration.faults.disks import MIB, Disk, small_disk
from tests.integration.faults.outages import Load, documents, eventually, ingest, query, under_load
from tests.invariants import Judge
from tests.stack import Caller, Json

pytestmark = pytest.mark.timeout(300)
AGAIN_WITHIN_S = 60.0


@dataclass(frozen=True)
class Installation:
    """One `eai up`, each part of which has a disk of its own."""

    home: Path
    caller: Caller
    tenant: str
    judge: Judge
    rows: Disk
    log: Disk
    index: Disk
    uploads: Disk

    async def base(self) -> str:
        body = {"name": f"base {uuid4().hex[:8]}", "embedding_model": "local-hash-256"}
        return str((await self.caller.made("/v1/knowledge-bases", body))["id"])

    async def document(self, base: str, content: str) -> str:
        body = {"title": content[:40], "content": content}
        return str((await self.caller.made(f"/v1/knowledge-bases/{base}/documents", body))["id"])

    async def is_in_order(self) -> None:
        """Nothing is left to do, every invariant holds, and nothing of the index was damaged."""
        await self.judge.judge(self.tenant, within_s=AGAIN_WITHIN_S)
        code, told, errors = await eai("fsck", "--home", self.home, "--deep", "--json")
        assert (code, told.get("clean")) == (0, True), (told, errors)
        verdict = await self.caller.got("/v1/audit/verify")
        assert (verdict["valid"], verdict["anchor_reachable"]) == (True, True)

    async def has_all(self, base: str, load: Load) -> None:
        """What was acknowledged is there and can be found; what was not foreseen did not happen."""
        assert load.unforeseen == []
        assert load.statuses <= {200, 201, 202, 503}
        await self.is_in_order()
        shown = await documents(self.caller, base)
        acknowledged = dict.fromkeys(load.acknowledged, "ready")
        assert {id_: shown[id_]["status"] for id_ in acknowledged} == acknowledged


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    # Not tmp_path: its name is too long for a socket, and for root nobody else can enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as folder:
        Path(folder).chmod(0o711)
        home = Path(folder) / "home"
        home.mkdir(mode=0o711)
        yield home


@pytest.fixture(scope="module")
async def running(home: Path) -> AsyncIterator[Installation]:
    with ExitStack() as mounted:
        rows, log, index, uploads = [
            mounted.enter_context(small_disk(place, mib))
            for place, mib in (
                (home.parent / "rows", 400),
                (home.parent / "log", 160),
                (home / "engine", 700),
                (home.parent / "uploads", 32),
            )
        ]
        await (await start(home)).stop()
        data = home / "pg" / "data"
        move(data, rows)
        move(data / "pg_wal", log)
        async with AsyncExitStack() as stack:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TMPDIR", str(uploads.folder))
                instance = await start(home)
            stack.push_async_callback(instance.stop)
            key = instance.access["api_key"]
            caller = await stack.enter_async_context(Caller(instance.access["url"], key))
            tenant = (await caller.got("/v1/me"))["tenant"]["id"]
            vectors = EngineVectors(Settings(environment=Environment.DEV, home=home).engine_socket)
            stack.push_async_callback(vectors.close)
            judge = Judge(EmbeddedPostgres(home).admin_url, vectors)
            yield Installation(home, caller, tenant, judge, rows, log, index, uploads)


def move(folder: Path, disk: Disk) -> None:
    """The folder has the disk for itself, and is found where it was."""
    owner = folder.stat()
    os.chown(disk.folder, owner.st_uid, owner.st_gid)
    subprocess.run(["cp", "-a", f"{folder}/.", disk.folder], check=True)
    shutil.rmtree(folder)
    folder.symlink_to(disk.folder)


@contextmanager
def full(disk: Disk, *, leave: int = 0) -> Iterator[None]:
    disk.fill(leave=leave)
    try:
        yield
    finally:
        disk.clear()


async def test_an_upload_for_which_there_is_no_room_is_refused_and_leaves_nothing(
    running: Installation,
) -> None:
    base, free = await running.base(), running.uploads.free

    async def upload(key: str) -> httpx2.Response:
        # More than is kept in memory; what is empty of words takes no time.
        content = b"Refunds are paid within a week.\n" + b"\n" * (3 * MIB)
        return await running.caller.post(
            f"/v1/knowledge-bases/{base}/documents",
            files={"file": (f"{key}.txt", content, "text/plain")},
            headers={"idempotency-key": key},
        )

    assert (await upload("before")).status_code == 202
    with full(running.uploads, leave=2 * MIB):
        for _ in range(3):
            answer = await upload("refused")
            assert (answer.status_code, answer.json()["error"]["code"]) == (507, "storage_full")
            assert (answer.json()["error"]["retryable"], answer.headers["retry-after"]) == (True, "60")
            # Whoever is refused takes no room from those who come after.
            assert running.uploads.free == 2 * MIB
        assert (await ingest(running.caller, base, "Small")).status_code == 201
    assert (await upload("refused")).status_code == 202
    await running.is_in_order()
    shown = await documents(running.caller, base)
    told = sorted((each["title"], each["status"]) for each in shown.values())
    assert told == [("Small", "ready"), ("before.txt", "ready"), ("refused.txt", "ready")]
    assert running.uploads.free == free


async def test_a_full_disk_of_the_rows_costs_only_refusals(running: Installation) -> None:
    base = await running.base()
    await running.document(base, "Refunds are paid within a week.")
    async with under_load(running.caller, base) as load:
        await load.goes_on()
        with full(running.rows):
            await eventually(lambda: load.submissions[503] >= 3, AGAIN_WITHIN_S)
        await load.goes_on()
    await running.has_all(base, load)


async def test_a_full_disk_of_the_write_ahead_log_costs_only_refusals(running: Installation) -> None:
    base = await running.base()
    await running.document(base, "Refunds are paid within a week.")
    async with under_load(running.caller, base) as load:
        await load.goes_on()
        with full(running.log):
            await use_up_the_log(running.judge.admin_url)
            await load.is_refused()
        await load.goes_on()
    await running.has_all(base, load)


async def use_up_the_log(admin_url: str) -> None:
    """Begin one file of it after the other, until there is none."""
    with suppress(psycopg.Error):
        async with await psycopg.AsyncConnection.connect(admin_url, autocommit=True) as connection:
            while True:
                await connection.execute("SELECT pg_logical_emit_message(false, 'test', 'full')")
                await connection.execute("SELECT pg_switch_wal()")


async def test_an_index_with_hardly_any_room_takes_nothing_in_and_answers_and_forgets(
    running: Installation,
) -> None:
    base = await running.base()
    kept = await running.document(base, "Refunds are paid within a week.")
    doomed = await running.document(base, "Refunds are paid within a year.")
    with full(running.index, leave=RESERVE_BYTES // 2):
        refused = await ingest(running.caller, base, "Refused")
        assert (refused.status_code, code_of(refused)) == (503, "vector_store_unavailable")
        waiting = await ingest(running.caller, base, "Waiting", prefer="respond-async")
        assert waiting.status_code == 202
        deleted = await running.caller.delete(f"/v1/knowledge-bases/{base}/documents/{doomed}")
        assert (deleted.status_code, deleted.json()["status"]) == (200, "deleted")
        assert await hits(running, base) == {kept}
    await running.is_in_order()
    assert await hits(running, base) == {kept, waiting.json()["id"]}


async def test_an_index_without_any_room_loses_nothing(running: Installation) -> None:
    base = await running.base()
    kept = await running.document(base, "Refunds are paid within a week.")
    doomed = [await running.document(base, f"Refunds are paid within {n} years.") for n in range(3)]
    async with under_load(running.caller, base) as load:
        await load.goes_on()
        with full(running.index):
            await eventually(lambda: load.submissions[503] >= 3, AGAIN_WITHIN_S)
            for document in doomed:
                deleted = await running.caller.delete(f"/v1/knowledge-bases/{base}/documents/{document}")
                assert deleted.status_code in {200, 503}
        await load.goes_on()
    await running.has_all(base, load)
    shown = await documents(running.caller, base)
    assert kept in shown
    assert not {*doomed} & {*shown}


async def test_a_backup_for_which_there_is_no_room_leaves_none(running: Installation) -> None:
    file = running.uploads.folder / "backup.tar"
    before = {*running.uploads.folder.iterdir()}
    with full(running.uploads, leave=MIB // 4):
        code, _, errors = await eai("backup", file, "--home", running.home, "--json")
        assert (code, "room" in errors or "space" in errors) == (1, True), errors
    assert {*running.uploads.folder.iterdir()} == before
    code, _, errors = await eai("backup", file, "--home", running.home, "--json")
    assert code == 0, errors
    archive.check(file)
    file.unlink()


def code_of(answer: httpx2.Response) -> str:
    return str(answer.json()["error"]["code"])


async def hits(running: Installation, base: str) -> set[str]:
    answer: Json = (await query(running.caller, base, "refunds")).json()
    return {hit["document_id"] for hit in answer["results"]}
