"""The product's own processes are killed as in production: thirty seconds of lease, and ten for others."""

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx2
import psycopg
import pytest

from eai.platform.jobs import Pace
from tests.engine import Engine
from tests.integration.faults.installations import Program, serving, working
from tests.integration.faults.outages import eventually
from tests.integration.kills.recoveries import Recoveries
from tests.integration.kills.trials import repeat
from tests.integration.kills.workloads import DeleteBase, Ingest, Reindex, Replace, Scene, Workload
from tests.invariants import Judge
from tests.stack import Caller, Company, Stack

UNDER_WAY = [Ingest("api"), *(kind("worker") for kind in (Ingest, Replace, DeleteBase, Reindex))]


@pytest.mark.timeout(180)
async def test_what_the_dead_held_is_done_by_others_once_its_lease_is_over(
    workless: Stack, company: Company, judge: Judge, recoveries: Recoveries
) -> None:
    chosen = workless.platform.settings
    scenes = [await workload.prepare(company, "local-hash-256") for workload in UNDER_WAY]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with (
            serving(chosen, listener) as api,
            working(chosen) as worker,
            Caller(api.url, company.admin.key) as caller,
            asyncio.TaskGroup() as group,
        ):
            with hanging(workless.engine):
                for workload, scene in zip(UNDER_WAY, scenes, strict=True):
                    group.create_task(ask(workload, caller, scene))
                await eventually(lambda: are_held(judge.admin_url, company.id, len(UNDER_WAY)))
                await kill(api, worker)
    async with recoveries.one("the product's own processes", Pace().lease_s) as recovery, working(chosen):
        await asyncio.gather(*map(repeat, UNDER_WAY, scenes))
        await judge.judge(company.id, within_s=recovery.left_s)
    for workload, scene in zip(UNDER_WAY, scenes, strict=True):
        await workload.judge(scene)


@contextmanager
def hanging(engine: Engine) -> Iterator[None]:
    """Whoever has come as far as the index is held there."""
    os.kill(engine.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(engine.pid, signal.SIGCONT)


async def ask(workload: Workload, caller: Caller, scene: Scene) -> None:
    with suppress(httpx2.TransportError):
        await workload.ask(caller, scene)


async def kill(*programs: Program) -> None:
    for program in programs:
        program.process.kill()
    for program in programs:
        await program.process.wait()


async def are_held(admin_url: str, tenant: str, number: int) -> bool:
    """Whether so many jobs of the tenant are in somebody's hands at this moment."""
    async with await psycopg.AsyncConnection.connect(admin_url) as connection:
        found = await connection.execute(
            "SELECT count(*) FROM eai.jobs WHERE tenant_id = %s AND state = 'running'", [tenant]
        )
        return await found.fetchone() == (number,)
