"""S3-85: what was found is told again to whoever asked it, while nothing has changed, and to nobody else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from eai.access.classification import Classification
from eai.audit.service import Audit
from eai.cache.ports import CacheStore
from eai.cache.service import SensitiveCache
from eai.dlp.errors import DlpBlocked
from eai.finops.errors import QuotaExceeded
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.errors import KillSwitchEngaged
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.cache import MemoryStore
from eai.integrations.cache.redis import RedisStore
from eai.integrations.local_models import HashEmbedder
from eai.kernel.clock import SystemClock
from eai.kernel.errors import NotFound, Unauthenticated
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.platform.keys import Keyring
from eai.retrieval.repository import QueryRows
from eai.retrieval.rows import OpenedRow
from eai.retrieval.service import QueryAnswer, Retrieval
from tests.factories.retrieval import MASTER, MODEL, PEPPERS, Asker, Library, Shelf, ask, contents, gateway_of
from tests.factories.stores import Action, Meanwhile

REFUND = "refund for customers"


class CountingEmbedder:
    """The model that needs no weights, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self._hash = HashEmbedder()

    async def warm_up(self) -> None:
        """There is nothing to load."""

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        self.asked += 1
        return await self._hash.embed(texts, role)


@dataclass
class Cached:
    """A query path with a cache, whose parts count how often they were needed."""

    retrieval: Retrieval
    index: Meanwhile
    model: CountingEmbedder
    entries: MemoryStore
    keyring: Keyring
    seen: list[tuple[int, int]] = field(default_factory=list)

    async def ask(self, asker: Asker, shelf: Shelf, query: str = REFUND, **options: object) -> QueryAnswer:
        before = (self.model.asked, len(self.index.asked))
        answer = await ask(self.retrieval, asker, shelf, query, **options)
        now = (self.model.asked, len(self.index.asked))
        self.seen.append((now[0] - before[0], now[1] - before[1]))
        return answer

    @property
    def cost(self) -> tuple[int, int]:
        """What the last question cost: calls of the model, and searches."""
        return self.seen[-1]


MISS, VECTOR_HIT, HIT = (1, 1), (0, 1), (0, 0)


class Shuffled(QueryRows):
    """Tells the classes of rights each time in another order, as different plans do."""

    told = 0

    async def open(self, credential: str, reference: str, terms: Sequence[str]) -> OpenedRow | None:
        opened = await super().open(credential, reference, terms)
        assert opened is not None
        assert opened.classes is not None
        self.told += 1
        return opened._replace(classes=sorted(opened.classes, reverse=self.told % 2 == 0))


def cached_path(
    database: Database,
    vectors: Vectors,
    audit: Audit,
    store: CacheStore | None = None,
    rows: type[QueryRows] = QueryRows,
) -> Cached:
    model, index, entries = CountingEmbedder(), Meanwhile(vectors), MemoryStore(10**8)
    keyring = Keyring(MASTER, database)
    gateway = gateway_of(database, audit, {MODEL: RegisteredModel(LOCAL_HASH_256, model)})
    cache = SensitiveCache(store or entries, keyring, SystemClock())
    retrieval = Retrieval(rows(database, PEPPERS), gateway, index, audit, store="embedded", cache=cache)
    return Cached(retrieval, index, model, entries, keyring)


@pytest.fixture
def cached(database: Database, vectors: Vectors, audit: Audit) -> Cached:
    return cached_path(database, vectors, audit)


async def test_the_same_question_costs_neither_model_nor_search_and_answers_the_same(
    cached: Cached, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "a refund", "another refund for customers", "parcels")
    for mode in ("hybrid", "vector", "keyword"):
        first = await cached.ask(asker, shelf, mode=mode, explain=True)
        second = await cached.ask(asker, shelf, mode=mode, explain=True)
        assert cached.cost == HIT
        assert second.body == first.body
        assert first.results


