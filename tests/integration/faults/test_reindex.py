"""Documents come, change and go while their base is moved to another generation (faults 2, 23, 25, 27)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import select, text

from eai.access.rights_class import generation_key
from eai.kernel.ids import DocumentId, GenerationId, JobId, TenantId
from eai.knowledge.models import Chunk, Generation
from eai.knowledge.ports import Selector, SpaceId
from eai.platform.jobs import Fenced
from tests.integration.faults.outages import (
    Held,
    Turnstile,
    documents,
    eventually,
    have_jobs_taken_over,
    ingest,
    let_leases_run_out,
    query,
    somebody_waits,
    under_load,
)
from tests.invariants import Judge
from tests.provider.steps import Step
from tests.stack import Company, Json, Stack

ENDED = {"completed", "failed", "cancelled"}
REST = " Refunds for everybody."


async def reindex(company: Company, base: str, **wanted: object) -> Json:
    return await company.admin.made(f"/v1/knowledge-bases/{base}/reindex", wanted, status=202)


async def shown(company: Company, base: str, job: Json) -> Json:
    return await company.admin.got(f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}")


async def ended(company: Company, base: str, job: Json) -> Json:
    async def is_over() -> bool:
        return (await shown(company, base, job))["status"] in ENDED

    await eventually(is_over)
    return await shown(company, base, job)


async def found(company: Company, base: str, **request: object) -> list[Json]:
    body = {"query": "refunds", "top_k": 20, **request}
    answer = await company.admin.made(f"/v1/knowledge-bases/{base}/query", body, status=200)
    return list(answer["results"])


async def hits(company: Company, base: str, **request: object) -> set[str]:
    return {hit["document_id"] for hit in await found(company, base, **request)}


async def passages(company: Company, base: str, **request: object) -> set[str]:
    return {hit["content"] for hit in await found(company, base, **request)}


async def settled(company: Company, judge: Judge) -> tuple[str, str]:
    """A base with a document, whose weights are made with the true average."""
    base = await company.base()
    document = await company.document(base, "Refunds are paid within a week.")
    await judge.judge(company.id)
    return base, document


async def generations_of(stack: Stack, company: Company, document: str) -> set[str]:
    """The generations that have chunks of the document."""
    async with stack.platform.database.transaction(TenantId(UUID(company.id))) as session:
        rows = await session.scalars(select(Chunk.generation).where(Chunk.document_id == UUID(document)))
        return set(map(str, rows))


async def is_dropped(stack: Stack, company: Company, generation: str) -> bool:
    """Whether nothing is left of a generation."""
    async with stack.platform.database.transaction(TenantId(UUID(company.id))) as session:
        found = select(Generation.id).where(Generation.id == UUID(generation))
        return await session.scalar(found) is None


@asynccontextmanager
async def halfway(company: Company, turnstile: Turnstile, base: str, **wanted: object) -> AsyncIterator[Json]:
    """A reindex that has embedded what it found and is about to write it, as long as the block lasts."""
    async with turnstile.holding("upsert") as held:
        job = await reindex(company, base, **wanted)
        await held.reached.wait()
        yield job


@pytest.mark.parametrize("wanted", [{}, {"chunk_size": 200}], ids=["copied", "cut anew"])
async def test_whatever_happens_to_documents_meanwhile_is_true_of_both_generations(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge, wanted: dict[str, object]
) -> None:
    base, reader = await company.base(), await company.person("member")
    names = ("kept", "deleted", "hidden", "partly hidden")
    those = {name: await company.document(base, f"Refunds, {name}.{REST}", title=name) for name in names}
    path = f"/v1/knowledge-bases/{base}/documents"
    async with halfway(company, turnstile, base, **wanted) as job:
        gone = await company.admin.delete(f"{path}/{those['deleted']}")
        assert gone.json()["status"] == "deleted"
        for name, acl in (
            ("hidden", {"readers": [reader.reference]}),
            (
                "partly hidden",
                {"chunk_readers": [{"start": 0, "end": 23, "readers": [reader.reference]}]},
            ),
        ):
            answer = await company.admin.put(f"{path}/{those[name]}/acl", json=acl)
            assert answer.status_code == 200, answer.text
        late = (await ingest(company.admin, base, "Late")).json()
        assert late["status"] == "ready"
        assert await generations_of(fragile, company, late["id"]) == {
            job["from"]["generation"],
            job["to"]["generation"],
        }
        whole = {f"Refunds, kept.{REST}", "Late: refunds are paid within a week. Late says so."}
        expected = {*whole, REST.strip()}

        async def is_cut() -> bool:
            now = await passages(company, base)
            assert whole <= now <= expected
            return now == expected

        await eventually(is_cut)
    done = await ended(company, base, job)
    assert (done["status"], done["documents_done"]) == ("completed", 4)
    # Read before its rights changed, and kept after it was cut where it is searched: it is cut here as well.
    await eventually(is_cut)
    await judge.judge(company.id)
    assert await passages(company, base, mode="keyword") == expected


@pytest.mark.parametrize("stage", ["ensure_space", "count"])
@pytest.mark.parametrize("prefer", ["", "respond-async"])
async def test_a_document_prepared_for_a_generation_left_behind_is_prepared_anew(
    company: Company, turnstile: Turnstile, judge: Judge, stage: str, prefer: str
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding(stage) as held:
        submitting = asyncio.create_task(ingest(company.admin, base, "Overtaken", prefer=prefer))
        await held.reached.wait()
        done = await ended(company, base, await reindex(company, base))
        assert done["status"] == "completed"
        held.go_on.set()
        made = (await submitting).json()
    await judge.judge(company.id)
    assert (await documents(company.admin, base))[made["id"]]["status"] == "ready"
    assert await hits(company, base) == {kept, made["id"]}


@asynccontextmanager
async def looking(company: Company, turnstile: Turnstile, base: str) -> AsyncIterator[tuple[Json, Held]]:
    """A reindex that has looked for documents that are missing and is about to count the points."""
    async with turnstile.holding("count") as written:
        job = await reindex(company, base)
        await written.reached.wait()
        async with turnstile.holding("count") as look:
            written.go_on.set()
            await look.reached.wait()
            yield job, look


async def test_a_document_that_is_served_during_the_flip_waits_for_it(
    company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding("ensure_space") as unaware:
        submitting = asyncio.create_task(ingest(company.admin, base, "Late"))
        await unaware.reached.wait()
        async with looking(company, turnstile, base) as (job, look):
            between = [(await ingest(company.admin, base, "Between")).json()["id"]]
            async with turnstile.holding("count") as second_look:
                look.go_on.set()
                await second_look.reached.wait()
                between.append((await ingest(company.admin, base, "At the last moment")).json()["id"])
                async with turnstile.holding("count") as flipping:
                    second_look.go_on.set()
                    await flipping.reached.wait()
                    unaware.go_on.set()
                    await eventually(lambda: somebody_waits(judge.admin_url))
    made = (await submitting).json()
    assert (await ended(company, base, job))["status"] == "completed"
    await judge.judge(company.id)
    assert await hits(company, base) == {kept, *between, made["id"]}


async def test_a_document_that_comes_between_the_second_look_and_the_flip_is_brought_first(
    company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding("ensure_space") as unaware:
        submitting = asyncio.create_task(ingest(company.admin, base, "Late"))
        await unaware.reached.wait()
        async with looking(company, turnstile, base) as (job, look):
            between = (await ingest(company.admin, base, "Between")).json()
            async with turnstile.holding("count") as second_look:
                look.go_on.set()
                await second_look.reached.wait()
                unaware.go_on.set()
                made = (await submitting).json()
                assert made["status"] == "ready"
    assert (await ended(company, base, job))["status"] == "completed"
    await judge.judge(company.id)
    assert await hits(company, base) == {kept, between["id"], made["id"]}


async def test_a_document_that_comes_between_the_look_and_the_flip_is_brought_first(
    company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding("ensure_space") as unaware:
        submitting = asyncio.create_task(ingest(company.admin, base, "Late"))
        await unaware.reached.wait()
        async with looking(company, turnstile, base) as (job, _):
            unaware.go_on.set()
            made = (await submitting).json()
            assert made["status"] == "ready"
    assert (await ended(company, base, job))["status"] == "completed"
    await judge.judge(company.id)
    assert await hits(company, base) == {kept, made["id"]}


async def test_a_document_that_loses_its_points_between_the_look_and_the_flip_is_noticed(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base, kept = await settled(company, judge)
    async with looking(company, turnstile, base) as (job, _):
        late = (await ingest(company.admin, base, "Late")).json()
        lost = GenerationId(UUID(job["to"]["generation"]))
        space = SpaceId(job["to"]["collection"], job["to"]["dimensions"])
        key = generation_key(TenantId(UUID(company.id)), lost)
        await fragile.platform.vectors.delete(space, Selector(key, DocumentId(UUID(late["id"]))))
    failed = await ended(company, base, job)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "reindex_incomplete")
    await judge.judge(company.id)
    assert await hits(company, base) == {kept, late["id"]}


async def test_a_document_that_comes_before_the_flip_is_brought_first(
    company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base, kept = await settled(company, judge)
    async with turnstile.holding("ensure_space") as unaware:
        submitting = asyncio.create_task(ingest(company.admin, base, "Late"))
        await unaware.reached.wait()
        # Cut anew, passages are of another length than was guessed: all is weighed again before the flip.
        async with turnstile.holding("set_sparse") as weighing:
            job = await reindex(company, base, chunk_size=400)
            await weighing.reached.wait()
            unaware.go_on.set()
            made = (await submitting).json()
            assert made["status"] == "ready"
    assert (await ended(company, base, job))["documents_done"] == 2
    await judge.judge(company.id)
    assert await hits(company, base) == {kept, made["id"]}


async def test_a_generation_that_lost_points_is_not_flipped_to(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base, kept = await settled(company, judge)
    async with turnstile.holding("set_sparse") as weighing:
        job = await reindex(company, base, chunk_size=400)
        await weighing.reached.wait()
        lost = GenerationId(UUID(job["to"]["generation"]))
        space = SpaceId(job["to"]["collection"], job["to"]["dimensions"])
        selector = Selector(generation_key(TenantId(UUID(company.id)), lost))
        await fragile.platform.vectors.delete(space, selector)
    failed = await ended(company, base, job)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "reindex_incomplete")
    await judge.judge(company.id)
    now = await company.admin.got(f"/v1/knowledge-bases/{base}")
    assert (now["vector_generation"], now["chunk_size"]) == (job["from"]["generation"], 800)
    assert await hits(company, base) == {kept}


async def test_a_document_that_only_the_next_model_refuses_is_served_and_brought_later(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    model = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
    base, provider = await company.base(), await fragile.provider()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with halfway(company, turnstile, base, embedding_model=model) as job:
        await provider.say(Step(change={"dimensions": 5}))
        late = (await ingest(company.admin, base, "Late")).json()
        assert late["status"] == "ready"
        assert await generations_of(fragile, company, late["id"]) == {job["from"]["generation"]}
    assert (await ended(company, base, job))["status"] == "completed"
    assert await generations_of(fragile, company, late["id"]) == {
        job["from"]["generation"],
        job["to"]["generation"],
    }
    assert await hits(company, base) == {kept, late["id"]}
    await judge.judge(company.id)


@asynccontextmanager
async def prepared_for_both(
    company: Company, turnstile: Turnstile, base: str
) -> AsyncIterator[tuple[Json, asyncio.Task[httpx2.Response]]]:
    """A document whose points are in both generations and that is about to be served, after the flip."""
    async with AsyncExitStack() as stack:
        async with halfway(company, turnstile, base) as job:
            first = await stack.enter_async_context(turnstile.holding("count"))
            submitting = asyncio.create_task(ingest(company.admin, base, "Late"))
            await first.reached.wait()
            # The second count of an ingestion is that of the generation beside.
            second = await stack.enter_async_context(turnstile.holding("count"))
            first.go_on.set()
            await second.reached.wait()
        assert (await ended(company, base, job))["status"] == "completed"
        yield job, submitting


async def test_a_document_that_was_prepared_for_both_generations_is_served_after_the_flip_as_it_is(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with prepared_for_both(company, turnstile, base) as (job, submitting):
        pass
    late = (await submitting).json()
    assert late["status"] == "ready"
    both = {job["from"]["generation"], job["to"]["generation"]}
    assert await generations_of(fragile, company, late["id"]) == both
    assert await hits(company, base) == {kept, late["id"]}
    await judge.judge(company.id)
    path = f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}/rollback"
    back = await ended(company, base, await company.admin.made(path, {}, status=202))
    assert back["status"] == "completed"
    assert await hits(company, base) == {kept, late["id"]}
    await judge.judge(company.id)


async def test_a_document_that_was_prepared_for_a_generation_dropped_since_is_prepared_anew(
    fragile: Stack,
    company: Company,
    turnstile: Turnstile,
    judge: Judge,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dropping = fragile.platform.generation_dropping
    monkeypatch.setattr(dropping, "_grace_s", 0)
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with prepared_for_both(company, turnstile, base) as (job, submitting):
        assert await dropping.drop_retired(TenantId(UUID(company.id))) == 1
    late = (await submitting).json()
    assert late["status"] == "ready"
    assert await generations_of(fragile, company, late["id"]) == {job["to"]["generation"]}
    assert await hits(company, base) == {kept, late["id"]}
    await judge.judge(company.id)


async def test_a_document_that_is_on_its_way_when_a_reindex_is_cancelled_is_served(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with halfway(company, turnstile, base) as job:
        # The second count of an ingestion is that of the generation beside.
        async with turnstile.holding("count") as first:
            submitting = asyncio.create_task(ingest(company.admin, base, "Late"))
            await first.reached.wait()
            async with turnstile.holding("count") as second:
                first.go_on.set()
                await second.reached.wait()
                path = f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}/cancel"
                assert (await company.admin.made(path, {}, status=200))["status"] == "cancelled"
                await eventually(lambda: is_dropped(fragile, company, job["to"]["generation"]))
        made = await submitting
    assert (made.status_code, made.json()["status"]) == (201, "ready")
    await judge.judge(company.id)
    assert await hits(company, base) == {kept, made.json()["id"]}


async def test_what_another_attempt_has_flipped_to_is_not_cleared_away(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base, kept = await settled(company, judge)
    jobs, tenant = fragile.platform.jobs, TenantId(UUID(company.id))
    async with turnstile.holding("ensure_space") as first, turnstile.holding("ensure_space") as second:
        job = await reindex(company, base)
        await first.reached.wait()
        async with fragile.platform.database.transaction(tenant) as session:
            await session.execute(text("UPDATE eai.jobs SET lease_until = now() WHERE state = 'running'"))
            run = await jobs.claim(session, tenant, JobId(UUID(job["job_id"])))
        assert run is not None
        frozen = asyncio.create_task(fragile.platform.reindexing.run(run))
        await second.reached.wait()
        await let_leases_run_out(judge.admin_url, company.id)
        assert (await ended(company, base, job))["status"] == "completed"
    with pytest.raises(Fenced):
        await frozen
    assert await hits(company, base) == {kept}
    await judge.judge(company.id)


@pytest.mark.parametrize("is_stored", [True, False])
async def test_an_attempt_that_was_taken_over_does_not_undo_a_change_of_rights(
    company: Company, turnstile: Turnstile, judge: Judge, is_stored: bool
) -> None:
    base, kept = await settled(company, judge)
    reader = await company.person("member")

    async def hide() -> None:
        path = f"/v1/knowledge-bases/{base}/documents/{kept}/acl"
        answer = await company.admin.put(path, json={"readers": [reader.reference]})
        assert answer.status_code == 200, answer.text

    async with turnstile.holding("upsert", is_frozen=True) as zombie, turnstile.holding("count") as present:
        job = await reindex(company, base)
        await zombie.reached.wait()
        if not is_stored:
            await hide()
        await have_jobs_taken_over(judge.admin_url, company.id)
        await present.reached.wait()
        if is_stored:
            present.go_on.set()
            assert (await ended(company, base, job))["status"] == "completed"
            await hide()
            await judge.judge(company.id)
        zombie.go_on.set()
        await zombie.ended.wait()
    assert (await ended(company, base, job))["status"] == "completed"
    await judge.judge(company.id)


@pytest.mark.parametrize("stage", ["ensure_space", "upsert", "count"])
async def test_a_base_deleted_while_it_is_reindexed_leaves_nothing(
    company: Company, turnstile: Turnstile, judge: Judge, stage: str
) -> None:
    base = await company.base()
    await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding(stage) as held:
        job = await reindex(company, base)
        await held.reached.wait()
        assert (await company.admin.delete(f"/v1/knowledge-bases/{base}")).status_code == 202

        async def is_deleted() -> bool:
            return bool((await company.admin.got(f"/v1/deletion-receipts/{base}"))["status"] == "deleted")

        await eventually(is_deleted)
    await judge.judge(company.id)
    shown = await company.admin.got(f"/v1/jobs/{job['job_id']}")
    assert (shown["state"], shown["error"]["code"]) == ("cancelled", "no_longer_wanted")


async def test_a_question_that_was_put_before_the_flip_finds_what_came_after(
    fragile: Stack, company: Company, turnstile: Turnstile
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding("search") as held:
        asking = asyncio.create_task(query(company.admin, base, "refunds"))
        await held.reached.wait()
        assert (await ended(company, base, await reindex(company, base)))["status"] == "completed"
        late = await company.document(base, "Refunds came late.")
    answer = await asking
    assert {hit["document_id"] for hit in answer.json()["results"]} == {kept, late}


async def test_a_generation_dropped_under_a_question_is_not_missed(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropping = fragile.platform.generation_dropping
    monkeypatch.setattr(dropping, "_grace_s", 0)
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding("search") as held:
        asking = asyncio.create_task(query(company.admin, base, "refunds"))
        await held.reached.wait()
        assert (await ended(company, base, await reindex(company, base)))["status"] == "completed"
        assert await dropping.drop_retired(TenantId(UUID(company.id))) == 1
        await judge.judge(company.id)
    assert {hit["document_id"] for hit in (await asking).json()["results"]} == {kept}
    told = [event["action"] for event in (await company.admin.got("/v1/audit/events", limit=200))["data"]]
    assert told.count("knowledge_base.generation.dropped") == 1


async def test_reindexes_under_load_cost_no_refusal_and_lose_nothing(company: Company, judge: Judge) -> None:
    base = await company.base()
    kept = [await company.document(base, f"Refunds, number {n}.", title="Kept") for n in range(5)]
    missed: list[httpx2.Response] = []

    async def watch() -> None:
        while True:
            answer = await company.admin.post(
                f"/v1/knowledge-bases/{base}/query",
                json={"query": "kept refunds number", "top_k": 100, "mode": "vector"},
            )
            found = {hit["document_id"] for hit in answer.json().get("results", ())}
            if not found.issuperset(kept):
                missed.append(answer)

    async with under_load(company.admin, base, clients=1) as load:
        watching = asyncio.create_task(watch())
        for wanted in ({}, {"chunk_size": 200}):
            done = await ended(company, base, await reindex(company, base, **wanted))
            assert done["status"] == "completed", done
            await load.goes_on(1)
        watching.cancel()
    assert (missed, load.unforeseen, load.statuses - {200, 201, 202}) == ([], [], set())
    await judge.judge(company.id)
    states = {each["status"] for each in (await documents(company.admin, base)).values()}
    assert states == {"ready"}
