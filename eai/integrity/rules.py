"""Rules that rows alone must keep."""

from collections.abc import Iterable
from dataclasses import dataclass

from eai.access.classification import level_at
from eai.integrity.findings import Found, Kind
from eai.integrity.repository import ExaminationRows
from eai.kernel.ids import TenantId
from eai.knowledge.chunks.rights_classes import ClassRights
from eai.platform.database import Database


@dataclass(frozen=True)
class RowRule:
    """A statement that finds those who break it."""

    database: Database
    kind: Kind
    statement: str

    @property
    def name(self) -> str:
        return str(self.kind)

    async def find(self, tenant: TenantId) -> Iterable[Found]:
        async with self.database.transaction(tenant) as session:
            ids = await ExaminationRows(session, tenant).broken_rule(self.statement)
        return [Found(self.kind, each) for each in ids]


@dataclass(frozen=True)
class RightsClasses:
    """The digest by which a class is found again is that of the rights it stands for."""

    database: Database
    name = str(Kind.RIGHTS_CLASS_WRONG)

    async def find(self, tenant: TenantId) -> Iterable[Found]:
        async with self.database.transaction(tenant) as session:
            rows = await ExaminationRows(session, tenant).classes()
        wrong = [row for row in rows if bytes(row.digest) != rights_of(row).digest]
        return [
            Found(Kind.RIGHTS_CLASS_WRONG, f"{row.base_id}:{row.number}", (row.base_id, row.number))
            for row in wrong
        ]


def rights_of(row: object) -> ClassRights:
    """What the row of a class stands for."""
    readers, chunk_readers = getattr(row, "readers", None), getattr(row, "chunk_readers", None)
    return ClassRights(
        readers=None if readers is None else frozenset(readers),
        chunk_readers=None if chunk_readers is None else frozenset(chunk_readers),
        classification=level_at(getattr(row, "classification", None)),
        chunk_classification=level_at(getattr(row, "chunk_classification", None)),
        connector=getattr(row, "source_connector", ""),
    )
