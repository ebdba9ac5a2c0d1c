"""Single meetings that schedules once ran into, put together step by step."""

from uuid import uuid4

from eai.ingestion.schemas import ReplacementFields
from eai.ingestion.submission import Revision, Text
from eai.kernel.ids import JobId, TenantId
from eai.knowledge.documents.schemas import DocumentAcl
from eai.knowledge.documents.span_rights import RECUT
from eai.knowledge.statistics.repository import StatisticRows
from eai.reindex.schemas import ReindexRequest
from tests.simulation import rest, state
from tests.simulation.outside import OTHER
from tests.simulation.processes import Process
from tests.simulation.scheduler import Actor
from tests.simulation.templates import Tenant
from tests.simulation.world import World, quiet, text_of

PART = 20
"""So many characters of a document are hidden."""


def _begun(world: World, template: int) -> Tenant:
    return world.templates[template].copied(world.admin, world.begin(), TenantId(uuid4()))


async def _until(world: World, actor: Actor, what: str | None) -> None:
    """Let `actor` alone go on until it stands before `what`, or has ended."""
    while not actor.is_done:
        await world.loop.settled()
        gates = [gate for gate in world.scheduler.ready() if gate.actor is actor]
        if not gates or gates[0].what == what:
            return
        world.scheduler.release(gates[0])


async def _to_its_end(world: World, actor: Actor) -> None:
    """The same, and let the time pass that it waits for."""
    while not actor.is_done:
        await _until(world, actor, None)
        if not actor.is_done and (time := world.loop.next_time()) is not None:
            world.loop.advance(time)


async def _revoked_while_dropped(world: World, tenant: Tenant) -> None:
    process, other = world.processes.take(), world.processes.take()
    ann, document = tenant.people["ann"], tenant.documents[0]

    async def revoke() -> None:
        async with world.database.transaction(tenant.id) as session:
            await process.platform.documents.set_acl(
                session, tenant.admin, str(tenant.base), str(document),
                DocumentAcl(readers=[ann.reference]), revision=None,
            )  # fmt: skip

    async def drop() -> None:
        await other.platform.generation_dropping.drop_retired(tenant.id)
        await world.rest(other, tenant.id)

    revoking, dropping = world.scheduler.spawn("revokes", revoke), world.scheduler.spawn("drops", drop)
    await _until(world, revoking, "UPDATE eai.kb_chunks")
    await _until(world, dropping, None)
    await _until(world, revoking, None)
    for actor in (dropping, revoking):
        assert actor.main is not None
        actor.main.result()


async def _averaged_while_served(world: World, tenant: Tenant) -> bool:
    """Whether somebody who fixes another average waits for a text that few may read and is being served."""
    process = world.processes.take()
    text = Text(text_of("second", 1).encode(), "text/plain")
    revision = Revision(uuid4(), ReplacementFields(language="en"), text, frozenset({"language"}))
    base, document = str(tenant.base), str(tenant.documents[1])
    await process.platform.ingestion.replace(tenant.admin, base, document, revision)

    async def fix() -> None:
        async with world.database.transaction(tenant.id) as session:
            await StatisticRows(session, tenant.id, world.templates[0].generations[0]).set_average_length(5.0)

    serving = world.scheduler.spawn("serves", lambda: world.rest(process, tenant.id))
    fixing = world.scheduler.spawn("fixes", fix)
    await _until(world, serving, "SELECT eai.audit_append")
    await _until(world, fixing, None)
    waits = not fixing.is_done
    await _until(world, serving, "COMMIT")
    await _until(world, serving, None)
    await _until(world, fixing, None)
    await _until(world, serving, None)
    return waits and fixing.is_done and serving.is_done


async def _thawed_after_the_flip(world: World, tenant: Tenant) -> None:
    """A text is written for two generations, frozen, written again by another; and they change places."""
    process, base, document = world.processes.take(), str(tenant.base), str(tenant.documents[0])
    async with world.database.transaction(tenant.id) as session:
        await process.platform.reindexes.request(
            session, tenant.admin, base, JobId(uuid4()), ReindexRequest(embedding_model=OTHER.name)
        )
    text = Text(text_of("second", 1).encode(), "text/plain")
    revision = Revision(uuid4(), ReplacementFields(language="en"), text, frozenset({"language"}))
    await process.platform.ingestion.replace(tenant.admin, base, document, revision)
    reindex, ingestion = (each.job for each in world.announced)
    world.announced.clear()

    frozen = _works(world, tenant, world.processes.take(), ingestion)
    await _until(world, frozen, "vectors.ensure_space")
    world.admin.execute("UPDATE eai.jobs SET lease_until = now() - interval '1 h' WHERE id = %s", [ingestion])
    takes_over = _works(world, tenant, world.processes.take(), ingestion)
    await _until(world, takes_over, "SELECT eai.kb_documents FOR UPDATE")
    for actor in (_works(world, tenant, world.processes.take(), reindex), frozen, takes_over):
        await _until(world, actor, None)
        assert actor.is_done
    await world.rest(process, tenant.id)


async def _cut_while_built(world: World, tenant: Tenant) -> None:
    """A reindex has written the points of a document and not its rows yet, and the document is cut anew."""
    process, base = world.processes.take(), str(tenant.base)
    async with world.database.transaction(tenant.id) as session:
        await process.platform.reindexes.request(
            session, tenant.admin, base, JobId(uuid4()), ReindexRequest(embedding_model=OTHER.name)
        )
    building = _works(world, tenant, world.processes.take(), world.announced.pop().job)
    for gate in ("vectors.count", "SELECT eai.kb_documents FOR UPDATE"):
        await _until(world, building, gate)
    await _hide_a_part(world, tenant, process)
    assert RECUT in {each.name for each in world.announced}
    cutting = world.scheduler.spawn("cuts", lambda: world.rest(process, tenant.id))
    for actor in (cutting, building):
        await _until(world, actor, None)
        assert actor.is_done
    await world.rest(process, tenant.id)


