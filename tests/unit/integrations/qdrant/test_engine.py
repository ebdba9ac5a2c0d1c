import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic

import pytest

from eai.integrations.qdrant.client import EngineVectors
from eai.integrations.qdrant.frames import MAX_FRAME_BYTES, pack
from eai.integrations.qdrant.wire import write_point, write_selector
from eai.knowledge.ports import SearchFilter, SearchRequest, Selector, SpaceId, VectorStoreUnavailable
from tests.engine import Engine, running_engine
from tests.factories.vectors import EAST, GENERATION, MINE, point

SPACE = SpaceId("space_a", 3)
SEARCH = SearchRequest(SearchFilter(MINE, (f"{MINE}:1",)), 10, dense=EAST)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with running_engine(tmp_path) as engine:
        yield engine


@pytest.fixture
async def vectors(engine: Engine) -> AsyncIterator[EngineVectors]:
    vectors = EngineVectors(engine.socket)
    await vectors.ensure_space(SPACE)
    yield vectors
    await vectors.close()


async def outcome_of_a_second(engine: Engine) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "eai.integrations.qdrant.engine"),
        *("--folder", engine.folder, "--socket", engine.socket),
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    return process.returncode, errors.decode()


async def test_the_socket_is_for_its_user_alone(engine: Engine) -> None:
    assert stat.S_IMODE(engine.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(engine.folder.stat().st_mode) == 0o700


async def test_sigterm_stops_it_in_good_order(engine: Engine, vectors: EngineVectors) -> None:
    await vectors.upsert(SPACE, [point(1)])
    assert await engine.stop() == 0
    assert not engine.socket.exists()
    with pytest.raises(VectorStoreUnavailable):
        await vectors.check()
    await engine.start()
    assert await vectors.count(SPACE, GENERATION) == 1


async def test_a_killed_engine_is_an_outage_at_once_and_its_successor_is_found(
    engine: Engine, vectors: EngineVectors
) -> None:
    await vectors.upsert(SPACE, [point(number) for number in range(1, 301)])
    await engine.kill()
    started = monotonic()
    for _ in range(2):
        with pytest.raises(VectorStoreUnavailable):
            await vectors.search(SPACE, SEARCH)
    assert monotonic() - started < 1
    assert engine.socket.exists()
    await engine.start()
    assert len((await vectors.search(SPACE, SEARCH)).dense) == 10
    assert await vectors.count(SPACE, GENERATION) == 300


async def test_calls_in_flight_fail_when_the_engine_dies(engine: Engine, vectors: EngineVectors) -> None:
    os.kill(engine.pid, signal.SIGSTOP)
    calls = [asyncio.create_task(vectors.search(SPACE, SEARCH)) for _ in range(20)]
    calls.append(asyncio.create_task(vectors.upsert(SPACE, [point(1)])))
    await asyncio.sleep(0)
    await engine.kill()
    outcomes = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 5)
    assert [type(outcome) for outcome in outcomes] == [VectorStoreUnavailable] * 21
    await engine.start()
    assert (await vectors.search(SPACE, SEARCH)).dense == ()


async def test_an_engine_that_does_not_answer_in_time_is_an_outage_until_it_does(
    engine: Engine, vectors: EngineVectors
) -> None:
    hasty = EngineVectors(engine.socket, deadline_s=0.2)
    await hasty.check()
    os.kill(engine.pid, signal.SIGSTOP)
    with pytest.raises(VectorStoreUnavailable):
        await hasty.upsert(SPACE, [point(1)])
    os.kill(engine.pid, signal.SIGCONT)
    await vectors.check()
    await hasty.check()
    assert await vectors.count(SPACE, GENERATION) == 0
    await hasty.close()


async def test_without_an_engine_every_call_is_an_outage(tmp_path: Path) -> None:
    vectors = EngineVectors(tmp_path / "nobody.sock")
    with pytest.raises(VectorStoreUnavailable):
        await vectors.check()
    with pytest.raises(VectorStoreUnavailable):
        await vectors.upsert(SPACE, [point(1)])
    await vectors.close()


async def test_many_tasks_share_one_connection_and_get_their_own_answers(vectors: EngineVectors) -> None:
    await vectors.upsert(SPACE, [point(number, rights=f"{MINE}:{number}") for number in range(1, 101)])

    async def own(number: int) -> None:
        scope = SearchFilter(MINE, (f"{MINE}:{number}",))
        hits = await vectors.search(SPACE, SearchRequest(scope, 5, dense=EAST))
        assert [hit.id.int for hit in hits.dense] == [number]
        assert await vectors.count(SPACE, Selector(MINE, ids=(hits.dense[0].id,))) == 1

    await asyncio.gather(*(own(number) for number in range(1, 101)))


