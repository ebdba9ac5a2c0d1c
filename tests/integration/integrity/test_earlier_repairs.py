"""A repair beside one that was begun before, whose process is dead, alive, or was told to wait."""

import asyncio
from uuid import UUID

import pytest

from eai.cli.fsck import Examiner
from eai.kernel.errors import Unavailable
from eai.kernel.ids import JobId
from eai.knowledge.ports import VectorStoreUnavailable
from eai.platform.jobs import JobRun
from tests.integration.integrity.corruptions import lose_one
from tests.integration.integrity.seeded import Seeded

_LATE = "UPDATE eai.jobs SET lease_until = now() + interval '2 seconds' WHERE id = %(job)s"
_REPAIRS = (
    "SELECT id, state FROM eai.jobs WHERE tenant_id = %(tenant)s AND name = 'integrity.repair' "
    "AND state IN ('queued', 'running')"
)


class Told(list[str]):
    """What was told, and when something was."""

    def __init__(self) -> None:
        super().__init__()
        self.something = asyncio.Event()

    def __call__(self, line: str) -> None:
        self.append(line)
        self.something.set()


async def _queued(seeded: Seeded) -> JobId:
    job = await seeded.platform.integrity_jobs.queue_repair(seeded.tenant, is_deep=False)
    assert job is not None
    return job


async def _claimed(seeded: Seeded, job: JobId) -> JobRun:
    async with seeded.platform.database.transaction(seeded.tenant) as session:
        run = await seeded.platform.jobs.claim(session, seeded.tenant, job)
    assert run is not None
    return run


def _examiner(seeded: Seeded, told: Told) -> Examiner:
    return Examiner(seeded.platform, seeded.worker, tell=told)


@pytest.mark.parametrize("was_begun", [False, True])
async def test_a_repair_that_nobody_will_end_is_taken_up(seeded: Seeded, was_begun: bool) -> None:
    job = await _queued(seeded)
    if was_begun:
        await _claimed(seeded, job)
        await seeded.rows(_LATE, job=job)
    await lose_one(seeded)
    told = Told()
    async with asyncio.timeout(30):
        outcome = await _examiner(seeded, told).examine(seeded.tenant, repairs=True, is_deep=False)
    assert outcome.mended == {"point_missing": 1}
    assert outcome.report.findings == ()
    assert await seeded.rows(_REPAIRS) == []
    assert bool(told) is was_begun


async def test_a_repair_that_a_worker_is_at_is_waited_for_and_that_is_told(seeded: Seeded) -> None:
    run = await _claimed(seeded, await _queued(seeded))
    told = Told()
    examiner = _examiner(seeded, told)
    asked = asyncio.create_task(examiner.examine(seeded.tenant, repairs=True, is_deep=False))
    async with asyncio.timeout(30):
        await told.something.wait()
        assert told == [f"tenant {seeded.tenant}: waiting for a repair that is under way already, since 0 s"]
        assert [each["state"] for each in await seeded.rows(_REPAIRS)] == ["running"]
        await lose_one(seeded)
        await seeded.platform.integrity_jobs.repair(run)
        outcome = await asked
    assert outcome.mended == {"point_missing": 1}
    assert outcome.report.findings == ()


async def test_a_repair_that_the_engine_kept_from_ending_is_ended_by_the_next(
    seeded: Seeded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise VectorStoreUnavailable

    await lose_one(seeded)
    examiner = _examiner(seeded, Told())
    with monkeypatch.context() as patched:
        patched.setattr(type(seeded.vectors), "upsert", down)
        for _ in range(2):
            with pytest.raises(Unavailable):
                async with asyncio.timeout(30):
                    await examiner.examine(seeded.tenant, repairs=True, is_deep=False)
    (waiting,) = await seeded.rows(_REPAIRS)
    assert waiting["state"] == "queued"
    async with asyncio.timeout(30):
        outcome = await examiner.examine(seeded.tenant, repairs=True, is_deep=False)
    assert outcome.mended == {"point_missing": 1}
    assert await seeded.rows(_REPAIRS) == []
    (row,) = await seeded.rows("SELECT state FROM eai.jobs WHERE id = %(job)s", job=UUID(str(waiting["id"])))
    assert row["state"] == "completed"
