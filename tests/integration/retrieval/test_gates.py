"""The table of design.md, section 1: which gate holds what when the others are switched off.

| what guards                              | row level security | store filter | re-check |
|------------------------------------------|--------------------|--------------|----------|
| tenancy                                  | alone              | alone        | alone    |
| readers, chunk readers, clearance        |                    | alone        | alone    |
| source connectors, at every instant      |                    | alone        | alone    |
| the same, changed and not yet projected  |                    |              | alone    |
| the same, more classes than a filter has |                    |              | alone    |

Each cell is proven with the other gates off, each empty cell by the leak that shows the switch works.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson
import pytest
from sqlalchemy import text

from eai.access.acl import BaseRights, Entry, Permission
from eai.access.classification import Classification
from eai.access.rights_class import MAX_FILTER_CLASSES, generation_key
from eai.access.subject import Subject
from eai.access.visibility import PassageRights, may_read
from eai.audit.service import Audit
from eai.kernel.errors import NotFound
from eai.kernel.ids import PointId
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.retrieval.repository import QueryRows
from eai.retrieval.rows import PassageRow, Snapshot
from eai.retrieval.service import Retrieval
from eai.retrieval.values import SearchedBase
from tests.conftest import DatabaseUrls
from tests.factories.retrieval import PEPPERS, Asker, Library, Shelf, Text, ask, contents, local_gateway
from tests.factories.stores import Unfiltered

MINE, THEIRS, OPEN, HIDDEN = "my refund", "their refund", "open refund", "hidden refund"


def anything(_subject: Subject, _base: BaseRights, _passage: PassageRights) -> bool:
    """A re-check that checks nothing."""
    return True


class UnscopedRows(QueryRows):
    """Reads the rows behind any points, whosesoever: only the database's own policies stand in the way."""

    async def recheck(
        self, subject: Subject, base: SearchedBase, points: Sequence[PointId], *, wants_metadata: bool
    ) -> Snapshot:
        snapshot = await super().recheck(subject, base, [], wants_metadata=wants_metadata)
        async with self._database.transaction(subject.tenant) as session:
            found = await session.scalars(text(_ALL_ROWS), {"points": list(points)})
            rows = [PassageRow(*orjson.loads(row)) for row in found]
        return snapshot._replace(passages={row.point: row for row in rows})


_ALL_ROWS = """
    SELECT json_build_array(
               c.id, c.tenant_id, c.chunk_id, c.document_id, d.title, c.ordinal, c.content,
               c.start_offset, c.end_offset, c.language, v.number, d.source_uri, d.source_connector,
               d.source_uri_verified,
               d.readers, c.readers, d.classification, c.classification, true, true, true, NULL)::text
      FROM eai.kb_chunks c
      JOIN eai.kb_documents d ON d.id = c.document_id
      JOIN eai.kb_document_versions v ON v.id = c.version_id
     WHERE c.id = ANY (:points)"""


@dataclass(frozen=True, slots=True)
class Gates:
    """Builds a retrieval with some gates off."""

    vectors: Vectors
    audit: Audit
    with_rls: Database
    without_rls: Database

    def retrieval(
        self, *, row_security: bool, store_filter: bool, recheck: bool, reachable: Sequence[str]
    ) -> Retrieval:
        """`reachable` are the generations that a store without a filter answers from."""
        database = self.with_rls if row_security else self.without_rls
        rows = (QueryRows if recheck else UnscopedRows)(database, PEPPERS)
        vectors = self.vectors if store_filter else Unfiltered(self.vectors, reachable)
        rule = may_read if recheck else anything
        return Retrieval(
            rows, local_gateway(self.with_rls, self.audit), vectors, self.audit, store="embedded", rule=rule
        )


@pytest.fixture(scope="session")
async def without_rls(database_urls: DatabaseUrls) -> AsyncIterator[Database]:
    """The database as a superuser, whom no policy binds."""
    opened = Database(database_urls.admin)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def gates(vectors: Vectors, audit: Audit, database: Database, without_rls: Database) -> Gates:
    return Gates(vectors, audit, database, without_rls)


def key_of(library: Library, shelf: Shelf) -> str:
    return generation_key(library.tenant, shelf.generation)


