"""Invariant I1: for any rights, the passages returned are those that a naive reading of the rules allows.

The oracle below is written from design.md, section 5, and shares no code with the product's rule.
"""

from dataclasses import dataclass
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from eai.access.classification import LEVELS
from eai.access.visibility import may_read
from eai.identity.authentication import subject_from_row
from eai.retrieval.opening import reader_rights
from eai.retrieval.recheck import effective_level, rights_of
from eai.retrieval.repository import QueryRows
from eai.retrieval.service import Retrieval
from eai.retrieval.values import SearchedBase
from tests.factories.retrieval import MODEL, PEPPERS, SPACE, Asker, Book, Library, Shelf, Text, ask

NAMES = ("me", "other", "my group", "other group", "tenant:*")
MINE = {"me", "my group", "tenant:*"}

readers = st.none() | st.sets(st.sampled_from(NAMES), max_size=3).map(frozenset)
levels = st.none() | st.integers(0, 4)


@dataclass(frozen=True)
class Part:
    readers: frozenset[str] | None
    level: int | None


@dataclass(frozen=True)
class Paper:
    readers: frozenset[str] | None
    level: int | None
    parts: tuple[Part, ...]
    fate: str
    source: str


@dataclass(frozen=True)
class World:
    clearance: int
    key_clearance: int | None
    base_level: int
    papers: tuple[Paper, ...]


parts = st.builds(Part, readers, levels)
papers = st.builds(
    Paper,
    readers,
    levels,
    st.lists(parts, min_size=1, max_size=3).map(tuple),
    st.sampled_from(("kept", "kept", "kept", "deleting", "held back", "not serving")),
    st.sampled_from(("direct", "direct", "on", "off", "unregistered")),
)
worlds = st.builds(
    World, st.integers(0, 4), levels, st.integers(0, 4), st.lists(papers, min_size=1, max_size=4).map(tuple)
)


def may_see(world: World, paper: Paper, part: Part) -> bool:
    level = world.base_level if paper.level is None else paper.level
    if part.level is not None and part.level > level:
        level = part.level
    clearance = world.clearance
    if world.key_clearance is not None and world.key_clearance < clearance:
        clearance = world.key_clearance
    if level > clearance or paper.fate != "kept" or paper.source not in {"direct", "on"}:
        return False
    return all(named is None or named & MINE for named in (paper.readers, part.readers))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds)
async def test_every_mode_returns_exactly_what_may_be_seen(
    retrieval: Retrieval, library: Library, world: World
) -> None:
    asker, shelf, books = await build(library, world)
    expected = {
        str(chunk)
        for paper, book in zip(world.papers, books, strict=True)
        for part, chunk in zip(paper.parts, book.chunks, strict=True)
        if may_see(world, paper, part)
    }
    for mode in ("vector", "keyword", "hybrid"):
        answer = await ask(retrieval, asker, shelf, "refund", mode=mode, top_k=100)
        assert {result["chunk_id"] for result in answer.results} == expected
        assert answer.warnings == ()
    assert await in_permitted_classes(library, asker, shelf) == await allowed_by_the_rule(
        library, asker, shelf, books
    )


async def in_permitted_classes(library: Library, asker: Asker, shelf: Shelf) -> set[UUID]:
    """The points of the rights classes that SQL permits."""
    opened = await QueryRows(library.database, PEPPERS).open(asker.credential, str(shelf.id), [])
    assert opened is not None
    async with library.database.transaction(library.tenant) as session:
        found = await session.scalars(
            text("SELECT id FROM eai.kb_chunks WHERE base_id = :base AND class_number = ANY (:classes)"),
            {"base": shelf.id, "classes": list(opened.classes or ())},
        )
        return set(found)


async def allowed_by_the_rule(library: Library, asker: Asker, shelf: Shelf, books: list[Book]) -> set[UUID]:
    """The points whose rows the rule lets the caller read, were they all live."""
    rows = QueryRows(library.database, PEPPERS)
    opened = await rows.open(asker.credential, str(shelf.id), [])
    assert opened is not None
    subject = subject_from_row(opened.subject)
    level = LEVELS[(opened.base or {})["classification"]]
    base = SearchedBase(shelf.id, level, MODEL, SPACE, shelf.generation)
    points = [point for book in books for point in book.points]
    snapshot = await rows.recheck(subject, base, points, wants_metadata=False)
    rights = reader_rights(subject, snapshot.entries, is_there=True)
    live = [row._replace(is_kept=True, is_serving=True) for row in snapshot.passages.values()]
    assert len(live) == len(points)
    return {
        UUID(row.point)
        for row in live
        if may_read(subject, rights, rights_of(row, effective_level(row, level)))
    }


async def build(library: Library, world: World) -> tuple[Asker, Shelf, list[Book]]:
    """The world as rows and points."""
    me = await library.principal(
        clearance=LEVELS[world.clearance],
        key_clearance=None if world.key_clearance is None else LEVELS[world.key_clearance],
    )
    other = await library.principal()
    named = {
        "me": me.reference,
        "other": other.reference,
        "my group": await library.group(me, other),
        "other group": await library.group(other),
        "tenant:*": "tenant:*",
    }

    def references(names: frozenset[str] | None) -> tuple[str, ...] | None:
        return None if names is None else tuple(sorted(named[name] for name in names))

    sources = {
        "direct": "direct",
        "on": await library.connector(),
        "off": await library.connector(is_enabled=False),
        "unregistered": "nobody-registered-this",
    }
    shelf = await library.base(classification=LEVELS[world.base_level])
    books = []
    for paper in world.papers:
        texts = [
            Text("refund", references(part.readers), None if part.level is None else LEVELS[part.level])
            for part in paper.parts
        ]
        level = None if paper.level is None else LEVELS[paper.level]
        source = sources[paper.source]
        book = await library.document(
            shelf, *texts, readers=references(paper.readers), level=level, connector=source
        )
        await library.execute(_FATES[paper.fate], document=book.id)
        books.append(book)
    return me, shelf, books


_FATES = {
    "kept": "UPDATE eai.kb_documents SET title = 'kept' WHERE id = :document",
    "deleting": "UPDATE eai.kb_documents SET deleting_since = now() WHERE id = :document",
    "held back": "UPDATE eai.kb_document_versions SET status = 'quarantined' WHERE document_id = :document",
    "not serving": "UPDATE eai.kb_documents SET serving_version_id = NULL WHERE id = :document",
}
