"""One PostgreSQL server per test run, one database per test process, a fresh tenant per test.

The server is started by the process that owns the run (not by xdist's workers), and only when a test
beyond `tests/unit` may need it. Tests never share a tenant, so none has to clean up.
"""

import asyncio
import gc
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import hypothesis
import psycopg
import pytest
import structlog
from psycopg import sql
from pytest_socket import socket_allow_hosts
from sqlalchemy import make_url, text

from eai.integrations.postgres import EmbeddedPostgres
from eai.kernel.ids import TenantId
from eai.platform.conninfo import libpq_conninfo
from eai.platform.database import Database
from eai.platform.logging import ExceptionText
from eai.platform.migrate import migrate

if TYPE_CHECKING:
    from tests.stack import Company, Stack

# What stands in modules beside the tests tells as much when it fails.
pytest.register_assert_rewrite("tests.integration", "tests.invariants", "tests.stack")
_RUN = "EAI_TEST_POSTGRES"
_OVERRIDES = {
    "fsync": "off", "shared_buffers": "256MB", "authentication_timeout": "10s",
    # Every process that tests keeps pools of its own, and so does what it starts.
    "max_connections": "500",
}  # fmt: skip
_started = pytest.StashKey[tuple[EmbeddedPostgres, Path]]()
TEMPLATE = "eai_template"
LONG = ("tests/integration/kills/", "tests/integration/faults/", "tests/integration/litellm/", "tests/e2e/")


@dataclass(frozen=True, slots=True)
class DatabaseUrls:
    """The same database as the application's role and as superuser."""

    app: str
    admin: str


# The same examples on every run: what a change breaks is its own doing. Searching is for its own runs.
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """Start PostgreSQL once for the whole run; xdist's workers inherit where it is."""
    is_worker = hasattr(config, "workerinput")
    only_units = bool(config.args) and all("tests/unit" in argument for argument in config.args)
    if is_worker or only_units or config.option.collectonly:
        return
    home = Path(tempfile.mkdtemp(prefix="eai-tests-"))
    server = EmbeddedPostgres(home, overrides=_OVERRIDES)
    asyncio.run(_start(server))
    config.stash[_started] = (server, home)
    os.environ[_RUN] = f"{server.admin_url} {server.app_url}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits most: the others fill the processors meanwhile, and nobody waits at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """How tests are shared out among processes."""
    # Here, because the library may be absent where one process runs all.
    from tests.scheduling import ByFile  # noqa: PLC0415

    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what `pytest_configure` started."""
    if started := config.stash.get(_started, None):
        server, home = started
        asyncio.run(server.stop())
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """What a test changes about logging ends with it. Drawing local variables would take a second each."""
    structlog.reset_defaults()
    structlog.configure(
        processors=[ExceptionText(show_messages=True), structlog.processors.KeyValueRenderer()]
    )
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> None:
    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)


@contextmanager
def fresh_database() -> Iterator[DatabaseUrls]:
    """A migrated database that nobody else uses, gone at the end."""
    admin, app = os.environ[_RUN].split()
    name = f"eai_{uuid4().hex[:12]}"
    _execute(admin, sql.SQL("CREATE DATABASE {} TEMPLATE {}"), name, TEMPLATE)
    yield DatabaseUrls(app=_at(app, name), admin=_at(admin, name))
    # A connection that was cancelled while it logged in stays until its frames are collected, and to drop
    # a database PostgreSQL waits for everybody who logs in anywhere.
    gc.collect()
    _execute(admin, sql.SQL("DROP DATABASE {} WITH (FORCE)"), name)


@pytest.fixture(scope="session")
def database_urls() -> Iterator[DatabaseUrls]:
    """A migrated database of this test process."""
    with fresh_database() as urls:
        yield urls


@pytest.fixture(scope="session")
async def database(database_urls: DatabaseUrls) -> AsyncIterator[Database]:
    """The product's own way into the database, as the application's role."""
    opened = Database(database_urls.app)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def tenant(database: Database) -> TenantId:
    """A tenant of this test alone."""
    return await create_tenant(database)


@pytest.fixture
async def other_tenant(database: Database) -> TenantId:
    """A second one, for everything that must not cross."""
    return await create_tenant(database)


@pytest.fixture(scope="session")
def stack_urls() -> Iterator[DatabaseUrls]:
    """The database of the running product: its worker takes every job that it finds, so nobody shares it."""
    with fresh_database() as urls:
        yield urls


@pytest.fixture(scope="session")
async def stack(stack_urls: DatabaseUrls, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator["Stack"]:
    """The running product, once per test process."""
    # The web framework and the models are not for tests that need neither.
    from tests.stack import running_stack, settings  # noqa: PLC0415

    async with running_stack(settings(stack_urls.app, tmp_path_factory.mktemp("home"))) as running:
        yield running


@pytest.fixture
async def company(stack: "Stack") -> "Company":
    """A fresh tenant over HTTP, with its administrator."""
    return await stack.company()


async def create_tenant(database: Database) -> TenantId:
    tenant = TenantId(uuid4())
    async with database.transaction(tenant) as session:
        await session.execute(
            text("INSERT INTO eai.tenants (tenant_id, slug, name) VALUES (:id, :slug, 'Test')"),
            {"id": tenant, "slug": f"t-{tenant}"},
        )
    return tenant


async def _start(server: EmbeddedPostgres) -> None:
    await server.start()
    _execute(server.admin_url, sql.SQL("CREATE DATABASE {}"), TEMPLATE)
    await migrate(_at(server.admin_url, TEMPLATE), _at(server.app_url, TEMPLATE))


def _execute(url: str, statement: sql.SQL, *names: str) -> None:
    with psycopg.connect(libpq_conninfo(_at(url, "postgres")), autocommit=True) as connection:
        connection.execute(statement.format(*map(sql.Identifier, names)))


def _at(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)
