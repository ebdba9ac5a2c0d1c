"""Single meetings that schedules once ran into, put together step by step."""

from eai.knowledge.documents.schemas import DocumentAcl
from tests.fakes.memory_vectors import MemoryVectors
from tests.simulation.scheduler import Actor
from tests.simulation.templates import Tenant
from tests.simulation.world import World, quiet


async def _until(world: World, actor: Actor, what: str | None) -> None:
    """Let `actor` alone go on until it stands before `what`, or has ended."""
    while not actor.is_done:
        await world.loop.settled()
        gates = [gate for gate in world.scheduler.ready() if gate.actor is actor]
        if not gates or gates[0].what == what:
            return
        world.scheduler.release(gates[0])


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


def test_rights_are_revoked_while_a_generation_is_dropped(world: World) -> None:
    """The chunks that were to move have gone with their generation: that is no reason to refuse."""
    world.scheduler.forget()
    world.announced.clear()
    world.vectors.inner = MemoryVectors()
    tenant = world.templates[1].copied(world.admin, world.vectors.inner)
    with quiet():
        world.loop.run_until_complete(_revoked_while_dropped(world, tenant))
    left = world.admin.execute(
        "SELECT (SELECT count(*) FROM eai.kb_generations WHERE tenant_id = %(t)s),"
        " (SELECT array_length(readers, 1) FROM eai.kb_documents WHERE tenant_id = %(t)s AND id = %(d)s)",
        {"t": tenant.id, "d": tenant.documents[0]},
    ).fetchone()
    assert left == (1, 1)
