"""Children that crash, refuse to stop, or outlive the one who started them."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from inspect import signature
from pathlib import Path

import pytest

from eai.cli import serve
from eai.cli.children import Pauses
from eai.cli.orphans import ProcessRecord
from eai.cli.process_tree import ProcessTree, StaysDown
from eai.integrations.home import HomeFolder
from eai.integrations.processes import started_at, until
from eai.platform import worker

FOREVER = ("-c", "import signal; print('up', flush=True); signal.pause()")
STUBBORN = (
    "-c",
    """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
""",
)


@pytest.fixture
def home() -> Iterator[HomeFolder]:
    with tempfile.TemporaryDirectory(prefix="eai-") as folder:
        home = HomeFolder(Path(folder) / "home")
        home.prepare()
        yield home


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
async def tree(home: HomeFolder, told: list[str]) -> AsyncIterator[ProcessTree]:
    tree = ProcessTree(home, told.append)
    yield tree
    await tree.stop()


def lines(home: HomeFolder, name: str) -> list[str]:
    path = home.logs / f"{name}.log"
    return path.read_text().splitlines() if path.exists() else []


def is_up(home: HomeFolder, name: str, times: int = 1) -> Callable[[], bool]:
    return lambda: lines(home, name).count("up") >= times


def test_pauses_double_up_to_a_bound_and_are_forgotten_after_a_healthy_life() -> None:
    pauses = Pauses()
    assert [pauses.after(0.1) for _ in range(8)] == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert [pauses.after(31.0), pauses.after(0.1)] == [0.25, 0.5]


async def test_a_killed_child_is_started_again(tree: ProcessTree, home: HomeFolder, told: list[str]) -> None:
    await tree.start("api", ("-c", "import os; print('up', flush=True); os.kill(os.getpid(), 9)"), {})
    assert await until(is_up(home, "api", times=2), 20)
    assert told[0] == "api ended (signal SIGKILL); starting it again in 0.25 s"


async def test_a_child_that_never_stays_up_is_named_with_its_last_words(tree: ProcessTree) -> None:
    await tree.start("worker", ("-c", "raise SystemExit('no such table')"), {})

    def is_refused() -> bool:
        try:
            tree.refuse_what_stays_down()
        except StaysDown as error:
            return str(error).splitlines() == [
                "worker does not stay up; its log ends:", *["no such table"] * 3,
            ]  # fmt: skip
        return False

    assert await until(is_refused, 20)


async def test_a_child_gets_only_the_environment_it_is_given(tree: ProcessTree, home: HomeFolder) -> None:
    program = (
        "import os, signal; print(os.environ['GIVEN'], 'HOME' in os.environ, flush=True); signal.pause()"
    )
    await tree.start("api", ("-c", program), {"GIVEN": "yes"})
    assert await until(lambda: lines(home, "api") == ["yes False"], 20)


async def test_callers_are_stopped_before_the_engine(home: HomeFolder, tree: ProcessTree) -> None:
    shared = home.path / "order"
    program = (
        "import signal, sys\n"
        "def stop(*_):\n"
        f"    open({str(shared)!r}, 'a').write(sys.argv[1] + '\\n'); sys.exit()\n"
        "signal.signal(signal.SIGTERM, stop); print('up', flush=True); signal.pause()"
    )
    for name in ("engine", "api"):
        await tree.start(name, ("-c", program, name), {})
        assert await until(is_up(home, name), 20)
    await tree.stop()
    assert shared.read_text().splitlines() == ["api", "engine"]


async def test_a_child_that_ignores_the_request_to_stop_is_killed(home: HomeFolder, told: list[str]) -> None:
    tree = ProcessTree(home, told.append, stop_within_s=0.2)
    await tree.start("api", STUBBORN, {})
    assert await until(is_up(home, "api"), 20)
    await tree.stop()
    assert told == ["api did not stop within 0.2 s and is killed"]


async def test_children_die_with_the_process_that_started_them(home: HomeFolder) -> None:
    program = (
        "import asyncio, pathlib, sys, signal\n"
        "from eai.cli.process_tree import ProcessTree\n"
        "from eai.integrations.home import HomeFolder\n"
        "async def main():\n"
        "    tree = ProcessTree(HomeFolder(pathlib.Path(sys.argv[1])), print)\n"
        f"    await tree.start('api', {STUBBORN!r}, {{}})\n"
        "    print(tree._children[0]._process.pid, flush=True)\n"
        "    signal.pause()\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, home.path, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert await until(is_up(home, "api"), 20)
    parent.kill()
    await parent.wait()
    assert await until(lambda: started_at(child) is None, 10)


async def test_the_next_start_ends_an_orphan_of_the_record(home: HomeFolder) -> None:
    orphan = await asyncio.create_subprocess_exec(sys.executable, *FOREVER, stdout=subprocess.DEVNULL)
    ProcessRecord(home).note("engine", orphan.pid)
    assert await ProcessRecord(home).end_orphans() == ["engine"]
    assert await orphan.wait() == -9
    assert await ProcessRecord(home).end_orphans() == []


async def test_a_stranger_with_a_recorded_id_is_left_alone(home: HomeFolder) -> None:
    ProcessRecord(home).note("engine", os.getpid())
    path = home.run / "processes.json"
    born = started_at(os.getpid())
    assert born is not None
    path.write_text(path.read_text().replace(born, "1"))
    assert await ProcessRecord(home).end_orphans() == []


def test_the_tree_waits_for_longer_than_its_processes_go_on() -> None:
    waits_s = signature(ProcessTree).parameters["stop_within_s"].default
    # The rest is for what was handed back, and for the process to end.
    assert (worker.STOP_WITHIN_S, serve.STOP_WITHIN_S, waits_s) == (5, 5, 8)
