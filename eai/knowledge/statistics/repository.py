"""Every query on the statistics of a generation."""

from dataclasses import dataclass

import orjson
from sqlalchemy import select, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.models import Generation
from eai.knowledge.statistics.tally import Tally


@dataclass(frozen=True, slots=True)
class Averages:
    """The average chunk length in terms: as weights are made with it, and as counted; None of nothing."""

    fixed: float
    measured: float | None


class StatisticRows:
    """The statistics of one generation."""

    def __init__(self, session: AsyncSession, tenant: TenantId, generation: GenerationId) -> None:
        self._session = session
        self._keys = {"tenant": tenant, "generation": generation}
        self._mine = (Generation.tenant_id == tenant, Generation.id == generation)

    async def apply(self, tally: Tally) -> None:
        """Add the tally's sums. Rows that come to nothing go; a generation that was dropped has none.

        Holds the generation's row until the transaction ends, also where nothing counts: two writers that
        met term by term in different orders would deadlock, and whoever fixes another average has to see
        the chunks of all who wrote with the former one.
        """
        held = select(Generation.id).where(*self._mine).with_for_update(key_share=True)
        if await self._session.scalar(held) is None or not tally.chunks:
            return
        # One JSON value each: the driver takes 30 times as long to write a thousand terms as an array.
        sums = {"terms": _by_class(tally), "languages": _languages(tally)}
        await self._session.execute(text(_ADD), self._keys | sums)
        if tally.takes_away:
            await self._session.execute(text(_DROP_TERMS), self._keys | sums)
            await self._session.execute(text(_DROP_LANGUAGES), self._keys)

    async def averages(self) -> Averages:
        """Counted over chunks that every principal of the tenant is cleared for."""
        fixed, tokens, chunks = (await self._session.execute(text(_AVERAGES), self._keys)).one()
        return Averages(fixed, float(tokens / chunks) if tokens and chunks else None)

    async def set_average_length(self, average: float) -> None:
        """Fix the average that weights are made with from now on."""
        await self._session.execute(
            update(Generation)
            .where(*self._mine)
            .values(average_length=average)
            .execution_options(synchronize_session=False)
        )


def _by_class(tally: Tally) -> str:
    terms = {
        str(number): {term: count for term, count in counts.items() if count}
        for number, counts in tally.terms.items()
    }
    return orjson.dumps(terms).decode()


def _languages(tally: Tally) -> str:
    rows = [
        {"class": number, "language": language, "chunks": count, "tokens": tally.tokens[number, language]}
        for (number, language), count in tally.chunks.items()
    ]
    return orjson.dumps(rows).decode()


_TERMS = """
    SELECT CAST(class.key AS integer) AS class_number, term.key AS term, CAST(term.value AS integer) AS count
      FROM json_each(CAST(:terms AS json)) class, json_each_text(class.value) term"""
_ADD = f"""
    WITH known_terms AS (
        INSERT INTO eai.kb_term_statistics AS known
               (tenant_id, generation, term, class_number, document_frequency)
        SELECT :tenant, :generation, given.term, given.class_number, given.count FROM ({_TERMS}) given
        ON CONFLICT (tenant_id, generation, term, class_number)
        DO UPDATE SET document_frequency = known.document_frequency + excluded.document_frequency)
    INSERT INTO eai.kb_language_statistics AS known
           (tenant_id, generation, language, class_number, chunks, tokens)
    SELECT :tenant, :generation, given.language, given.class, given.chunks, given.tokens
      FROM json_to_recordset(CAST(:languages AS json))
           AS given (language text, class integer, chunks integer, tokens bigint)
    ON CONFLICT (tenant_id, generation, language, class_number)
    DO UPDATE SET chunks = known.chunks + excluded.chunks,
                  tokens = known.tokens + excluded.tokens"""  # noqa: S608 - constants only
_DROP_TERMS = f"""
    DELETE FROM eai.kb_term_statistics known USING ({_TERMS}) given
     WHERE known.tenant_id = :tenant AND known.generation = :generation
       AND known.term = given.term AND known.class_number = given.class_number
       AND known.document_frequency <= 0"""  # noqa: S608 - constants only
_DROP_LANGUAGES = """
    DELETE FROM eai.kb_language_statistics
     WHERE tenant_id = :tenant AND generation = :generation AND chunks <= 0"""
_AVERAGES = """
    SELECT g.average_length, sum(l.tokens), sum(l.chunks)
      FROM eai.kb_generations g
      JOIN eai.knowledge_bases b ON b.tenant_id = g.tenant_id AND b.id = g.base_id
      LEFT JOIN (eai.kb_language_statistics l
                 JOIN eai.kb_rights_classes c
                   ON c.tenant_id = l.tenant_id AND c.number = l.class_number)
        ON l.tenant_id = g.tenant_id AND l.generation = g.id AND c.base_id = g.base_id
       AND GREATEST(COALESCE(c.classification, b.classification), c.chunk_classification)
           <= (SELECT min(p.clearance) FROM eai.principals p WHERE p.tenant_id = g.tenant_id)
     WHERE g.tenant_id = :tenant AND g.id = :generation
     GROUP BY g.average_length"""