async def test_nothing_found_is_told_again_too(cached: Cached, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    assert contents(await cached.ask(asker, shelf)) == []
    assert contents(await cached.ask(asker, shelf)) == []
    assert cached.cost == HIT


async def test_the_order_in_which_classes_of_rights_are_read_ends_nothing(
    database: Database, vectors: Vectors, audit: Audit, library: Library
) -> None:
    cached = cached_path(database, vectors, audit, rows=Shuffled)
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND, level=Classification.PUBLIC)
    await library.document(shelf, REFUND, level=Classification.INTERNAL)
    for _ in range(3):
        await cached.ask(asker, shelf)
    assert cached.seen == [MISS, HIT, HIT]


@pytest.mark.parametrize(
    ("change", "cost"),
    [
        ({"query": "refunds"}, MISS),
        ({"top_k": 6}, VECTOR_HIT),
        ({"mode": "vector"}, VECTOR_HIT),
        ({"mode": "keyword"}, (0, 1)),
        ({"min_score": 0.1}, VECTOR_HIT),
        ({"filters": {"metadata": {"year": 2026}}}, VECTOR_HIT),
        ({"rerank": True}, VECTOR_HIT),
        ({"explain": True}, HIT),
        ({"labels": {"project": "p"}}, HIT),
    ],
)
async def test_another_question_is_another_entry(
    cached: Cached, library: Library, change: dict[str, object], cost: tuple[int, int]
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    await cached.ask(asker, shelf)
    await cached.ask(asker, shelf, **change)
    assert cached.cost == cost


async def test_the_text_is_read_again(cached: Cached, library: Library) -> None:
    """What is kept is ids and scores: a title or text that a person corrected is shown as it is."""
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, REFUND, title="Old")
    await cached.ask(asker, shelf)
    await library.execute("UPDATE eai.kb_documents SET title = 'New' WHERE id = :id", id=book.id)
    answer = await cached.ask(asker, shelf)
    assert cached.cost == HIT
    assert answer.results[0]["title"] == "New"
    assert not any(b"refund" in value for _, value in cached.entries._entries.values())


async def test_nobody_else_is_told(cached: Cached, library: Library, other_library: Library) -> None:
    """Attack 30: the same question of another principal, and of another tenant."""
    asker, other, shelf = await library.principal(), await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    await cached.ask(asker, shelf)
    await cached.ask(other, shelf)
    assert cached.cost == MISS
    stranger, their_shelf = await other_library.principal(), await other_library.base()
    await other_library.document(their_shelf, REFUND)
    await cached.ask(stranger, their_shelf)
    assert cached.cost == MISS
    with pytest.raises(NotFound):
        await cached.ask(stranger, shelf)


async def test_another_clearance_of_the_same_principal_is_another_entry(
    cached: Cached, library: Library
) -> None:
    asker, shelf = await library.principal(clearance=Classification.INTERNAL), await library.base()
    await library.document(shelf, REFUND)
    await cached.ask(asker, shelf)
    await library.execute("UPDATE eai.api_keys SET clearance = 0 WHERE id = :id", id=asker.api_key)
    assert contents(await cached.ask(asker, shelf)) == []
    assert cached.cost == (1, 0)  # there is nothing that a search could look through
    await library.execute("UPDATE eai.api_keys SET clearance = NULL WHERE id = :id", id=asker.api_key)
    assert contents(await cached.ask(asker, shelf)) == [REFUND]
    assert cached.cost == HIT