class TestTenancy:
    @pytest.fixture
    async def found(
        self, gates: Gates, library: Library, other_library: Library
    ) -> Callable[..., Awaitable[list[str]]]:
        asker, mine, theirs = await library.principal(), await library.base(), await other_library.base()
        await library.document(mine, MINE)
        await other_library.document(theirs, THEIRS)
        reachable = [key_of(library, mine), key_of(other_library, theirs)]

        async def ask_with(**switches: bool) -> list[str]:
            retrieval = gates.retrieval(reachable=reachable, **switches)
            return sorted(contents(await ask(retrieval, asker, mine, "refund")))

        return ask_with

    async def test_with_every_gate_off_another_tenants_text_leaks(
        self, found: Callable[..., Awaitable[list[str]]]
    ) -> None:
        assert await found(row_security=False, store_filter=False, recheck=False) == [MINE, THEIRS]

    async def test_row_level_security_alone_is_enough(
        self, found: Callable[..., Awaitable[list[str]]]
    ) -> None:
        assert await found(row_security=True, store_filter=False, recheck=False) == [MINE]

    async def test_the_store_filter_alone_is_enough(self, found: Callable[..., Awaitable[list[str]]]) -> None:
        assert await found(row_security=False, store_filter=True, recheck=False) == [MINE]

    async def test_the_recheck_alone_is_enough(self, found: Callable[..., Awaitable[list[str]]]) -> None:
        assert await found(row_security=False, store_filter=False, recheck=True) == [MINE]

    async def test_the_rule_alone_refuses_a_row_of_another_tenant(
        self, gates: Gates, library: Library, other_library: Library
    ) -> None:
        asker, mine, theirs = await library.principal(), await library.base(), await other_library.base()
        await library.document(mine, MINE)
        await other_library.document(theirs, THEIRS)
        reachable = [key_of(library, mine), key_of(other_library, theirs)]
        retrieval = Retrieval(
            UnscopedRows(gates.without_rls, PEPPERS),
            local_gateway(gates.with_rls, gates.audit),
            Unfiltered(gates.vectors, reachable),
            gates.audit,
            store="embedded",
        )
        assert contents(await ask(retrieval, asker, mine, "refund")) == [MINE]


Guard = Callable[[Library, Shelf], Awaitable[Asker]]
Change = Callable[[Library, Shelf], Awaitable[None]]


async def _by_document_readers(library: Library, shelf: Shelf) -> Asker:
    asker, other = await library.principal(), await library.principal()
    await library.document(shelf, HIDDEN, readers=[other.reference])
    return asker


async def _by_chunk_readers(library: Library, shelf: Shelf) -> Asker:
    asker, other = await library.principal(), await library.principal()
    await library.document(shelf, Text(HIDDEN, readers=[await library.group(other)]))
    return asker


async def _by_both_lists_of_readers(library: Library, shelf: Shelf) -> Asker:
    asker, other = await library.principal(), await library.principal()
    ours, theirs = await library.group(asker, other), await library.group(other)
    await library.document(shelf, Text(HIDDEN, readers=[theirs]), readers=[ours])
    return asker


async def _by_document_level(library: Library, shelf: Shelf) -> Asker:
    await library.document(shelf, HIDDEN, level=Classification.CONFIDENTIAL)
    return await library.principal(clearance=Classification.INTERNAL)


async def _by_chunk_level(library: Library, shelf: Shelf) -> Asker:
    await library.document(shelf, Text(HIDDEN, level=Classification.SECRET), level=Classification.PUBLIC)
    return await library.principal(clearance=Classification.RESTRICTED)


async def _by_the_keys_clearance(library: Library, shelf: Shelf) -> Asker:
    await library.document(shelf, HIDDEN, level=Classification.INTERNAL)
    return await library.principal(clearance=Classification.SECRET, key_clearance=Classification.PUBLIC)


async def _by_connector(library: Library, shelf: Shelf) -> Asker:
    await library.document(shelf, HIDDEN, connector=await library.connector(is_enabled=False))
    return await library.principal(clearance=Classification.SECRET)


async def _by_an_unregistered_connector(library: Library, shelf: Shelf) -> Asker:
    await library.document(shelf, HIDDEN, connector="nobody-registered-this")
    return await library.principal(clearance=Classification.SECRET)


GUARDS = [
    _by_document_readers,
    _by_chunk_readers,
    _by_both_lists_of_readers,
    _by_document_level,
    _by_chunk_level,
    _by_the_keys_clearance,
    _by_connector,
    _by_an_unregistered_connector,
]


