"""When passages grow longer or shorter, the weights of all of them follow."""

import asyncio
from uuid import UUID

import numpy as np
import pytest

from eai.access.classification import Classification
from eai.access.rights_class import generation_key
from eai.kernel.ids import PointId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.bases.schemas import BaseOut
from eai.knowledge.lexical import Language, analyse_document, document_weights, term_number
from eai.knowledge.ports import SearchFilter, SearchRequest, SparseVector
from eai.knowledge.statistics import reweighing
from tests.factories.identity import Person
from tests.factories.knowledge import Knowledge, me
from tests.fakes.vectors import Paused

TEXT = "refund policy for late deliveries"


async def weight_of(knowledge: Knowledge, base: BaseHandle, word: str) -> dict[UUID, float]:
    """The weight of a word in each point, as the engine scores it."""
    (term,) = analyse_document(word, Language.ENGLISH)
    one = SparseVector(np.array([term_number(term)], np.uint32), np.ones(1, np.float32))
    scope = SearchFilter(generation_key(base.tenant, base.generation.id), None)
    hits = await knowledge.vectors.search(base.generation.space, SearchRequest(scope, 100, sparse=one))
    return {hit.id: hit.score for hit in hits.sparse}


async def average(knowledge: Knowledge, by: Person, base: BaseOut) -> float:
    return (await knowledge.handle(by, base)).generation.average_length


def expected(average_length: float, text: str, word: str) -> float:
    (term,) = analyse_document(word, Language.ENGLISH)
    weights = document_weights(analyse_document(text, Language.ENGLISH), average_length)
    return float(weights.values[list(weights.indices).index(term_number(term))])


async def test_drift_fixes_a_new_average_and_weighs_everything_with_it(
    knowledge: Knowledge, admin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reweighing, "CHUNKS_PER_BATCH", 2)
    base = await knowledge.base(admin)
    assert await average(knowledge, admin, base) == 120
    await knowledge.document(admin, base, TEXT, TEXT, TEXT, TEXT, TEXT)
    handle = await knowledge.handle(admin, base)
    length = sum(analyse_document(TEXT, Language.ENGLISH).values())
    assert handle.generation.average_length == length
    before = await weight_of(knowledge, handle, "refund")
    assert list(before.values()) == [pytest.approx(expected(120, TEXT, "refund"), abs=1e-5)] * 5
    assert await knowledge.work(admin.subject.tenant) == ["knowledge.reweigh"]
    after = await weight_of(knowledge, handle, "refund")
    assert after.keys() == before.keys()
    assert list(after.values()) == [pytest.approx(expected(length, TEXT, "refund"), abs=1e-5)] * 5