GROUP_DOCUMENT = "WHERE title = 'Group'"
OPEN, BOTH = ["open refund"], ["group refund", "open refund"]
CHANGES: dict[str, tuple[str, list[str]]] = {
    "the group was left": ("DELETE FROM eai.group_members WHERE principal_id = :who", OPEN),
    "another joined the group": (
        "INSERT INTO eai.group_members (tenant_id, group_id, principal_id) VALUES (:tenant, :group, :other)",
        BOTH,
    ),
    "the group was removed": ("DELETE FROM eai.groups WHERE id = :group", OPEN),
    "the document was closed": (f"UPDATE eai.kb_documents SET readers = '{{}}' {GROUP_DOCUMENT}", OPEN),
    "the passage was closed": (
        "UPDATE eai.kb_chunks SET readers = '{}' WHERE content LIKE 'group%' AND base_id = :base",
        OPEN,
    ),
    "the document was classified": (
        f"UPDATE eai.kb_documents SET classification = 4 {GROUP_DOCUMENT}",
        OPEN,
    ),
    "the base was classified": ("UPDATE eai.knowledge_bases SET classification = 4 WHERE id = :base", []),
    "the clearance was lowered": ("UPDATE eai.principals SET clearance = 0 WHERE id = :who", []),
    "the document is being deleted": (
        f"UPDATE eai.kb_documents SET deleting_since = now() {GROUP_DOCUMENT}",
        OPEN,
    ),
    "the version was held back": (
        (
            "UPDATE eai.kb_document_versions v SET status = 'quarantined' FROM eai.kb_documents d "
            "WHERE d.id = v.document_id AND d.title = 'Group'"
        ),
        OPEN,
    ),
    "metadata was changed": (f"UPDATE eai.kb_documents SET metadata = '{{\"a\": 1}}' {GROUP_DOCUMENT}", BOTH),
    "weights are made anew": ("UPDATE eai.kb_generations SET average_length = 9 WHERE base_id = :base", BOTH),
    "points have moved": ("SELECT eai.begin_content_epoch(:tenant, :base)", BOTH),
    "an entry was added": (
        (
            "INSERT INTO eai.knowledge_base_entries "
            "(tenant_id, base_id, position, principal, permission, effect) "
            "VALUES (:tenant, :base, 9, 'user:nobody', 'read', 'allow')"
        ),
        BOTH,
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_after_any_change_of_rights_or_content_it_is_searched_anew(
    cached: Cached, library: Library, change: str
) -> None:
    """Attack 30 and invariant I12: the entry is under an epoch that is over."""
    asker, other, shelf = await library.principal(), await library.principal(), await library.base()
    group = await library.group(asker)
    await library.document(shelf, "group refund", title="Group", readers=[group])
    await library.document(shelf, "open refund")
    await cached.ask(asker, shelf)
    assert sorted(contents(await cached.ask(asker, shelf))) == BOTH
    assert cached.cost == HIT
    statement, left = CHANGES[change]
    named = {"who": asker.id, "other": other.id, "group": UUID(group[6:])}
    named |= {"base": shelf.id, "tenant": library.tenant}
    used = {name: value for name, value in named.items() if f":{name}" in statement}
    await library.execute(statement, **used)
    assert sorted(contents(await cached.ask(asker, shelf))) == left
    assert cached.cost != HIT


async def test_a_document_that_comes_is_found(cached: Cached, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "open refund")
    await cached.ask(asker, shelf)
    await library.document(shelf, "new refund")
    assert sorted(contents(await cached.ask(asker, shelf))) == ["new refund", "open refund"]


async def test_a_change_in_another_base_leaves_it_as_it_is(cached: Cached, library: Library) -> None:
    asker, shelf, other = await library.principal(), await library.base(), await library.base()
    await library.document(shelf, REFUND)
    await cached.ask(asker, shelf)
    await library.document(other, "new refund", readers=[])
    await library.execute("DELETE FROM eai.knowledge_base_entries WHERE base_id = :base", base=other.id)
    await cached.ask(asker, shelf)
    assert cached.cost == HIT


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ("UPDATE eai.api_keys SET revoked_at = now() WHERE tenant_id = :t", Unauthenticated),
        ("UPDATE eai.principals SET suspended_at = now() WHERE tenant_id = :t", Unauthenticated),
        ("DELETE FROM eai.knowledge_base_entries WHERE tenant_id = :t", NotFound),
        ("UPDATE eai.knowledge_base_entries SET effect = 'deny' WHERE tenant_id = :t", NotFound),
        ("UPDATE eai.knowledge_bases SET deleting_since = now() WHERE tenant_id = :t", NotFound),
        (
            "INSERT INTO eai.kill_switches (tenant_id, scope, reason) VALUES (:t, 'tenant', 'a test')",
            KillSwitchEngaged,
        ),
        ('UPDATE eai.tenants SET dlp = \'{"email": "block"}\' WHERE tenant_id = :t', DlpBlocked),
    ],
)
async def test_whoever_may_not_ask_any_more_is_not_told(
    cached: Cached, library: Library, change: str, outcome: type[Exception]
) -> None:
    """Every control but egress and reservation stands before a hit."""
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    question = f"{REFUND} ann@example.org"
    await cached.ask(asker, shelf, question)
    await cached.ask(asker, shelf, question)
    assert cached.cost == HIT
    await library.execute(change, t=library.tenant)
    with pytest.raises(outcome):
        await cached.ask(asker, shelf, question)


