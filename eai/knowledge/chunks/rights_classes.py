"""Each distinct set of rights in a base is a row with a number, which points carry as their key."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification, level_at, rank_of
from eai.kernel.ids import BaseId, TenantId
from eai.knowledge.chunks.class_rows import ClassRows
from eai.knowledge.models import RightsClass


@dataclass(frozen=True, slots=True)
class ClassRights:
    """What guards a chunk, as far as its point can say it. Levels are the rows' own, not effective ones."""

    readers: frozenset[str] | None
    chunk_readers: frozenset[str] | None
    classification: Classification | None
    chunk_classification: Classification | None
    connector: str

    @property
    def is_counted(self) -> bool:
        """Whether chunks of this class enter the term statistics: nobody is kept from them by name."""
        return self.readers is None and self.chunk_readers is None

    @property
    def digest(self) -> bytes:
        """The same for the same rights, whatever their order."""
        parts = (
            _sorted(self.readers),
            _sorted(self.chunk_readers),
            rank_of(self.classification),
            rank_of(self.chunk_classification),
            self.connector,
        )
        return sha256(orjson.dumps(parts)).digest()


async def class_numbers(
    session: AsyncSession, tenant: TenantId, base: BaseId, wanted: Collection[ClassRights]
) -> Mapping[ClassRights, int]:
    """The numbers of these classes; those that are new are made, once.

    Making one holds the base's row until the transaction ends, so that two writers never give two
    numbers to one class or one number to two.
    """
    by_digest = {rights.digest: rights for rights in wanted}
    rows = ClassRows(session, tenant, base)
    known = await rows.numbers(by_digest)
    if len(known) < len(by_digest):
        await rows.hold_base()
        known = await rows.numbers(by_digest)
        known = {**known, **await _make(rows, [r for d, r in by_digest.items() if d not in known])}
    return {rights: known[digest] for digest, rights in by_digest.items()}


async def rights_class_number(  # noqa: PLR0917 - the parts of a class, in the order its row has them
    session: AsyncSession,
    tenant: TenantId,
    base: BaseId,
    readers: Collection[str] | None,
    chunk_readers: Collection[str] | None,
    classification: Classification | None,
    chunk_classification: Classification | None,
    connector: str,
) -> int:
    """The number of the class with exactly these rights; made at first use, once."""
    rights = ClassRights(
        readers=None if readers is None else frozenset(readers),
        chunk_readers=None if chunk_readers is None else frozenset(chunk_readers),
        classification=classification,
        chunk_classification=chunk_classification,
        connector=connector,
    )
    return (await class_numbers(session, tenant, base, [rights]))[rights]


async def class_rights(
    session: AsyncSession, tenant: TenantId, base: BaseId, numbers: Iterable[int]
) -> Mapping[int, ClassRights]:
    """What these numbers stand for."""
    rows = await ClassRows(session, tenant, base).find(set(numbers))
    return {row.number: _rights_of(row) for row in rows}


async def _make(rows: ClassRows, missing: Sequence[ClassRights]) -> Mapping[bytes, int]:
    if not missing:
        return {}
    numbered = dict(enumerate(missing, await rows.highest_number() + 1))
    await rows.insert([_row(number, rights) for number, rights in numbered.items()])
    return {rights.digest: number for number, rights in numbered.items()}


def _row(number: int, rights: ClassRights) -> dict[str, Any]:
    return {
        "number": number,
        "digest": rights.digest,
        "readers": _sorted(rights.readers),
        "chunk_readers": _sorted(rights.chunk_readers),
        "classification": rank_of(rights.classification),
        "chunk_classification": rank_of(rights.chunk_classification),
        "source_connector": rights.connector,
    }


def _rights_of(row: RightsClass) -> ClassRights:
    return ClassRights(
        readers=None if row.readers is None else frozenset(row.readers),
        chunk_readers=None if row.chunk_readers is None else frozenset(row.chunk_readers),
        classification=level_at(row.classification),
        chunk_classification=level_at(row.chunk_classification),
        connector=row.source_connector,
    )


def _sorted(readers: frozenset[str] | None) -> list[str] | None:
    return None if readers is None else sorted(readers)
