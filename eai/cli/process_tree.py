"""The processes of `eai up`: kept running while they should, stopped in order when they should not."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from eai.cli.children import Child, Pauses
from eai.cli.orphans import ProcessRecord
from eai.integrations.home import HomeFolder, HomeInUse, HomeUnusable
from eai.integrations.postgres import EmbeddedPostgres, PostgresFailed

# A child that ends this often before anything was ready will not come up.
_MOST_EARLY_DEATHS = 3


class StaysDown(Exception):
    """A process ends again and again; the text ends with the last lines of its log."""


class ProcessTree:
    """Everything that runs for one home. A child that takes longer than `stop_within_s` to stop is killed."""

    def __init__(
        self, home: HomeFolder, report: Callable[[str], None], *, stop_within_s: float = 8.0
    ) -> None:
        self._home = home
        self._stop_within_s = stop_within_s
        self._report = report
        self._record = ProcessRecord(home)
        self._postgres: EmbeddedPostgres | None = None
        self._children: list[Child] = []
        self._keepers: list[asyncio.Task[None]] = []

    async def end_orphans(self) -> None:
        """End what a killed supervisor left behind."""
        for name in await self._record.end_orphans():
            self._report(f"ended the {name} that an earlier start left behind")

    async def start_postgres(self) -> EmbeddedPostgres:
        """Start the embedded database and keep it running."""
        postgres = EmbeddedPostgres(self._home.path)
        await postgres.start()
        self._postgres = postgres
        for sentence in postgres.arrangements:
            self._report(sentence)
        self._keepers.append(asyncio.create_task(self._keep_postgres(postgres)))
        return postgres

    async def start(
        self,
        name: str,
        arguments: tuple[str | Path, ...],
        environ: Mapping[str, str],
        inherited: tuple[int, ...] = (),
    ) -> None:
        """Start a Python program of ours and keep it running."""
        child = Child(
            name,
            arguments,
            environ=environ,
            log=self._home.logs / f"{name}.log",
            inherited=inherited,
            report=self._report,
            started=self._record.note,
        )
        self._children.append(child)
        await child.start()
        self._keepers.append(asyncio.create_task(child.keep_running()))

    def refuse_what_stays_down(self) -> None:
        """Raise StaysDown when a child has ended too often."""
        for child in self._children:
            if child.deaths >= _MOST_EARLY_DEATHS:
                raise StaysDown(f"{child.name} does not stay up; its log ends:\n{child.last_log_lines()}")

    async def watch(self) -> None:
        """Stay until a process cannot be kept running at all, and raise what prevented it."""
        await asyncio.gather(*self._keepers)

    async def stop(self) -> None:
        """Stop everything, callers before what they call."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        engines = [child for child in self._children if child.name == "engine"]
        callers = [child for child in self._children if child.name != "engine"]
        for group in (callers, engines):
            await asyncio.gather(*(child.stop(self._stop_within_s) for child in group))
        if self._postgres is not None:
            await self._postgres.stop()
        self._record.forget()

    async def _keep_postgres(self, postgres: EmbeddedPostgres) -> None:
        pauses, loop = Pauses(), asyncio.get_running_loop()
        while True:
            born_s = loop.time()
            await postgres.wait()
            is_up = False
            while not is_up:
                pause_s = pauses.after(loop.time() - born_s)
                self._report(f"postgres ended; starting it again in {pause_s:g} s")
                await asyncio.sleep(pause_s)
                is_up = await self._is_restarted(postgres)

    async def _is_restarted(self, postgres: EmbeddedPostgres) -> bool:
        await postgres.stop()
        try:
            await postgres.start()
        except (PostgresFailed, HomeInUse, HomeUnusable) as error:
            self._report(str(error))
            return False
        return True