async def test_an_exhausted_quota_of_tokens_does_not_stop_what_spends_none(
    cached: Cached, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    await library.execute(
        "INSERT INTO eai.quotas (tenant_id, id, metric, period, limit_value) "
        "VALUES (:t, gen_random_uuid(), 'tokens', 'month', 1000)",
        t=library.tenant,
    )
    await cached.ask(asker, shelf)
    await library.execute("UPDATE eai.quota_usage SET used = 1000 WHERE tenant_id = :t", t=library.tenant)
    await cached.ask(asker, shelf)
    assert cached.cost == HIT
    with pytest.raises(QuotaExceeded):
        await cached.ask(asker, shelf, "something else")


@pytest.mark.parametrize("level", ["confidential", "secret"])
async def test_what_is_above_the_level_that_the_tenant_allows_is_never_kept(
    cached: Cached, library: Library, level: str
) -> None:
    rank = Classification(level).rank
    asker, shelf = await library.principal(clearance=Classification.SECRET), await library.base()
    await library.document(shelf, "secret refund", level=Classification(level))
    for _ in range(2):
        await cached.ask(asker, shelf)
        assert cached.cost[1] == 1  # the vector of the question is of the base's level
    allow = "UPDATE eai.tenants SET cache_max_classification = :rank WHERE tenant_id = :t"
    await library.execute(allow, rank=rank, t=library.tenant)
    await cached.ask(asker, shelf)
    await cached.ask(asker, shelf)
    assert cached.cost == HIT
    await library.execute(allow, rank=rank - 1, t=library.tenant)
    await cached.ask(asker, shelf)
    assert cached.cost == VECTOR_HIT
    await library.execute(allow, rank=None, t=library.tenant)
    await cached.ask(asker, shelf)
    assert cached.cost == MISS


async def test_a_question_that_was_raised_above_the_allowed_level_is_not_kept(
    cached: Cached, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    question = "refund to FR76 3000 6000 0112 3456 7890 189"  # raised to confidential
    for _ in range(2):
        await cached.ask(asker, shelf, question)
        assert cached.cost == MISS
    assert cached.entries._entries == {}


async def test_what_was_torn_or_changed_while_it_was_searched_is_not_kept(
    database: Database, vectors: Vectors, audit: Audit, library: Library
) -> None:
    cached = cached_path(database, vectors, audit)
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "open refund")

    def meanwhile(passage: str) -> Action:
        async def happens() -> None:
            await library.document(shelf, passage)

        return happens

    # The first is noticed, since the answer is short, and the question is searched again.
    cached.index._actions += [meanwhile("third refund"), meanwhile("second refund")]
    assert sorted(contents(await cached.ask(asker, shelf))) == ["open refund", "second refund"]
    assert len(contents(await cached.ask(asker, shelf))) == 3
    assert cached.cost[1] == 1


async def test_a_hit_is_on_record_as_a_retrieval_and_as_no_call_of_a_model(
    cached: Cached, library: Library, database: Database
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    await cached.ask(asker, shelf)
    await cached.ask(asker, shelf)
    async with database.transaction(library.tenant) as session:
        events = (
            await session.execute(
                text("""
                    SELECT action, body->'facts'->>'is_cached', body->'facts'->>'count'
                      FROM (SELECT seq, action, convert_from(body, 'UTF8')::jsonb AS body
                              FROM eai.audit_events) e ORDER BY seq""")
            )
        ).all()
        used = (
            await session.execute(text("SELECT unit, count(*) FROM eai.usage_events GROUP BY unit"))
        ).all()
    assert [tuple(event) for event in events] == [
        ("model.invoke", None, None),
        ("knowledge.query", None, "1"),
        ("knowledge.query", "true", "1"),
    ]
    assert dict(tuple(row) for row in used) == {"tokens": 1, "retrieval_queries": 2}


class TestTheStore:
    """Attack 31 and fault 37: whatever became of an entry, it is a miss and never an error."""

    @pytest.fixture
    async def asked(self, cached: Cached, library: Library) -> tuple[Asker, Shelf]:
        asker, shelf = await library.principal(), await library.base()
        await library.document(shelf, REFUND)
        await cached.ask(asker, shelf)
        return asker, shelf

    async def test_corrupted(self, cached: Cached, asked: tuple[Asker, Shelf]) -> None:
        for name, (until, value) in list(cached.entries._entries.items()):
            cached.entries._entries[name] = (until, value[:-1] + bytes([value[-1] ^ 1]))
        assert contents(await cached.ask(*asked)) == [REFUND]
        assert cached.cost == MISS
        await cached.ask(*asked)
        assert cached.cost == HIT

    async def test_truncated_or_replaced_by_noise(self, cached: Cached, asked: tuple[Asker, Shelf]) -> None:
        for noise in (b"", b"x", bytes(12), bytes(500)):
            for name, (until, _) in list(cached.entries._entries.items()):
                cached.entries._entries[name] = (until, noise)
            assert contents(await cached.ask(*asked)) == [REFUND]
            assert cached.cost == MISS

    async def test_moved_to_another_name(self, cached: Cached, asked: tuple[Asker, Shelf]) -> None:
        (one, first), (two, second) = cached.entries._entries.items()
        cached.entries._entries[one], cached.entries._entries[two] = second, first
        assert contents(await cached.ask(*asked)) == [REFUND]
        assert cached.cost == MISS

    async def test_copied_to_another_tenant(
        self, cached: Cached, asked: tuple[Asker, Shelf], other_library: Library
    ) -> None:
        mine = list(cached.entries._entries.values())
        stranger, shelf = await other_library.principal(), await other_library.base()
        await other_library.document(shelf, "their refund")
        await cached.ask(stranger, shelf)
        for entry in mine:
            for name in list(cached.entries._entries)[2:]:
                cached.entries._entries[name] = entry
            assert contents(await cached.ask(stranger, shelf)) == ["their refund"]
            assert cached.cost == MISS

    async def test_not_to_be_reached(
        self, database: Database, vectors: Vectors, audit: Audit, library: Library, tmp_path: Path
    ) -> None:
        nobody = RedisStore(f"unix://{tmp_path}/nobody.sock")
        cached = cached_path(database, vectors, audit, nobody)
        asker, shelf = await library.principal(), await library.base()
        await library.document(shelf, REFUND)
        for _ in range(2):
            assert contents(await cached.ask(asker, shelf)) == [REFUND]
            assert cached.cost == MISS
        await nobody.close()

    async def test_older_than_fifteen_minutes(
        self, cached: Cached, asked: tuple[Asker, Shelf], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also where the store keeps it for longer than it was told."""
        later = datetime.now(UTC) + timedelta(minutes=15)
        monkeypatch.setattr(SystemClock, "now", lambda _: later)
        assert contents(await cached.ask(*asked)) == [REFUND]
        assert cached.cost == MISS
        await cached.ask(*asked)
        assert cached.cost == HIT

    async def test_sealed_under_a_key_that_was_succeeded(
        self, cached: Cached, asked: tuple[Asker, Shelf], library: Library, database: Database
    ) -> None:
        async with database.transaction(library.tenant) as session:
            assert await cached.keyring.succeed(session, library.tenant, kept_s=0) == {"cache": 2}
        await cached.ask(*asked)
        assert cached.cost == HIT  # this process has not heard of it yet
        cached.keyring.forget(library.tenant)
        assert contents(await cached.ask(*asked)) == [REFUND]
        assert cached.cost == MISS
        await cached.ask(*asked)
        assert cached.cost == HIT


async def test_a_hit_of_which_a_passage_is_gone_is_searched_anew(cached: Cached, library: Library) -> None:
    """Even where no epoch told of it: the rows are looked at, not the entry."""
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, "one refund", "two refund")
    await cached.ask(asker, shelf)
    await library.execute("DELETE FROM eai.kb_chunks WHERE id = :id", id=book.points[0])
    assert contents(await cached.ask(asker, shelf)) == ["two refund"]
    assert cached.cost[1] >= 1