class TestReadersAndClearance:
    @pytest.fixture
    async def shelf(self, library: Library) -> Shelf:
        shelf = await library.base()
        await library.document(shelf, OPEN, level=Classification.PUBLIC)
        return shelf

    async def found(
        self,
        gates: Gates,
        library: Library,
        shelf: Shelf,
        asker: Asker,
        *,
        row_security: bool = True,
        **switches: bool,
    ) -> list[str]:
        reachable = [key_of(library, shelf)]
        retrieval = gates.retrieval(row_security=row_security, reachable=reachable, **switches)
        return sorted(contents(await ask(retrieval, asker, shelf, "refund")))

    @pytest.mark.parametrize("guard", GUARDS)
    async def test_store_filter_and_recheck_are_each_enough(
        self, gates: Gates, library: Library, shelf: Shelf, guard: Guard
    ) -> None:
        asker = await guard(library, shelf)

        async def found(**switches: bool) -> list[str]:
            return await self.found(gates, library, shelf, asker, **switches)

        # Row level security keeps tenants apart, and knows nothing of readers.
        assert await found(row_security=True, store_filter=False, recheck=False) == [HIDDEN, OPEN]
        assert await found(row_security=False, store_filter=False, recheck=False) == [HIDDEN, OPEN]
        assert await found(row_security=False, store_filter=True, recheck=False) == [OPEN]
        assert await found(row_security=False, store_filter=False, recheck=True) == [OPEN]
        assert await found(row_security=True, store_filter=True, recheck=True) == [OPEN]

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE eai.kb_documents SET readers = '{}' WHERE id = :document",
            "UPDATE eai.kb_documents SET classification = 3 WHERE id = :document",
            "UPDATE eai.kb_chunks SET readers = '{}' WHERE document_id = :document",
            "UPDATE eai.kb_chunks SET classification = 3 WHERE document_id = :document",
        ],
    )
    async def test_after_a_change_not_yet_projected_the_recheck_alone_holds(
        self, gates: Gates, library: Library, shelf: Shelf, change: str
    ) -> None:
        asker = await library.principal()
        book = await library.document(shelf, HIDDEN)
        await library.execute(change, document=book.id)

        async def found(**switches: bool) -> list[str]:
            return await self.found(gates, library, shelf, asker, **switches)

        assert await found(store_filter=True, recheck=False) == [HIDDEN, OPEN]
        assert await found(store_filter=False, recheck=True) == [OPEN]
        assert await found(store_filter=True, recheck=True) == [OPEN]

    async def test_membership_and_clearance_need_no_projection(
        self, gates: Gates, library: Library, shelf: Shelf
    ) -> None:
        """The classes are evaluated live: the store filter alone follows a change of the caller."""
        asker = await library.principal(clearance=Classification.SECRET)
        group = await library.group(asker)
        await library.document(shelf, HIDDEN, readers=[group], level=Classification.SECRET)

        async def found() -> list[str]:
            return await self.found(gates, library, shelf, asker, store_filter=True, recheck=False)

        assert await found() == [HIDDEN, OPEN]
        await library.leave(group, asker)
        assert await found() == [OPEN]
        await library.join(group, asker)
        await library.execute("UPDATE eai.principals SET clearance = 1 WHERE id = :id", id=asker.id)
        assert await found() == [OPEN]

    async def test_a_connector_that_is_switched_needs_no_projection(
        self, gates: Gates, library: Library, shelf: Shelf
    ) -> None:
        """Each gate alone follows at once, both ways."""
        asker, connector = await library.principal(), await library.connector()
        await library.document(shelf, HIDDEN, connector=connector)

        async def found() -> list[list[str]]:
            return [
                await self.found(gates, library, shelf, asker, store_filter=filters, recheck=not filters)
                for filters in (True, False)
            ]

        assert await found() == [[HIDDEN, OPEN]] * 2
        await library.switch(connector, is_enabled=False)
        assert await found() == [[OPEN]] * 2
        await library.switch(connector, is_enabled=True)
        assert await found() == [[HIDDEN, OPEN]] * 2

    async def test_another_tenants_connector_of_the_same_name_shows_nothing(
        self, gates: Gates, library: Library, other_library: Library, shelf: Shelf
    ) -> None:
        asker, connector = await library.principal(), await other_library.connector()
        await library.document(shelf, HIDDEN, connector=connector)
        for switches in ({"store_filter": True, "recheck": False}, {"store_filter": False, "recheck": True}):
            assert await self.found(gates, library, shelf, asker, **switches) == [OPEN]

    async def test_with_more_classes_than_a_filter_takes_the_recheck_alone_holds(
        self, gates: Gates, library: Library, shelf: Shelf
    ) -> None:
        asker = await _by_document_readers(library, shelf)
        await library.execute(_MANY_CLASSES, base=shelf.id, most=MAX_FILTER_CLASSES)

        async def found(**switches: bool) -> list[str]:
            return await self.found(gates, library, shelf, asker, **switches)

        assert await found(store_filter=True, recheck=False) == [HIDDEN, OPEN]
        assert await found(store_filter=True, recheck=True) == [OPEN]

    async def test_a_base_without_an_entry_for_the_caller_is_not_searched_at_all(
        self, gates: Gates, library: Library
    ) -> None:
        asker, other = await library.principal(), await library.principal()
        shelf = await library.base(Entry(other.reference, Permission.MANAGE))
        await library.document(shelf, HIDDEN)
        with pytest.raises(NotFound):
            await self.found(gates, library, shelf, asker, store_filter=False, recheck=False)


_MANY_CLASSES = """
    INSERT INTO eai.kb_rights_classes
           (tenant_id, base_id, number, digest, readers, source_connector)
    SELECT b.tenant_id, b.id, 100 + n, decode(lpad(to_hex(n), 64, '0'), 'hex'), NULL, 'direct'
      FROM eai.knowledge_bases b, generate_series(1, :most) n WHERE b.id = :base"""
