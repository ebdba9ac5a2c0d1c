"""`eai up` as a user meets it: processes, signals, the first line, the keys, the home."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from eai.integrations.postgres import leftovers
from eai.integrations.processes import until

pytestmark = pytest.mark.timeout(300)

_FIRST_LINE_WITHIN_S = 100
_STOPPED_WITHIN_S = 25


@dataclass
class Instance:
    """One running `eai up`."""

    home: Path
    process: asyncio.subprocess.Process
    access: dict[str, str]

    def pids(self) -> dict[str, int]:
        """The processes of the tree by name, the supervisor left out."""
        record = json.loads((self.home / "run" / "processes.json").read_text())
        pids = {name: pid for name, (pid, _) in record.items()}
        return {**pids, "postgres": leftovers.postmaster_pid(self.home / "pg" / "data") or 0}

    async def stop(self) -> int:
        """SIGTERM, and the exit code."""
        if self.process.returncode is None:
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), _STOPPED_WITHIN_S)

    async def get(self, path: str, key: str | None = None) -> httpx2.Response:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
            return await client.get(self.access["url"] + path, headers=headers)


def environ() -> dict[str, str]:
    """Of bases that name no model, which nobody here makes: that loads at once, a larger one in seconds.

    Pages and demo have the one that a newcomer gets.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("EAI_")}
    return own | {"EAI_RAG_EMBEDDING_MODEL": "local-hash-256"}


async def eai(*arguments: str | Path) -> tuple[int, str, str]:
    """Run a command of `eai` to its end: exit code, standard output, standard error."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "eai.cli", *arguments,
        env=environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    output, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


async def start(home: Path) -> Instance:
    log = (home.parent / "errors").open("ab")
    with log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "eai.cli", "up", "--home", home, "--port", "0", "--json",
            env=environ(), stdout=subprocess.PIPE, stderr=log,
        )  # fmt: skip
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), _FIRST_LINE_WITHIN_S)
    assert line, (home.parent / "errors").read_text()
    return Instance(home, process, json.loads(line))


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    # Not tmp_path: its name is too long for a socket, and for root nobody else can enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"


@pytest.fixture(scope="module")
async def first(home: Path) -> AsyncIterator[Instance]:
    """The first start of a home; tests of this file share it and leave it running."""
    instance = await start(home)
    yield instance
    await instance.stop()


async def test_the_first_line_says_how_to_reach_what_is_ready(first: Instance) -> None:
    assert sorted(first.access) == ["api_key", "console_url", "platform_key", "url"]
    assert first.access["url"].startswith("http://127.0.0.1:")
    assert (await first.get("/readyz")).status_code == 200
    async with httpx2.AsyncClient(trust_env=False) as client:
        assert (await client.get(first.access["console_url"])).status_code == 200


async def test_both_keys_of_the_first_start_open_what_they_should(first: Instance) -> None:
    administrator = (await first.get("/v1/me", first.access["api_key"])).json()
    assert administrator["clearance"] == "secret"
    assert "tenant:admin" in administrator["scopes"]
    assert (await first.get("/v1/tenants", first.access["platform_key"])).status_code == 200
    assert (await first.get("/v1/tenants", first.access["api_key"])).status_code == 403


async def test_everything_in_the_home_is_its_owners_alone(first: Instance) -> None:
    def too_open(path: Path) -> bool:
        return stat.S_IMODE(path.lstat().st_mode) & 0o077 != 0 and not path.is_symlink()

    assert [path for path in first.home.iterdir() if too_open(path)] == []
    assert [path for path in (first.home / "secrets").iterdir() if too_open(path)] == []
    assert stat.S_IMODE(first.home.stat().st_mode) == (0o711 if os.geteuid() == 0 else 0o700)


def shown_of(pid: int) -> bytes:
    """What any process of this user may read of another."""
    return b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("environ", "cmdline"))


async def test_no_secret_stands_in_the_environment_or_arguments_of_a_process(first: Instance) -> None:
    kept = [path.read_text() for path in (first.home / "secrets").iterdir() if path.suffix != ".json"]
    for pid in first.pids().values():
        shown = shown_of(pid)
        assert [secret for secret in kept if secret.encode() in shown] == []


async def test_it_answers_on_loopback_under_its_own_names_only(first: Instance) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.get(first.access["url"] + "/v1/me", headers={"Host": "rebound.example"})
    assert answer.status_code in {400, 421}


async def test_keys_can_be_shown_again(first: Instance) -> None:
    code, output, _ = await eai("keys", "show", "--home", first.home, "--json")
    assert code == 0
    assert json.loads(output) == {name: first.access[name] for name in ("api_key", "platform_key")}


async def test_a_home_has_one_supervisor(first: Instance) -> None:
    code, output, errors = await eai("up", "--home", first.home, "--port", "0", "--json")
    assert (code, output) == (1, "")
    assert f"another process already runs the supervisor of {first.home}, as process " in errors
    assert f", and answers at {first.access['url']}" in errors


async def test_doctor_finds_a_running_instance_well(first: Instance) -> None:
    code, output, _ = await eai("doctor", "--home", first.home, "--json")
    found = json.loads(output)
    assert [check["name"] for check in found["checks"] if not check["ok"]] == []
    assert (code, found["ok"]) == (0, True)
    assert [check["name"] for check in found["checks"]] == [
        "settings", "home", "database", "database role", "schema", "engine", "audit anchor", "master key",
        "models", "policies", "workers", "cache", "stored data", "kill switches",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["api", "engine", "worker", "postgres"])
async def test_a_killed_process_comes_back(first: Instance, name: str) -> None:
    before = first.pids()
    os.kill(before[name], signal.SIGKILL)
    assert await until(lambda: first.pids()[name] not in {0, before[name]}, 30)
    async with asyncio.timeout(30):
        while (await first.get("/readyz")).status_code != 200:
            pass
    assert (await first.get("/v1/me", first.access["api_key"])).status_code == 200
    assert {key: pid for key, pid in first.pids().items() if key != name}.items() <= before.items()


@pytest.fixture
def own() -> Iterator[Path]:
    """A home for one test; what runs there is the test's to end."""
    with tempfile.TemporaryDirectory(prefix="eai-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"


async def test_a_port_that_is_taken_is_refused_before_anything_starts(own: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, output, errors = await eai("up", "--home", own, "--port", str(port), "--json")
    assert (code, output) == (1, "")
    assert f"port {port} cannot be had: Address already in use; name another with --port" in errors
    assert not (own / "pg").exists()


async def test_keys_that_were_never_made_are_not_shown(own: Path) -> None:
    code, output, errors = await eai("keys", "show", "--home", own)
    assert (code, output) == (1, "")
    assert f"`eai up --home {own}` makes them" in errors
