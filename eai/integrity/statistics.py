"""Term statistics, counted anew from the chunks that they are of."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from eai.integrity.findings import Found, Kind
from eai.integrity.repository import ExaminationRows
from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.lexical import Language, analyse_document
from eai.knowledge.statistics.tally import Tally
from eai.platform.database import Database

CHUNKS_PER_BATCH = 256
"""How many are analysed at a time, in a thread: the event loop serves others meanwhile."""


@dataclass(frozen=True)
class TermStatistics:
    """What the keyword leg weighs with is what serving chunks say: it reads every text, when asked to."""

    database: Database
    name = str(Kind.STATISTICS_WRONG)

    async def find(self, tenant: TenantId) -> Iterable[Found]:
        async with self.database.transaction(tenant) as session:
            generations = await ExaminationRows(session, tenant).generations()
        counted = [g.id for g in generations if g.is_counted]
        wrong = [each for each in counted if is_something(await missing_from(self.database, tenant, each))]
        return [Found(Kind.STATISTICS_WRONG, str(each)) for each in wrong]


async def missing_from(database: Database, tenant: TenantId, generation: GenerationId) -> Tally:
    """What would have to be added to the statistics of a generation for them to be true, as of one snapshot.

    A sum that may be added at any later time: whoever changes chunks adds the difference as well.
    """
    tally = Tally()
    chunks: list[tuple[int, str, str]] = []
    async with database.transaction(tenant) as session:
        async for what, number, language, said, count, length in ExaminationRows(session, tenant).statistics(
            generation
        ):
            if what == "term":
                tally.terms[number][said] -= count
            elif what == "language":
                tally.chunks[number, language] -= count
                tally.tokens[number, language] -= length
            else:
                chunks.append((number, language, said))
            if len(chunks) == CHUNKS_PER_BATCH:
                await asyncio.to_thread(_count, tally, chunks)
                chunks = []
    await asyncio.to_thread(_count, tally, chunks)
    return tally


def _count(tally: Tally, chunks: Iterable[tuple[int, str, str]]) -> None:
    for number, language, content in chunks:
        tally.add(language, number, analyse_document(content, Language(language)))


def is_something(tally: Tally) -> bool:
    """Whether adding the tally would change anything."""
    return (
        any(count for counts in tally.terms.values() for count in counts.values())
        or any(tally.chunks.values())
        or any(tally.tokens.values())
    )
