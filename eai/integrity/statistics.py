"""Term statistics, counted anew from the chunks that they are of."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from eai.integrity.findings import Found, Kind
from eai.integrity.repository import ExaminationRows
from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.lexical import Language, analyse_document
from eai.knowledge.statistics.tally import Tally
from eai.platform.database import Database


@dataclass(frozen=True)
class TermStatistics:
    """What the keyword leg weighs with is what serving chunks say: it reads every text, when asked to."""

    database: Database
    name = str(Kind.STATISTICS_WRONG)

    async def find(self, tenant: TenantId) -> Iterable[Found]:
        async with self.database.transaction(tenant) as session:
            generations = await ExaminationRows(session, tenant).generations()
        serving = [g.id for g in generations if g.state == "serving" and not g.is_base_deleting]
        wrong = [each for each in serving if is_something(await missing_from(self.database, tenant, each))]
        return [Found(Kind.STATISTICS_WRONG, str(each)) for each in wrong]


async def missing_from(database: Database, tenant: TenantId, generation: GenerationId) -> Tally:
    """What would have to be added to the statistics of a generation for them to be true, as of one snapshot.

    A sum that may be added at any later time: whoever changes chunks adds the difference as well.
    """
    terms: defaultdict[int, Counter[str]] = defaultdict(Counter)
    chunks: Counter[tuple[int, str]] = Counter()
    tokens: Counter[tuple[int, str]] = Counter()
    async with database.transaction(tenant) as session:
        async for what, number, language, said, count, length in ExaminationRows(session, tenant).statistics(
            generation
        ):
            if what == "term":
                terms[number][said] -= count
            elif what == "language":
                chunks[number, language] -= count
                tokens[number, language] -= length
            else:
                found = analyse_document(said, Language(language))
                terms[number].update(found.keys())
                chunks[number, language] += 1
                tokens[number, language] += sum(found.values())
    return Tally(terms, chunks, tokens)


def is_something(tally: Tally) -> bool:
    """Whether adding the tally would change anything."""
    return (
        any(count for counts in tally.terms.values() for count in counts.values())
        or any(tally.chunks.values())
        or any(tally.tokens.values())
    )
