"""The statistics of a base, counted anew from its rows by the shortest way."""

from collections import Counter
from typing import Any

from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.lexical import Language, analyse_document
from tests.factories.knowledge import Knowledge

Counts = dict[Any, int]


async def stored(knowledge: Knowledge, base: BaseHandle) -> tuple[Counts, Counts]:
    """By (class, term) and by (class, language): what the tables say. Lengths are counted besides."""
    terms = await knowledge.rows(
        base.tenant,
        "SELECT class_number, term, document_frequency FROM eai.kb_term_statistics WHERE generation = :g",
        g=base.generation.id,
    )
    languages = await knowledge.rows(
        base.tenant,
        "SELECT class_number, language, chunks, tokens FROM eai.kb_language_statistics WHERE generation = :g",
        g=base.generation.id,
    )
    return (
        {(number, term): count for number, term, count in terms},
        {
            (number, language, what): count
            for number, language, chunks, tokens in languages
            for what, count in (("chunks", chunks), ("tokens", tokens))
        },
    )


async def recounted(knowledge: Knowledge, base: BaseHandle) -> tuple[Counts, Counts]:
    """The same from chunks that answer and that nobody is kept from by name."""
    rows = await knowledge.rows(
        base.tenant,
        """SELECT c.class_number, c.language, c.content
             FROM eai.kb_chunks c
             JOIN eai.kb_documents d ON d.id = c.document_id AND d.serving_version_id = c.version_id
            WHERE c.generation = :g AND c.readers IS NULL AND d.readers IS NULL""",
        g=base.generation.id,
    )
    terms: Counter[Any] = Counter()
    languages: Counter[Any] = Counter()
    for number, language, content in rows:
        found = analyse_document(content, Language(language))
        terms.update((number, term) for term in found)
        languages[number, language, "chunks"] += 1
        languages[number, language, "tokens"] += sum(found.values())
    return dict(terms), dict(languages)


async def misplaced(knowledge: Knowledge, base: BaseHandle) -> list[Any]:
    """Chunks that answer whose class is not what their raw rights say, and points found under another."""
    rows = await knowledge.rows(
        base.tenant,
        """SELECT c.id FROM eai.kb_chunks c
             JOIN eai.kb_documents d ON d.id = c.document_id
             JOIN eai.kb_rights_classes r ON r.base_id = c.base_id AND r.number = c.class_number
            WHERE c.base_id = :b
              AND (c.readers, c.classification, d.readers, d.classification, d.source_connector)
                  IS DISTINCT FROM
                  (r.chunk_readers, r.chunk_classification,
                   r.readers, r.classification, r.source_connector)""",
        b=base.id,
    )
    wrong = [point for (point,) in rows]
    by_class = await knowledge.rows(
        base.tenant,
        """SELECT class_number, array_agg(id) FROM eai.kb_chunks WHERE base_id = :b GROUP BY class_number""",
        b=base.id,
    )
    for number, points in by_class:
        wrong += set(points) ^ await knowledge.found(base, number)
    return wrong
