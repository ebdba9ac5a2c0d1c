"""`eai fsck`: whether what is stored agrees with itself, and mending what does not."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import typer

from eai.bootstrap import NotStarted, Platform, job_handlers, start
from eai.cli.home_services import awake
from eai.cli.terminal import report
from eai.integrations.home import HomeInUse, HomeUnusable
from eai.integrations.postgres import PostgresFailed
from eai.integrity.errors import VectorStoreNotOurs
from eai.integrity.findings import OF_THE_INDEX, REPAIRABLE, Kind, Report
from eai.integrity.mending import FOLLOWING
from eai.integrity.mending_rows import MendingRows
from eai.integrity.service import NOT_CHECKED
from eai.kernel.errors import EaiError, Unavailable
from eai.kernel.ids import JobId, TenantId
from eai.platform.i18n import Language, messages
from eai.platform.logging import configure_logging
from eai.platform.settings import SettingsError
from eai.platform.worker import Worker
from eai.tenants.repository import list_tenant_ids

CLEAN, FOUND, NOT_DONE = 0, 1, 2

_POLL_S = 0.2
_TELL_EVERY_S = 10.0


class RepairLost(EaiError):
    """A repair did not come to its end; what it had mended stays so."""

    code, status = "job_failed", 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found in one tenant in the end, what was mended before, and why points were let be."""

    report: Report
    mended: Mapping[str, int]
    failed: tuple[str, ...]
    refused: EaiError | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is printed."""
        refused = None if self.refused is None else self.refused.code
        return {**self.report.to_json(), "mended": dict(self.mended), "refused": refused}


def run(
    environ: Mapping[str, str],
    home: Path | None,
    *,
    tenant: UUID | None,
    repairs: bool,
    is_deep: bool,
    adopts_index: bool,
    as_json: bool,
) -> int:
    """Print what was found; 0 when nothing was, 1 when something was, 2 when it cannot be said."""
    configure_logging(level="ERROR")
    try:
        outcomes = asyncio.run(
            _examined(environ, home, tenant, repairs=repairs, is_deep=is_deep, adopts_index=adopts_index)
        )
    except (SettingsError, NotStarted, HomeInUse, HomeUnusable, PostgresFailed) as error:
        report(str(error))
        return NOT_DONE
    except EaiError as error:
        report(f"it could not be examined ({error.code}); `eai doctor` says what is missing")
        return NOT_DONE
    if as_json:
        tenants = [outcome.to_json() for outcome in outcomes]
        typer.echo(json.dumps({"clean": code_of(outcomes) == CLEAN, "tenants": tenants}))
    else:
        typer.echo("\n".join(_lines(outcomes, repairs=repairs, is_deep=is_deep)))
    return code_of(outcomes)


async def _examined(
    environ: Mapping[str, str],
    home: Path | None,
    tenant: UUID | None,
    *,
    repairs: bool,
    is_deep: bool,
    adopts_index: bool,
) -> list[Outcome]:
    async with awake(environ, home) as settings, start(settings) as platform:
        known = await list_tenant_ids(platform.database)
        if tenant is not None and tenant not in known:
            raise NotStarted(f"there is no tenant {tenant}")
        if adopts_index:
            await platform.integrity_jobs.adopt_index()
        chosen = known if tenant is None else [TenantId(tenant)]
        examiner = Examiner(platform)
        return [await examiner.examine(each, repairs=repairs, is_deep=is_deep) for each in chosen]


class Examiner:
    """Examines and repairs tenants of one platform, by a worker of its own where none is given.

    `tell` is given a line about what is waited for.
    """

    def __init__(
        self, platform: Platform, worker: Worker | None = None, *, tell: Callable[[str], None] = report
    ) -> None:
        self._platform = platform
        self._tell = tell
        self._worker = worker or Worker(platform.database, platform.jobs, job_handlers(platform))

    async def examine(self, tenant: TenantId, *, repairs: bool, is_deep: bool) -> Outcome:
        """Examine a tenant, after a repair where one is asked for. Raises Unavailable, RepairLost."""
        mended = await self._repaired(tenant, is_deep=is_deep) if repairs else {}
        examination = await self._platform.integrity.examine(tenant, is_deep=is_deep)
        refused = await self._refused(examination.report, repairs=repairs)
        return Outcome(examination.report, mended, examination.failed, refused)

    async def _refused(self, report: Report, *, repairs: bool) -> VectorStoreNotOurs | None:
        """Why points are still wrong, where they were not to be touched."""
        found = {finding.kind for finding in report.findings}
        if Kind.STORE_NOT_OURS in found:
            return VectorStoreNotOurs()
        if not repairs or not found & OF_THE_INDEX or await self._platform.store_ownership.is_ours():
            return None
        return VectorStoreNotOurs()

    async def _repaired(self, tenant: TenantId, *, is_deep: bool) -> Mapping[str, int]:
        """Repair as a job, which a worker takes up again if this process dies; what was mended."""
        mended: Counter[str] = Counter()
        while (job := await self._platform.integrity_jobs.queue_repair(tenant, is_deep=is_deep)) is None:
            # What an earlier one leaves is ours; that it failed is not.
            earlier = await self._platform.integrity_jobs.pending_repair(tenant)
            if earlier is not None and await self._end(tenant, earlier) == "completed":
                mended.update(await self._mended(tenant))
        if await self._end(tenant, job) != "completed":
            raise RepairLost
        mended.update(await self._mended(tenant))
        await self._follow(tenant)
        return mended

    async def _end(self, tenant: TenantId, job: JobId) -> str | None:
        """How a job ended: done here, unless a live worker has it. Raises Unavailable when it was put off."""
        began = told = time.monotonic()
        while True:
            # Each time, for its holder may be dead: nobody else may be there to take it over.
            await self._worker.run_one(tenant, job)
            state = await self._state(tenant, job)
            if state == "queued":
                raise Unavailable
            if state != "running":
                return state
            if told == began or time.monotonic() - told >= _TELL_EVERY_S:
                told = time.monotonic()
                waited = f"{told - began:.0f} s"
                self._tell(f"tenant {tenant}: waiting for a repair that is under way already, since {waited}")
            await asyncio.sleep(_POLL_S)

    async def _mended(self, tenant: TenantId) -> Mapping[str, int]:
        async with self._platform.database.transaction(tenant) as session:
            last = await MendingRows(session, tenant).last_report()
        return {} if last is None else last.mended

    async def _state(self, tenant: TenantId, job: JobId) -> str | None:
        async with self._platform.database.transaction(tenant) as session:
            return await MendingRows(session, tenant).state_of(job)

    async def _follow(self, tenant: TenantId) -> None:
        """Do what a repair has left to workers, of which there may be none; not in another's index."""
        if await self._platform.store_ownership.is_anothers():
            return
        async with self._platform.database.transaction(tenant) as session:
            waiting = await MendingRows(session, tenant).jobs_waiting(FOLLOWING)
        for job in waiting:
            await self._worker.run_one(tenant, JobId(job))


