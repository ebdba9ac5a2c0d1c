"""`eai up`: PostgreSQL, the engine, the API and a worker as processes under one supervisor."""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any

from eai.cli.first_keys import keep_first_keys, read_keys
from eai.cli.home_settings import arrange, master_key, merged
from eai.cli.process_tree import ProcessTree, StaysDown
from eai.integrations.home import HomeFolder
from eai.platform.settings import Settings, load_settings

_READY_WITHIN_S = 60.0
_READY_POLL_S = 0.05
_ADMIN_URL = "EAI_DATABASE_ADMIN_URL"


class UpFailed(Exception):
    """`eai up` cannot go on; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach what was started: the first line of `eai up --json`."""

    url: str
    api_key: str | None
    platform_key: str | None
    console_url: str


Ready = Callable[[Access, bool], Awaitable[None]]
"""Called once everything answers, with whether this was the home's first start."""


class Supervisor:
    """One run of `eai up` on one home. `report` takes sentences for whoever watches."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], *, port: int, report: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._port = port
        self._report = report
        self._home = HomeFolder(settings.home)
        self._tree = ProcessTree(self._home, report)

    async def run(self, ready: Ready) -> None:
        """Start everything, call `ready`, and stay until a signal says stop.

        Raises UpFailed, PostgresFailed, HomeInUse and HomeUnusable.
        """
        self._home.prepare()
        with self._home.lock("supervisor"):
            await _until_signal(self._work(ready))

    async def _work(self, ready: Ready) -> None:
        async with AsyncExitStack() as stack:
            await self._tree.end_orphans()  # one of them may hold the port
            listener = stack.enter_context(_listen(self._port))
            stack.push_async_callback(self._tree.stop)
            environ = await self._prepare_database()
            await self._start_engine(environ)
            is_first_start = await keep_first_keys(self._home, load_settings(environ))
            await self._start_services(environ, listener)
            access = self._access(listener)
            await self._answers(access.url)
            self._home.tell_holder("supervisor", access.url)
            await ready(access, is_first_start)
            await self._tree.watch()

    async def _prepare_database(self) -> dict[str, str]:
        """The environment of the children, with a database that is up and current."""
        kept: dict[str, str] = {}
        if self._settings.keys.master_key is None:
            kept["EAI_MASTER_KEY"] = master_key(self._home)
        if self._settings.database.url is None:
            postgres = await self._tree.start_postgres()
            kept |= {"EAI_DATABASE_URL": postgres.app_url, _ADMIN_URL: postgres.admin_url}
        fixed = {"EAI_ENV": str(self._settings.environment), "EAI_HOME": str(self._settings.home)}
        environ = merged({**self._environ, **fixed}, arrange(self._home, fixed, kept))
        await self._migrate(load_settings(environ))
        # What only migrations need is not handed to processes that answer requests.
        return {name: value for name, value in environ.items() if not name.startswith(_ADMIN_URL)}

    async def _migrate(self, settings: Settings) -> None:
        from eai.platform.migrate import migrate  # noqa: PLC0415, it is slow to import

        app, admin = settings.database.url, settings.database.admin_url
        assert app is not None
        if admin is None:
            self._report(f"{_ADMIN_URL} is not set: the schema is taken as it is")
            return
        await migrate(admin.get_secret_value(), app.get_secret_value())

    async def _start_engine(self, environ: Mapping[str, str]) -> None:
        if self._settings.qdrant.url is None:
            place = ("--folder", self._settings.engine_folder, "--socket", self._settings.engine_socket)
            await self._tree.start("engine", ("-m", "eai.integrations.qdrant.engine", *place), environ)

    async def _start_services(self, environ: Mapping[str, str], listener: socket.socket) -> None:
        # The supervisor holds the port: a restarted API finds it, and callers wait instead of failing.
        descriptor = listener.fileno()
        serve = ("-m", "eai.cli", "serve", "--descriptor", str(descriptor))
        await self._tree.start("api", serve, environ, inherited=(descriptor,))
        await self._tree.start("worker", ("-m", "workers.all"), environ)

    def _access(self, listener: socket.socket) -> Access:
        host, port = listener.getsockname()
        url = f"http://{host}:{port}"
        keys = read_keys(self._home)
        if not keys:
            self._report("tenant default is older than this home; its first keys are not kept here")
        # Until there is a console, the API's own page is the place to look around.
        return Access(url, keys.get("api_key"), keys.get("platform_key"), f"{url}/docs")

    async def _answers(self, url: str) -> None:
        import httpx2  # noqa: PLC0415, not needed before

        deadline = asyncio.get_running_loop().time() + _READY_WITHIN_S
        async with httpx2.AsyncClient(trust_env=False, timeout=_READY_WITHIN_S) as client:
            while asyncio.get_running_loop().time() < deadline:
                with suppress(httpx2.TransportError):
                    if (await client.get(f"{url}/readyz")).is_success:
                        return
                try:
                    self._tree.refuse_what_stays_down()
                except StaysDown as error:
                    raise UpFailed(str(error)) from error
                await asyncio.sleep(_READY_POLL_S)
        raise UpFailed(
            f"not ready within {_READY_WITHIN_S:.0f} s; look into {self._home.logs} and `eai doctor`"
        )


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise UpFailed(f"port {port} cannot be had: {error.strerror}; name another with --port") from error
    listener.listen(1024)
    return listener


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
