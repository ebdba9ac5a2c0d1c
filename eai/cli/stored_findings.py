"""What `eai doctor` reads of every tenant: what examinations found, and what somebody has stopped."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, TypeVar

import psycopg

from eai.cli.finding import DATABASE_FIRST, Finding, nothing_runs
from eai.kernel.ids import PLATFORM_TENANT, TenantId
from eai.platform.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from eai.integrity.models import IntegrityReport

SHOWN_SWITCHES = 20

_Read = TypeVar("_Read")


async def data_agrees(settings: Settings) -> Finding:
    """What the last examination of each tenant found."""
    from eai.integrity.mending_rows import MendingRows  # noqa: PLC0415

    async def read(session: "AsyncSession", tenant: TenantId) -> "Sequence[IntegrityReport | None]":
        return [await MendingRows(session, tenant).last_report()]

    reports = await _of_every_tenant(settings, "stored data", read)
    if isinstance(reports, Finding):
        return reports
    return _agreement([report for report in reports if report is not None], len(reports))


async def switches_are_told(settings: Settings) -> Finding:
    """Which kill switches are engaged. That is somebody's decision, and no fault of the instance."""
    from eai.gateway.switch_rows import SwitchRows  # noqa: PLC0415

    async def read(session: "AsyncSession", tenant: TenantId) -> Sequence[str]:
        whose = "" if tenant == PLATFORM_TENANT else f" of tenant {tenant}"
        return [
            f"{row.scope}{whose} since {row.engaged_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            for row in await SwitchRows(session, tenant).engaged()
        ]

    engaged = await _of_every_tenant(settings, "kill switches", read)
    if isinstance(engaged, Finding):
        return engaged
    if not engaged:
        return Finding("kill switches", ok=True, says="none is engaged")
    more = f", and {len(engaged) - SHOWN_SWITCHES} more" if len(engaged) > SHOWN_SWITCHES else ""
    says = f"engaged, so that no model is called there: {', '.join(engaged[:SHOWN_SWITCHES])}{more}"
    return Finding("kill switches", ok=True, says=says)


async def _of_every_tenant(
    settings: Settings,
    name: str,
    read: "Callable[[AsyncSession, TenantId], Awaitable[Sequence[_Read]]]",
) -> "list[_Read] | Finding":
    """What is read of each tenant; the finding called `name` that says why, where it cannot be."""
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415

    from eai.kernel.errors import Unavailable  # noqa: PLC0415
    from eai.platform.database import Database  # noqa: PLC0415
    from eai.tenants.repository import list_tenant_ids  # noqa: PLC0415

    if settings.database.url is None:
        return nothing_runs(settings, name)
    database = Database(settings.database.url.get_secret_value(), pool_size=1)
    await database.open()
    found: list[_Read] = []
    try:
        for tenant in await list_tenant_ids(database):
            async with database.transaction(tenant) as session:
                found += await read(session, tenant)
    except Unavailable:
        return Finding(name, ok=False, says="not known", mend=DATABASE_FIRST)
    except (psycopg.Error, DBAPIError):
        return Finding(name, ok=False, says="not known", mend="run `eai migrate`")
    finally:
        await database.close()
    return found


def _agreement(reports: "Sequence[IntegrityReport]", tenants: int) -> Finding:
    if not reports:
        return Finding("stored data", ok=True, says="not examined yet; `eai fsck` does")
    kinds = sorted({finding["kind"] for report in reports for finding in report.findings})
    since = min(report.checked_at for report in reports)
    says = f"{len(reports)} of {tenants} tenants examined, none longer ago than {since:%Y-%m-%d %H:%M} UTC"
    if kinds:
        mend = "`eai fsck` says more, `eai fsck --repair` mends what can be mended"
        return Finding("stored data", ok=False, says=f"{says}; found {', '.join(kinds)}", mend=mend)
    return Finding("stored data", ok=True, says=says)