async def _cut_while_flipped(world: World, tenant: Tenant) -> None:
    """What is built comes to be searched while it is looked for what is to be cut."""
    process, base = world.processes.take(), str(tenant.base)
    async with world.database.transaction(tenant.id) as session:
        await process.platform.reindexes.request(
            session, tenant.admin, base, JobId(uuid4()), ReindexRequest(embedding_model=OTHER.name)
        )
    flipping = _works(world, tenant, world.processes.take(), world.announced.pop().job)
    await _until(world, flipping, "SELECT eai.knowledge_bases FOR UPDATE")
    await _hide_a_part(world, tenant, process)
    (recut,) = (each for each in world.announced if each.name == RECUT)
    world.announced.remove(recut)
    cutting = _works(world, tenant, world.processes.take(), recut.job)
    await _until(world, cutting, "DELETE eai.kb_chunks")
    await _until(world, cutting, "COMMIT")
    await _until(world, cutting, "SELECT eai.knowledge_bases")
    await _until(world, cutting, "SELECT eai.kb_generations")
    await _until(world, flipping, None)
    await _until(world, cutting, None)
    await _to_its_end(world, flipping)
    await _to_its_end(world, cutting)
    await world.rest(process, tenant.id)


async def _hide_a_part(world: World, tenant: Tenant, process: Process) -> None:
    part = {"start": 0, "end": PART, "readers": [tenant.people["ann"].reference]}
    acl = DocumentAcl.model_validate({"chunk_readers": [part], "reason": "Test"})
    base, document = str(tenant.base), str(tenant.documents[0])
    async with world.database.transaction(tenant.id) as session:
        await process.platform.documents.set_acl(session, tenant.admin, base, document, acl, revision=None)


def _not_cut(world: World, tenant: Tenant) -> int:
    """How many passages of the document, where it is searched, are hidden in part."""
    row = world.admin.execute(
        "SELECT count(*) FROM eai.kb_chunks c"
        "  JOIN eai.knowledge_bases b ON b.tenant_id = c.tenant_id AND b.vector_generation = c.generation"
        " WHERE c.tenant_id = %s AND document_id = %s AND start_offset < %s AND end_offset > %s",
        [tenant.id, tenant.documents[0], PART, PART],
    ).fetchone()
    assert row is not None
    return int(row[0])


def _works(world: World, tenant: Tenant, process: Process, job: JobId) -> Actor:
    return world.scheduler.spawn("works", lambda: process.worker.run_one(tenant.id, job))


def test_who_wakes_after_the_flip_leaves_the_points_of_who_took_over(world: World) -> None:
    """Those of the generation that is searched no more too: it may be gone back to."""
    tenant = _begun(world, 0)
    with quiet(world.loop):
        world.loop.run_until_complete(_thawed_after_the_flip(world, tenant))
    now = state.read(world.admin, tenant)
    assert sorted(generation.state for generation in now.generations.values()) == ["retired", "serving"]
    assert [*rest.faults(world.admin, tenant, now, world.vectors.inner)] == []


def test_who_cuts_a_document_anew_leaves_the_points_that_a_reindex_has_no_rows_of_yet(world: World) -> None:
    tenant = _begun(world, 0)
    with quiet(world.loop):
        world.loop.run_until_complete(_cut_while_built(world, tenant))
    now = state.read(world.admin, tenant)
    assert sorted(generation.state for generation in now.generations.values()) == ["retired", "serving"]
    assert [*rest.faults(world.admin, tenant, now, world.vectors.inner)] == []


def test_what_comes_to_be_searched_while_a_document_is_cut_anew_is_cut_as_well(world: World) -> None:
    tenant = _begun(world, 0)
    with quiet(world.loop):
        world.loop.run_until_complete(_cut_while_flipped(world, tenant))
    now = state.read(world.admin, tenant)
    assert sorted(generation.state for generation in now.generations.values()) == ["retired", "serving"]
    assert _not_cut(world, tenant) == 0
    assert [*rest.faults(world.admin, tenant, now, world.vectors.inner)] == []


def test_an_average_is_fixed_once_what_was_written_with_the_former_one_is_there(world: World) -> None:
    """Else nobody would weigh that text again: neither who fixes the average nor who serves it knows."""
    tenant = _begun(world, 0)
    with quiet(world.loop):
        assert world.loop.run_until_complete(_averaged_while_served(world, tenant))


def test_rights_are_revoked_while_a_generation_is_dropped(world: World) -> None:
    """The chunks that were to move have gone with their generation: that is no reason to refuse."""
    tenant = _begun(world, 1)
    with quiet(world.loop):
        world.loop.run_until_complete(_revoked_while_dropped(world, tenant))
    left = world.admin.execute(
        "SELECT (SELECT count(*) FROM eai.kb_generations WHERE tenant_id = %(t)s),"
        " (SELECT array_length(readers, 1) FROM eai.kb_documents WHERE tenant_id = %(t)s AND id = %(d)s)",
        {"t": tenant.id, "d": tenant.documents[0]},
    ).fetchone()
    assert left == (1, 1)