async def test_a_cancelled_call_disturbs_no_other(vectors: EngineVectors) -> None:
    await vectors.upsert(SPACE, [point(1)])
    calls = [asyncio.create_task(vectors.search(SPACE, SEARCH)) for _ in range(10)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    for call in calls[1::2]:
        assert [hit.id.int for hit in (await call).dense] == [1]
    assert (await asyncio.gather(*calls[::2], return_exceptions=True))[0].__class__ is asyncio.CancelledError


def test_one_client_serves_several_event_loops(tmp_path: Path) -> None:
    async def use(vectors: EngineVectors) -> None:
        await vectors.ensure_space(SPACE)
        await vectors.upsert(SPACE, [point(1)])
        await vectors.close()

    async def with_engine() -> int:
        async with running_engine(tmp_path) as engine:
            vectors = EngineVectors(engine.socket)
            await asyncio.to_thread(asyncio.run, use(vectors))
            await asyncio.to_thread(asyncio.run, use(vectors))
            count = await vectors.count(SPACE, GENERATION)
            await vectors.close()
            return count

    assert asyncio.run(with_engine()) == 1


async def test_a_reader_does_not_wait_for_a_long_write(vectors: EngineVectors) -> None:
    await vectors.upsert(SPACE, [point(number) for number in range(1, 5_001)])
    deleting = asyncio.create_task(vectors.delete(SPACE, GENERATION))
    counts = [await vectors.count(SPACE, GENERATION)]
    while not deleting.done():
        counts.append(await vectors.count(SPACE, GENERATION))
    await deleting
    assert len([count for count in counts if 0 < count < 5_000]) >= 3
    assert counts == sorted(counts, reverse=True)


MALFORMED = {
    "garbage": b"\x04\x00\x00\x00\xc1\xc1\xc1\xc1",
    "too long": (MAX_FRAME_BYTES + 1).to_bytes(4, "little"),
    "not a request": pack([]),
    "unknown operation": pack([1, 5.0, "drop", "space_a", 3]),
    "private operation": pack([1, 5.0, "close", "space_a", 3]),
    "too few arguments": pack([1, 5.0, "search", "space_a", 3]),
    "no deadline": pack([1, None, "check", "space_a", 3]),
    "wrong argument": pack([1, 5.0, "delete", "space_a", 3, "everything"]),
    "id of 15 bytes": pack([1, 5.0, "delete", "space_a", 3, [MINE, None, None, b"x" * 15]]),
    "vector of 7 bytes": pack([1, 5.0, "search", "space_a", 3, MINE, None, 5, b"x" * 7, None]),
}


@pytest.mark.parametrize("frame", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_malformed_frame_closes_its_connection_and_no_other(
    engine: Engine, vectors: EngineVectors, frame: bytes
) -> None:
    await vectors.upsert(SPACE, [point(1)])
    reader, writer = await asyncio.open_unix_connection(str(engine.socket))
    writer.write(frame)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await asyncio.wait_for(reader.readexactly(1), 5)
    writer.close()
    assert await vectors.count(SPACE, GENERATION) == 1


async def test_a_flood_of_writes_is_held_back_and_all_of_it_is_served(
    engine: Engine, vectors: EngineVectors
) -> None:
    """More than a connection may have queued, sent without waiting for any answer."""
    padding = "x" * 1_000_000
    reader, writer = await asyncio.open_unix_connection(str(engine.socket))
    for number in range(80):
        selector = [padding, *write_selector(GENERATION)[1:]]
        writer.write(pack([number, monotonic() + 60, "delete", SPACE.name, SPACE.dimensions, selector]))
    in_time, points = monotonic() + 60, [write_point(point(1))]
    writer.write(pack([80, in_time, "upsert", SPACE.name, SPACE.dimensions, points]))
    answer = b""
    async with asyncio.timeout(60):
        while not answer.endswith(pack([80, 0, None])):
            answer += await reader.read(65_536)
    assert answer == b"".join(pack([number, 0, None]) for number in range(81))
    writer.close()
    assert await vectors.count(SPACE, GENERATION) == 1


async def test_a_second_engine_on_the_same_folder_is_refused(engine: Engine, vectors: EngineVectors) -> None:
    code, errors = await outcome_of_a_second(engine)
    assert code == os.EX_TEMPFAIL
    assert f"{engine.folder} is owned by process {engine.pid}" in errors
    assert "Traceback" not in errors
    await vectors.check()


async def test_a_second_engine_on_the_same_socket_is_refused(
    engine: Engine, vectors: EngineVectors, tmp_path: Path
) -> None:
    code, errors = await outcome_of_a_second(Engine(tmp_path / "elsewhere", engine.socket))
    assert code == os.EX_TEMPFAIL
    assert f"another process answers on {engine.socket}" in errors
    await vectors.check()


async def test_a_file_in_the_sockets_place_is_not_removed(tmp_path: Path) -> None:
    precious = tmp_path / "engine.sock"
    precious.write_text("precious")
    code, _ = await outcome_of_a_second(Engine(tmp_path / "engine", precious))
    assert code not in {0, None}
    assert precious.read_text() == "precious"


async def test_a_socket_path_longer_than_the_system_takes_works(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 40)
    async with running_engine(home) as engine:
        assert len(str(engine.socket)) > 160
        assert stat.S_ISSOCK(engine.socket.stat().st_mode)
        vectors = EngineVectors(engine.socket)
        await vectors.check()
        await engine.kill()
        await engine.start()
        await vectors.check()
        await vectors.close()


async def test_one_damaged_space_keeps_no_other_from_answering(
    engine: Engine, vectors: EngineVectors
) -> None:
    await vectors.upsert(SPACE, [point(1)])
    damaged = SpaceId("space_b", 3)
    await vectors.ensure_space(damaged)
    await engine.stop()
    (engine.folder / "space_b-3" / "edge_config.json").write_text("{")
    await engine.start()
    assert await vectors.count(SPACE, GENERATION) == 1
    for call in (vectors.count(damaged, GENERATION), vectors.delete(damaged, GENERATION)):
        with pytest.raises(VectorStoreUnavailable):
            await call


def test_the_engine_imports_little() -> None:
    heavy = {"fastapi", "sqlalchemy", "haystack", "qdrant_client", "pydantic", "httpx", "procrastinate"}
    program = "import sys, eai.integrations.qdrant.engine; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert heavy & set(loaded.stdout.split()) == set()


def test_a_stale_socket_of_a_dead_process_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    async def start() -> None:
        async with running_engine(tmp_path) as engine:
            vectors = EngineVectors(engine.socket)
            await vectors.check()
            await vectors.close()

    asyncio.run(start())
