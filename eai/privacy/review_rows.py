"""Every query on what stewards were shown of a document, and decided of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import cast, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.types import LargeBinary, Text

from eai.kernel.ids import TenantId
from eai.quarantine.models import Decision, Hold
from eai.quarantine.ports import Place

_QUOTES = ("excerpt", "meaning")
_OF_TEXTS = frozenset({Place.TEXT.value, Place.SOURCE.value})


class Reviewed(NamedTuple):
    """What was found in held versions, and what was written of them, by the id of each hold and decision.

    A hold has the id of its version.
    """

    findings: Mapping[UUID, Sequence[Mapping[str, Any]]]
    comments: Mapping[UUID, str]

    def texts(self) -> list[str]:
        """What quotes the document, and what people wrote of it."""
        found = [finding for findings in self.findings.values() for finding in findings]
        quoted = [finding[name] for finding in found for name in _QUOTES if finding[name]]
        return [*quoted, *self.comments.values()]


class ReviewTextRows:
    """The holds and decisions of one tenant, as far as they quote what somebody wants erased."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def of_versions(self, versions: Collection[UUID]) -> Reviewed:
        """What is kept of the reviews of these versions."""
        holds = select(Hold.version_id, Hold.findings).where(*self._of(Hold, versions))
        decisions = select(Decision.id, Decision.comment).where(*self._of(Decision, versions))
        found, written = await self._session.execute(holds), await self._session.execute(decisions)
        return Reviewed(
            {row.version_id: row.findings for row in found}, {row.id: row.comment for row in written}
        )

    async def rewrite(self, reviewed: Reviewed) -> None:
        """Store these findings and comments instead."""
        for version, findings in reviewed.findings.items():
            await self._change(Hold, Hold.version_id == version, {"findings": list(findings)})
        for decision, comment in reviewed.comments.items():
            await self._change(Decision, Decision.id == decision, {"comment": comment})

    async def forget(self, versions: Collection[UUID]) -> None:
        """Leave nothing in the decisions on these versions by which a text, or a part of one, is known again.

        A digest of a number tells the number to whoever tries them all.
        """
        # As long as a digest, and that of no text.
        nothing = func.sha256(func.convert_to(cast(Decision.id, Text), "UTF8"), type_=LargeBinary)
        values: dict[str, Any] = {
            "findings": [],
            "signature": None,
            "source_hash": nothing,
            "content_hash": nothing,
        }
        await self._change(Decision, Decision.version_id.in_(versions), values)

    def _of(self, table: type[Hold] | type[Decision], versions: Collection[UUID]) -> tuple[Any, Any]:
        return table.tenant_id == self._tenant, table.version_id.in_(versions)

    async def _change(self, table: Any, which: Any, values: Mapping[str, Any]) -> None:
        statement = update(table).where(table.tenant_id == self._tenant, which).values(**values)
        await self._session.execute(statement.execution_options(synchronize_session=False))


def without(reviewed: Reviewed, masked: Callable[[str], str]) -> Reviewed:
    """What of these is another one without the person; nothing quotes the fields of a document any more.

    A quotation may break off in the middle of a name, where nobody finds it.
    """
    findings = {id_: [_without(each, masked) for each in found] for id_, found in reviewed.findings.items()}
    comments = {id_: masked(comment) for id_, comment in reviewed.comments.items()}
    return Reviewed(
        {id_: found for id_, found in findings.items() if found != reviewed.findings[id_]},
        {id_: comment for id_, comment in comments.items() if comment != reviewed.comments[id_]},
    )


def _without(finding: Mapping[str, Any], masked: Callable[[str], str]) -> Mapping[str, Any]:
    if finding["place"] not in _OF_TEXTS:
        return {**finding, "excerpt": "", "meaning": None}
    return {**finding, **{name: finding[name] and masked(finding[name]) for name in _QUOTES}}
