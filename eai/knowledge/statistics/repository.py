"""Every query on the statistics of a generation."""

from collections.abc import Sequence

from sqlalchemy import func, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.models import Generation, KnowledgeBase, LanguageStatistic, RightsClass
from eai.knowledge.statistics.tally import Tally


class StatisticRows:
    """The statistics of one generation."""

    def __init__(self, session: AsyncSession, tenant: TenantId, generation: GenerationId) -> None:
        self._session = session
        self._tenant = tenant
        self._generation = generation
        self._keys = {"tenant": tenant, "generation": generation}

    async def apply(self, tally: Tally) -> None:
        """Add the tally's sums. Rows that come to nothing go.

        Holds the generation's row until the transaction ends: two writers that met term by term in
        different orders would deadlock.
        """
        terms = [(term, number, count) for (term, number), count in tally.terms.items() if count]
        languages = [
            (*key, count, tally.tokens[key])
            for key, count in tally.chunks.items()
            if count or tally.tokens[key]
        ]
        if not languages and not terms:
            return
        await self.lock()
        if terms:
            await self._apply(_ADD_TERMS, _DROP_TERMS, terms, ("terms", "classes", "counts"))
        if languages:
            names = ("languages", "classes", "chunks", "tokens")
            await self._apply(_ADD_LANGUAGES, _DROP_LANGUAGES, languages, names)

    async def lock(self) -> Generation:
        """The generation, held against others that change its statistics or its average length."""
        held = select(Generation).where(
            Generation.tenant_id == self._tenant, Generation.id == self._generation
        )
        held = held.with_for_update(key_share=True).execution_options(populate_existing=True)
        return (await self._session.scalars(held)).one()

    async def set_average_length(self, average: float) -> None:
        """Fix the average that weights are made with from now on."""
        await self._session.execute(
            update(Generation)
            .where(Generation.tenant_id == self._tenant, Generation.id == self._generation)
            .values(average_length=average)
            .execution_options(synchronize_session=False)
        )

    async def average_length(self, common: Classification) -> float | None:
        """The average length, in terms, of counted chunks that are no more secret than `common`."""
        level = func.greatest(
            func.coalesce(RightsClass.classification, KnowledgeBase.classification),
            RightsClass.chunk_classification,
        )
        statement = (
            select(func.sum(LanguageStatistic.tokens), func.sum(LanguageStatistic.chunks))
            .join(
                Generation,
                (Generation.tenant_id == LanguageStatistic.tenant_id)
                & (Generation.id == LanguageStatistic.generation),
            )
            .join(
                RightsClass,
                (RightsClass.tenant_id == LanguageStatistic.tenant_id)
                & (RightsClass.base_id == Generation.base_id)
                & (RightsClass.number == LanguageStatistic.class_number),
            )
            .join(
                KnowledgeBase,
                (KnowledgeBase.tenant_id == RightsClass.tenant_id)
                & (KnowledgeBase.id == RightsClass.base_id),
            )
            .where(
                LanguageStatistic.tenant_id == self._tenant,
                LanguageStatistic.generation == self._generation,
                level <= common.rank,
            )
        )
        tokens, chunks = (await self._session.execute(statement)).one()
        return float(tokens / chunks) if tokens and chunks else None

    async def _apply(
        self, add: str, drop: str, rows: Sequence[tuple[str | int, ...]], names: tuple[str, ...]
    ) -> None:
        columns = dict(zip(names, map(list, zip(*sorted(rows), strict=True)), strict=True))
        await self._session.execute(text(add), self._keys | columns)
        if any(count < 0 for column in names[2:] for count in columns[column]):
            await self._session.execute(text(drop), self._keys | {names[0]: columns[names[0]]})


_ADD_TERMS = """
    INSERT INTO eai.kb_term_statistics AS known
           (tenant_id, generation, term, class_number, document_frequency)
    SELECT :tenant, :generation, term, class, frequency
      FROM unnest(CAST(:terms AS text[]), CAST(:classes AS int[]), CAST(:counts AS int[]))
           AS given (term, class, frequency)
    ON CONFLICT (tenant_id, generation, term, class_number)
    DO UPDATE SET document_frequency = known.document_frequency + excluded.document_frequency"""
_DROP_TERMS = """
    DELETE FROM eai.kb_term_statistics
     WHERE tenant_id = :tenant AND generation = :generation AND term = ANY (CAST(:terms AS text[]))
       AND document_frequency <= 0"""
_ADD_LANGUAGES = """
    INSERT INTO eai.kb_language_statistics AS known
           (tenant_id, generation, language, class_number, chunks, tokens)
    SELECT :tenant, :generation, language, class, chunks, tokens
      FROM unnest(CAST(:languages AS text[]), CAST(:classes AS int[]),
                  CAST(:chunks AS int[]), CAST(:tokens AS bigint[]))
           AS given (language, class, chunks, tokens)
    ON CONFLICT (tenant_id, generation, language, class_number)
    DO UPDATE SET chunks = known.chunks + excluded.chunks, tokens = known.tokens + excluded.tokens"""
_DROP_LANGUAGES = """
    DELETE FROM eai.kb_language_statistics
     WHERE tenant_id = :tenant AND generation = :generation AND language = ANY (CAST(:languages AS text[]))
       AND chunks <= 0"""