def code_of(outcomes: Sequence[Outcome]) -> int:
    """The exit code that says what was found."""
    if any(outcome.report.findings or outcome.refused for outcome in outcomes):
        return FOUND
    return NOT_DONE if any(outcome.failed for outcome in outcomes) else CLEAN


def _lines(outcomes: Sequence[Outcome], *, repairs: bool, is_deep: bool) -> Iterator[str]:
    for outcome in outcomes:
        for kind, count in outcome.mended.items():
            yield f"mended  tenant {outcome.report.tenant}: {count} {kind}"
        for finding in outcome.report.findings:
            more = "" if finding.count <= len(finding.ids) else ", …"
            hint = "" if finding.kind in REPAIRABLE else " (not for --repair)"
            yield (
                f"FOUND   tenant {outcome.report.tenant}: {finding.count} {finding.kind}{hint}: "
                f"{', '.join(finding.ids)}{more}"
            )
        if outcome.refused is not None:
            yield f"REFUSED tenant {outcome.report.tenant}: {words_for(outcome.refused)}"
        for name in outcome.failed:
            yield f"FAILED  tenant {outcome.report.tenant}: {name} could not be checked; the log says why"
    yield summary(outcomes)
    yield from advice(outcomes, repairs=repairs)
    if not is_deep:
        yield f"not looked at without --deep: {', '.join(NOT_CHECKED).replace('_', ' ')}"


def advice(outcomes: Sequence[Outcome], *, repairs: bool) -> Iterator[str]:
    """What to do about what was found, a line for each way; none when nothing was."""
    found = {finding.kind for outcome in outcomes for finding in outcome.report.findings}
    if found & REPAIRABLE and not repairs:
        yield "-> `eai fsck --repair` mends what rows can prove, and calls no model for it"
    elif found & REPAIRABLE and not any(outcome.refused for outcome in outcomes):
        yield "-> what is left may have come meanwhile: run `eai fsck --repair` once more"
    if found - REPAIRABLE:
        yield "-> what is not for --repair waits for a person: docs/how-to/examine-and-repair.md says how"


def words_for(error: EaiError) -> str:
    """What a person is told, with the code that scripts know."""
    return f"{error.code}: {messages()[error.code].say(Language.EN, error.details)}"


def summary(outcomes: Sequence[Outcome]) -> str:
    """One line: clean or not, and how much was looked at."""
    words = {CLEAN: "clean", FOUND: "NOT CLEAN", NOT_DONE: "not known"}
    sums = {
        name: sum(outcome.report.examined.get(name, 0) for outcome in outcomes)
        for name in ("documents", "chunks", "audit_events")
    }
    return (
        f"{words[code_of(outcomes)]}: {len(outcomes)} tenants, {sums['documents']} documents, "
        f"{sums['chunks']} chunks, {sums['audit_events']} audit entries"
    )
