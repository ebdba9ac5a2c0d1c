"""For any order of questions and changes, what is recalled is what would be found, and nobody else's.

A model counts the changes of each tenant. A hit is right only where the same principal of the same tenant
has asked the same since the last of them; and there it must be one.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from eai.access.acl import Entry, Permission
from eai.access.classification import Classification
from eai.audit.service import Audit
from eai.kernel.errors import EaiError
from eai.kernel.ids import GenerationId
from eai.knowledge.models import Generation
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.retrieval.service import Retrieval
from tests.conftest import create_tenant
from tests.factories.retrieval import AVERAGE_LENGTH, MODEL, SPACE, Asker, Book, Library, Shelf, ask
from tests.integration.retrieval.test_recall import HIT, Cached, cached_path

QUERIES = ("refund", "parcels")
MODES = ("hybrid", "keyword")

PLAIN = "UPDATE eai.kb_documents SET {0} = {1} WHERE id = :plain AND {0} IS DISTINCT FROM {1}"
CLEAR = "UPDATE eai.principals SET clearance = {0} WHERE id = :who AND clearance <> {0}"
ENTRY = "UPDATE eai.knowledge_base_entries SET effect = {0} WHERE principal = :reference AND effect <> {0}"
FLIP = "UPDATE eai.knowledge_bases SET vector_generation = :generation WHERE id = :base"
CHANGES = {
    "join": "INSERT INTO eai.group_members (tenant_id, group_id, principal_id) "
    "VALUES (:tenant, :group, :who) ON CONFLICT DO NOTHING",
    "leave": "DELETE FROM eai.group_members WHERE group_id = :group AND principal_id = :who",
    "clear": CLEAR.format(2),
    "unclear": CLEAR.format(1),
    "close": PLAIN.format("readers", "'{}'"),
    "open": PLAIN.format("readers", "NULL"),
    "raise": PLAIN.format("classification", 2),
    "lower": PLAIN.format("classification", 1),
    "publish": PLAIN.format("serving_version_id", "CAST(:version AS uuid)"),
    "withdraw": PLAIN.format("serving_version_id", "NULL"),
    "deny": ENTRY.format("'deny'"),
    "allow": ENTRY.format("'allow'"),
}

asks = st.tuples(
    st.just("ask"), st.integers(0, 1), st.integers(0, 1), st.sampled_from(QUERIES), st.sampled_from(MODES)
)
changes = st.tuples(
    st.sampled_from(
(*CHANGES, "flip")    ),
    st.integers(0, 1),
    st.integers(0, 1),
)  # fmt: skip
steps = st.lists(asks | asks | changes, min_size=4, max_size=14)


@dataclass
class Place:
    """One tenant: two people, a group that the first is in, and three documents."""

    library: Library
    shelf: Shelf
    people: Sequence[Asker]
    group: str
    guarded: Book
    plain: Book
    other_generation: GenerationId
    is_flipped: bool = False

    async def change(self, what: str, who: Asker) -> bool:
        """Make the change; False where it changed nothing that an epoch tells of."""
        if what == "flip":
            # The generation itself is part of every key.
            self.is_flipped = not self.is_flipped
            generation = self.other_generation if self.is_flipped else self.shelf.generation
            await self.library.execute(FLIP, base=self.shelf.id, generation=generation)
            return False
        statement = CHANGES[what]
        named = {"tenant": self.library.tenant, "group": self.group[6:], "who": who.id}
        named |= {"reference": who.reference, "plain": self.plain.id, "version": self.plain.version}
        used = {name: value for name, value in named.items() if re.search(rf":{name}\b", statement)}
        async with self.library.database.transaction(self.library.tenant) as session:
            return bool((await session.execute(text(statement), used)).rowcount)  # type: ignore[attr-defined]


async def place(database: Database, vectors: Vectors) -> Place:
    library = Library(database, vectors, await create_tenant(database))
    people = [await library.principal(clearance=Classification.CONFIDENTIAL) for _ in range(2)]
    await library.execute("UPDATE eai.tenants SET cache_max_classification = 4")
    group = await library.group(people[0])
    shelf = await library.base(*[Entry(each.reference, Permission.READ) for each in people])
    guarded = await library.document(shelf, "refund of the group", readers=[group])
    await library.document(shelf, "refund, confidential", level=Classification.CONFIDENTIAL)
    plain = await library.document(shelf, "refund and parcels for all", level=Classification.INTERNAL)
    other = GenerationId(uuid4())
    await library._insert(
        Generation, id=other, base_id=shelf.id, state="retired", collection=SPACE.name,
        average_length=AVERAGE_LENGTH, embedding_model=MODEL, dimensions=SPACE.dimensions,
    )  # fmt: skip
    return Place(library, shelf, people, group, guarded, plain, other)


async def _outcome(retrieval: Retrieval, asker: Asker, shelf: Shelf, query: str, mode: str) -> object:
    try:
        return (await ask(retrieval, asker, shelf, query, mode=mode)).body
    except EaiError as error:
        return type(error)


async def _recalled(cached: Cached, asker: Asker, shelf: Shelf, query: str, mode: str) -> object:
    try:
        return (await cached.ask(asker, shelf, query, mode=mode)).body
    except EaiError as error:
        cached.seen.append((-1, -1))
        return type(error)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
async def test_no_hit_crosses_tenant_principal_clearance_generation_or_a_revocation(
    database: Database, vectors: Vectors, audit: Audit, retrieval: Retrieval, steps: list[tuple[object, ...]]
) -> None:
    cached = cached_path(database, vectors, audit)
    places = [await place(database, vectors) for _ in range(2)]
    changed: Counter[int] = Counter()
    asked: set[tuple[object, ...]] = set()
    for what, where, who, *question in steps:
        here = places[where]  # type: ignore[call-overload]
        asker = here.people[who]
        if what != "ask":
            changed[where] += await here.change(what, asker)  # type: ignore[index]
            continue
        found = await _recalled(cached, asker, here.shelf, *question)
        assert found == await _outcome(retrieval, asker, here.shelf, *question)
        same = (where, who, *question, here.is_flipped, changed[where])  # type: ignore[index]
        if isinstance(found, bytes):
            assert (cached.cost == HIT) == (same in asked), same
            asked.add(same)
