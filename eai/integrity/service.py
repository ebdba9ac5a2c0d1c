"""Examines a tenant: every check in turn, and one report of what they found."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from eai.audit.trail import AuditTrail
from eai.integrity import audit_rows, knowledge_rows, ledger_rows, work_rows
from eai.integrity.chain import AuditChain
from eai.integrity.check import Check, Unreadable
from eai.integrity.findings import Found, Report, grouped
from eai.integrity.ownership import StoreOwner, StoreOwnership
from eai.integrity.projection import Projection
from eai.integrity.repository import ExaminationRows
from eai.integrity.rules import RightsClasses, RowRule
from eai.integrity.statistics import TermStatistics
from eai.integrity.strangers import UnknownGenerations
from eai.kernel.errors import Unavailable
from eai.kernel.ids import PLATFORM_TENANT, TenantId
from eai.knowledge.ports import Vectors
from eai.platform.database import Database

AT_ONCE = 2
"""Checks at a time: while one waits for the store, another has the rows looked through."""
NOT_CHECKED = ("vectors", "term_weights", "term_counts", "chunk_texts")
"""What only a deep examination looks at: it reads every text and every vector."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found, one by one, and the report of it. `failed` are checks that could not be carried out."""

    report: Report
    found: tuple[Found, ...]
    failed: tuple[str, ...]


class Integrity:
    """One per process. Reads only."""

    def __init__(
        self, database: Database, vectors: Vectors, trail: AuditTrail, ownership: StoreOwnership
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._trail = trail
        self._ownership = ownership

    def checks(self, tenant: TenantId, *, is_deep: bool) -> Sequence[Check]:
        """What is looked at, the longest first."""
        rules = {**knowledge_rows.RULES, **work_rows.RULES, **ledger_rows.RULES, **audit_rows.RULES}
        if is_deep:
            rules |= knowledge_rows.DEEP_RULES
        checks: list[Check] = [Projection(self._database, self._vectors, is_deep)]
        if is_deep:
            checks.append(TermStatistics(self._database))
        checks += [RowRule(self._database, kind, rule) for kind, rule in rules.items()]
        checks += [RightsClasses(self._database), AuditChain(self._database, self._trail)]
        if tenant == PLATFORM_TENANT:
            checks.append(UnknownGenerations(self._database, self._vectors))
            checks.append(StoreOwner(self._ownership))
        return checks

    async def examine(self, tenant: TenantId, *, is_deep: bool = False) -> Examination:
        """Carry out every check; one that cannot be is named, and keeps no other from being made."""
        turns, checks = asyncio.Semaphore(AT_ONCE), self.checks(tenant, is_deep=is_deep)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_carried_out(check, tenant, turns)) for check in checks]
        outcomes = [task.result() for task in tasks]
        failed = [check.name for check, outcome in zip(checks, outcomes, strict=True) if outcome is None]
        found = {(each.kind, each.id): each for outcome in outcomes for each in outcome or ()}
        async with self._database.transaction(tenant) as session:
            examined = await ExaminationRows(session, tenant).examined()
        not_checked = (*failed, *(() if is_deep else NOT_CHECKED))
        report = Report(tenant, grouped(found.values()), examined, not_checked)
        return Examination(report, tuple(found.values()), tuple(failed))


async def _carried_out(check: Check, tenant: TenantId, turns: asyncio.Semaphore) -> Sequence[Found] | None:
    """What it found; None where it could not be said."""
    async with turns:
        try:
            return list(await check.find(tenant))
        except (Unavailable, Unreadable) as error:
            _log.warning("integrity.not_checked", tenant=str(tenant), check=check.name, why=repr(error))
            return None
