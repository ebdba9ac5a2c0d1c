"""The whole of `eai up` ends in the middle of its work, in good order or by `kill -9` (faults 1 and 33)."""

import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from eai.integrations.postgres import EmbeddedPostgres
from eai.integrations.processes import started_at, until
from eai.integrations.qdrant.client import EngineVectors
from eai.platform.settings import Environment, Settings
from tests.e2e.test_up import Instance, eai, start
from tests.integration.faults.outages import Load, documents, let_leases_run_out, query, under_load
from tests.invariants import Judge
from tests.stack import Caller

pytestmark = pytest.mark.timeout(300)


async def test_keys_and_what_was_acknowledged_outlive_ends_of_every_kind() -> None:
    # Not tmp_path: its name is too long for a socket, and for root nobody else can enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as folder:
        Path(folder).chmod(0o711)
        home = Path(folder) / "home"
        async with started(home) as instance:
            keys = keys_of(instance)
            async with administrator(instance) as caller:
                body = {"name": "Faults", "embedding_model": "local-hash-256"}
                base = (await caller.made("/v1/knowledge-bases", body))["id"]
                assert (await query(caller, base, "refunds")).json()["results"] == []
                async with under_load(caller, base) as stopped:
                    await stopped.goes_on()
                    pids = instance.pids()
                    assert await instance.stop() == 0
        assert [pid for pid in pids.values() if started_at(pid)] == []
        await doctor_says_that_it_is_stopped(home)

        async with started(home) as instance:
            assert keys_of(instance) == keys
            async with administrator(instance) as caller, under_load(caller, base) as killed:
                await killed.goes_on()
                await kill(instance)
        assert stopped.lost == killed.lost == 6
        assert stopped.unforeseen == killed.unforeseen == []

        # As if that had happened between the tenant's commit and the moment its keys were known to be good.
        (home / "secrets" / "keys.json").rename(home / "secrets" / "keys.draft.json")
        async with started(home) as instance:
            assert keys_of(instance)["api_key"] == keys["api_key"]
            await keeps_all_of(instance, base, stopped, killed)
            # Whoever loses the supervisor alone loses all of it, and leaves nothing behind.
            pids = instance.pids()
            instance.process.kill()
            await instance.process.wait()
            assert await until(lambda: not [pid for pid in pids.values() if started_at(pid)], 20)


@asynccontextmanager
async def started(home: Path) -> AsyncIterator[Instance]:
    """It is not left running, whatever became of it."""
    instance = await start(home)
    try:
        yield instance
    finally:
        await instance.stop()


def keys_of(instance: Instance) -> dict[str, str]:
    return {name: instance.access[name] for name in ("api_key", "platform_key")}


async def doctor_says_that_it_is_stopped(home: Path) -> None:
    code, output, _ = await eai("doctor", "--home", home)
    assert code == 1
    assert "FAIL  engine" in output
    assert f"start `eai up --home {home}`" in output


async def kill(instance: Instance) -> None:
    """End every process of the tree at once."""
    pids = [*instance.pids().values(), instance.process.pid]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    await instance.process.wait()
    assert await until(lambda: not [pid for pid in pids if started_at(pid)], 20)


async def keeps_all_of(instance: Instance, base: str, *loads: Load) -> None:
    acknowledged = {id_: title for load in loads for id_, title in load.acknowledged.items()}
    async with administrator(instance) as caller:
        tenant = (await caller.got("/v1/me"))["tenant"]["id"]
        admin_url = EmbeddedPostgres(instance.home).admin_url
        vectors = EngineVectors(Settings(environment=Environment.DEV, home=instance.home).engine_socket)
        await let_leases_run_out(admin_url, tenant)
        await Judge(admin_url, vectors).judge(tenant)
        await vectors.close()
        shown = await documents(caller, base)
        assert {id_: shown[id_]["status"] for id_ in acknowledged} == dict.fromkeys(acknowledged, "ready")
        for id_ in [list(load.acknowledged)[-1] for load in loads]:
            hits = (await query(caller, base, acknowledged[id_].replace(" ", ""))).json()["results"]
            assert id_ in {hit["document_id"] for hit in hits}
        verdict = await caller.got("/v1/audit/verify")
        assert (verdict["valid"], verdict["anchor_reachable"]) == (True, True)


@asynccontextmanager
async def administrator(instance: Instance) -> AsyncIterator[Caller]:
    async with Caller(instance.access["url"], instance.access["api_key"]) as caller:
        yield caller
