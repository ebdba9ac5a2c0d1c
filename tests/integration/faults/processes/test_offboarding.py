"""A tenant leaves while its jobs run: no model is called, and all that it brought goes (fault 28)."""

import psycopg

from tests.integration.faults.outages import ingest
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortals
from tests.invariants import Judge
from tests.provider.steps import Step
from tests.stack import Company, Stack


async def test_a_tenant_that_leaves_while_its_jobs_run_leaves_its_audit_alone(
    mortals: Mortals, workless: Stack, company: Company, judge: Judge
) -> None:
    provider, admin = await workless.provider(), company.admin
    model = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
    member = await company.person("tenant_admin")
    moving, filling = [await company.base(embedding_model=model) for _ in range(2)]
    await company.document(moving, "Refunds are paid within a week.")
    await provider.forget()
    await provider.usually(Step(is_held=True))
    begun = [
        (await ingest(admin, filling, f"Under way {n}", prefer="respond-async")).json() for n in range(6)
    ]
    job = await admin.made(f"/v1/knowledge-bases/{moving}/reindex", {"chunk_size": 200}, status=202)
    async with mortals.born(Order("worker")):
        await provider.has_come(within_s=60)
        flipped = {"engaged": True, "reason": "The contract has ended."}
        assert (await admin.put("/v1/kill-switches/tenant", json=flipped)).status_code == 200
        suspended = await admin.patch(f"/v1/principals/{member.id}", json={"suspended": True})
        assert suspended.status_code == 200
        assert (await member.api.get("/v1/me")).status_code == 401
        called = len(await provider.requests())
        for base in (moving, filling):
            assert (await admin.delete(f"/v1/knowledge-bases/{base}")).status_code in {200, 202}
            assert (await admin.get(f"/v1/knowledge-bases/{base}")).status_code == 404
        await provider.usually(Step())
        await provider.go_on()
        await judge.judge(company.id)
    assert len(await provider.requests()) == called
    assert await left_of(judge, company) == dict.fromkeys(BROUGHT, 0)
    for base in (moving, filling):
        receipt = await admin.got(f"/v1/deletion-receipts/{base}")
        assert (receipt["status"], receipt["vectors_remaining"]) == ("deleted", 0)
    assert {(await admin.got(f"/v1/jobs/{each['job_id']}"))["state"] for each in begun} == {"cancelled"}
    assert (await admin.get(f"/v1/knowledge-bases/{moving}/reindex-jobs/{job['job_id']}")).status_code == 404
    verdict = await admin.got("/v1/audit/verify")
    assert verdict["valid"] is True
    told = await admin.got("/v1/audit/events", action="knowledge_base.deleted", limit=200)
    assert {each["resource"]["id"] for each in told["data"]} == {moving, filling}


BROUGHT = ("knowledge_bases", "kb_documents", "kb_document_versions", "kb_chunks", "kb_generations")


async def left_of(judge: Judge, company: Company) -> dict[str, int]:
    """How many rows there are of what the tenant brought."""
    async with await psycopg.AsyncConnection.connect(judge.admin_url) as connection:
        left = {}
        for table in BROUGHT:
            found = await connection.execute(
                f"SELECT count(*) FROM eai.{table} WHERE tenant_id = %s", [company.id]
            )
            row = await found.fetchone()
            assert row is not None
            left[table] = int(row[0])
        return left