async def test_many_drifts_queue_one_job(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    for times in (1, 4, 16, 64):
        await knowledge.document(admin, base, " ".join([TEXT] * times))
    assert await knowledge.work(admin.subject.tenant) == ["knowledge.reweigh"]
    handle = await knowledge.handle(admin, base)
    weights = sorted((await weight_of(knowledge, handle, "refund")).values())
    fixed = handle.generation.average_length
    assert weights == pytest.approx(
        sorted(expected(fixed, " ".join([TEXT] * times), "refund") for times in (1, 4, 16, 64)), abs=1e-5
    )


async def test_a_drift_during_the_last_batch_begins_anew(
    knowledge: Knowledge, admin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reweighing, "CHUNKS_PER_BATCH", 1)
    base = await knowledge.base(admin)
    await knowledge.document(admin, base, TEXT, TEXT + " abroad")
    ((_, older),) = await knowledge.queued(admin.subject.tenant)
    slow = Paused(knowledge.vectors, "set_sparse")
    job = reweighing.Reweighing(knowledge.database, slow, knowledge.jobs)  # type: ignore[arg-type]
    handle = await knowledge.handle(admin, base)
    points = sorted(await weight_of(knowledge, handle, "refund"))
    await knowledge.rows(
        admin.subject.tenant,
        "UPDATE eai.jobs SET progress = jsonb_build_object('after', CAST(:after AS text), 'average',"
        " CAST(:average AS float8))",
        after=str(PointId(points[0])),
        average=handle.generation.average_length,
    )
    late = asyncio.create_task(job.run(await knowledge.claim(admin.subject.tenant, older)))
    await slow.reached.wait()
    await knowledge.document(admin, base, " ".join([TEXT] * 4))
    assert await knowledge.queued(admin.subject.tenant) == []
    slow.go_on.set()
    await late
    handle = await knowledge.handle(admin, base)
    weights = sorted((await weight_of(knowledge, handle, "refund")).values())
    fixed = handle.generation.average_length
    texts = (TEXT, TEXT + " abroad", " ".join([TEXT] * 4))
    assert weights == pytest.approx(sorted(expected(fixed, text, "refund") for text in texts), abs=1e-5)


async def test_small_drift_changes_nothing(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    await knowledge.document(admin, base, TEXT, TEXT)
    await knowledge.work(admin.subject.tenant)
    fixed = await average(knowledge, admin, base)
    await knowledge.document(admin, base, TEXT + " abroad")
    assert await average(knowledge, admin, base) == fixed
    assert await knowledge.queued(admin.subject.tenant) == []


async def test_what_not_everybody_may_read_has_no_part_in_the_average(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    await knowledge.identity.person(admin, clearance="internal")
    await knowledge.document(admin, base, TEXT, readers=frozenset({me(admin)}))
    await knowledge.document(admin, base, TEXT + " secret", classification=Classification.SECRET)
    assert await average(knowledge, admin, base) == 120
    assert await knowledge.queued(admin.subject.tenant) == []


async def test_an_interrupted_reweighing_goes_on_where_it_was(
    knowledge: Knowledge, admin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reweighing, "CHUNKS_PER_BATCH", 2)
    base = await knowledge.base(admin)
    await knowledge.document(admin, base, TEXT, TEXT, TEXT, TEXT, TEXT)
    handle = await knowledge.handle(admin, base)
    ((_, job),) = await knowledge.queued(admin.subject.tenant)
    points = sorted(await weight_of(knowledge, handle, "refund"))
    await knowledge.rows(
        admin.subject.tenant,
        "UPDATE eai.jobs SET progress = jsonb_build_object('after', CAST(:after AS text), 'average',"
        " CAST(:average AS float8))",
        after=str(PointId(points[2])),
        average=handle.generation.average_length,
    )
    await knowledge.worker.run_one(admin.subject.tenant, job)
    weights = await weight_of(knowledge, handle, "refund")
    new = pytest.approx(expected(handle.generation.average_length, TEXT, "refund"), abs=1e-5)
    assert [weights[point] == new for point in points] == [False, False, False, True, True]


async def test_points_written_with_an_average_that_was_replaced_are_weighed_again(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    late = await knowledge.draft(admin, base, TEXT + " and returns")
    await knowledge.document(admin, base, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT)
    await knowledge.work(admin.subject.tenant)
    await knowledge.serve(late)
    handle = await knowledge.handle(admin, base)
    assert [name for name, _ in await knowledge.queued(admin.subject.tenant)] == ["knowledge.reweigh"]
    await knowledge.work(admin.subject.tenant)
    (weight,) = (await weight_of(knowledge, handle, "returns")).values()
    fixed = handle.generation.average_length
    assert weight == pytest.approx(expected(fixed, TEXT + " and returns", "returns"), abs=1e-5)


async def test_an_average_fixed_anew_meanwhile_wins(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    await knowledge.document(admin, base, TEXT)
    ((_, older),) = await knowledge.queued(admin.subject.tenant)
    slow = Paused(knowledge.vectors, "set_sparse")
    job = reweighing.Reweighing(knowledge.database, slow, knowledge.jobs)  # type: ignore[arg-type]
    late = asyncio.create_task(job.run(await knowledge.claim(admin.subject.tenant, older)))
    await slow.reached.wait()
    await knowledge.document(admin, base, " ".join([TEXT] * 4))
    assert await knowledge.work(admin.subject.tenant) == []
    slow.go_on.set()
    await late
    handle = await knowledge.handle(admin, base)
    weights = sorted((await weight_of(knowledge, handle, "refund")).values())
    fixed = handle.generation.average_length
    assert weights == pytest.approx(
        sorted(expected(fixed, text, "refund") for text in (TEXT, " ".join([TEXT] * 4))), abs=1e-5
    )
