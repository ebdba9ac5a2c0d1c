"""`eai demo`: start everything, fill it, ask, check the audit, stop."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

import psycopg
from rich.prompt import Prompt

from eai.cli.demo.api import Api, DemoFailed
from eai.cli.demo.asking import ask, knock, withheld_from
from eai.cli.demo.own_files import (
    COLLEAGUE,
    HOW_RIGHTS_ARE_READ,
    FolderUnusable,
    read_folder,
    suggested_question,
)
from eai.cli.demo.people_keys import administrator_of, seed_home
from eai.cli.demo.proof import prove
from eai.cli.demo.scenario import Question, Scenario, sample
from eai.cli.demo.screen import Screen
from eai.cli.demo.seeded import Seeded
from eai.cli.supervisor import Access, Supervisor, UpFailed
from eai.cli.terminal import fail
from eai.integrations.home import HomeFolder, HomeInUse, HomeUnusable
from eai.integrations.postgres import PostgresFailed
from eai.platform.logging import configure_logging
from eai.platform.roles import UnsafeRole
from eai.platform.settings import Environment, Settings, SettingsError, load_settings

_FAILURES = (
    DemoFailed, UpFailed, PostgresFailed, HomeInUse, HomeUnusable, SettingsError, UnsafeRole,
    psycopg.OperationalError,
)  # fmt: skip
_KEPT_VARIABLE = "EAI_RAG_EMBEDDING_MODEL"
_SHORTEST_INTERVAL_S = "1"


def run(environ: Mapping[str, str], *, home: Path | None, docs: Path | None, question: str | None) -> None:
    """Show everything; exits with 1 and a sentence when something is not as it should be."""
    screen = Screen()
    try:
        scenario = _of_sample(question) if docs is None else _of_folder(screen, docs, question)
    except FolderUnusable as error:
        fail(str(error))
    folder = home or Path(tempfile.mkdtemp(prefix="eai-demo-"))
    temporary = folder if home is None else None
    try:
        own = _own(environ, folder)
        settings = load_settings(own, default_environment=Environment.DEV)
        configure_logging(level="WARNING", show_messages=True)
        asyncio.run(Demo(settings, own, scenario, screen).run())
    except KeyboardInterrupt:
        _remove(temporary)
        raise
    except _Interrupted:
        _remove(temporary)
        fail("the demo was stopped before its end")
    except _FAILURES as error:
        fail(f"{error}\nThe processes' logs are kept in {folder / 'logs'}.")
    _remove(temporary)
    if home is not None:
        screen.say(f"It is all still there: eai up --home {home}; its keys: eai keys show --home {home}")


class Demo:
    """One showing of one scenario."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], scenario: Scenario, screen: Screen
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._scenario = scenario
        self._screen = screen
        self._begun_s = perf_counter()

    async def run(self) -> None:
        """Start, show, stop. Raises DemoFailed and what the supervisor raises."""
        supervisor = Supervisor(self._settings, self._environ, port=0, report=self._screen.remark)
        with ExitStack() as waiting:
            waiting.enter_context(self._screen.waiting("starting PostgreSQL, engine, API and worker …"))
            try:
                await supervisor.run(partial(self._show, waiting))
            except _ShownWhole:
                self._screen.say(f"Everything is stopped again, {self._elapsed_s():.0f} s after the start.")
                return
        raise _Interrupted

    async def _show(self, waiting: ExitStack, access: Access, is_first_start: bool) -> None:
        del is_first_start
        waiting.close()
        self._screen.say(
            f"PostgreSQL, engine, API and worker answer at {access.url} after {self._elapsed_s():.1f} s."
        )
        async with administrator_of(access) as administrator:
            seeded = await self._seed(administrator)
            for question in self._scenario.questions:
                await self._ask(access.url, seeded, question)
            self._screen.proof(await prove(administrator, self._settings.home, self._settings.anchor_path))
        self._screen.say()
        raise _ShownWhole

    async def _seed(self, administrator: Api) -> Seeded:
        begun_s = perf_counter()
        with self._screen.counting(f"ingesting {len(self._scenario.sources)} documents") as progress:
            seeded = await seed_home(administrator, HomeFolder(self._settings.home), self._scenario, progress)
        self._screen.seeded(self._scenario, seeded, perf_counter() - begun_s)
        return seeded

    async def _ask(self, url: str, seeded: Seeded, question: Question) -> None:
        answers = await ask(url, self._scenario, seeded, question)
        self._screen.question(question, answers)
        first, *others = answers
        hidden = [citation for other in others for citation in withheld_from(first, other)]
        if hidden:
            self._screen.closed(await knock(url, seeded, first.person, hidden[0]))

    def _elapsed_s(self) -> float:
        return perf_counter() - self._begun_s


class _Interrupted(Exception):
    """Somebody stopped the demo; there is nothing to look into."""


class _ShownWhole(Exception):
    """Everything was shown: ends the supervisor's run, as any error of `ready` does."""


def _remove(folder: Path | None) -> None:
    """Leave nothing of a temporary home, nor of a database that had to lie elsewhere."""
    if folder is not None:
        shutil.rmtree(HomeFolder(folder).postgres.resolve(), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def _of_sample(question: str | None) -> Scenario:
    """The sample company, asked its own questions, or this one by the same two people."""
    scenario = sample()
    if question is None:
        return scenario
    return replace(scenario, questions=(Question(question, scenario.questions[0].by),))


def _of_folder(screen: Screen, docs: Path, question: str | None) -> Scenario:
    """Somebody's own files; without a question one is asked for, where somebody can answer."""
    found = read_folder(docs)
    screen.say(HOW_RIGHTS_ARE_READ)
    for remark in found.doubtful:
        screen.say(f"  WARNING: {remark}", "bold yellow")
    for reason in found.left_out:
        screen.say(f"  left out: {reason}", "yellow")
    if not any(source.level.exceeds(COLLEAGUE.clearance) for source in found.sources):
        screen.say(
            "Everybody may read all of it: put a file into a subfolder confidential/ to see a difference."
        )
    suggested = suggested_question(found.sources)
    if question is None and sys.stdin.isatty() and sys.stdout.isatty():
        question = Prompt.ask("Your question", default=suggested)
    return found.asking((question or "").strip() or suggested)


def _own(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """What the demo's processes see: nothing that would lead them to somebody's real database or store."""
    ours = {name: value for name, value in environ.items() if not name.startswith("EAI_")}
    kept = {_KEPT_VARIABLE: environ[_KEPT_VARIABLE]} if environ.get(_KEPT_VARIABLE) else {}
    return (
        ours
        | kept
        | {
            "EAI_ENV": "dev",
            "EAI_HOME": str(home.absolute()),
            "EAI_AUDIT_CHECKPOINT_INTERVAL_SECONDS": _SHORTEST_INTERVAL_S,
        }
    )
