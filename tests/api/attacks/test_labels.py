"""Whom work is charged to: an agent's own credential says which agent it is, whatever a request says."""

from tests.stack import Company


async def test_an_agent_charges_nothing_to_another_one(company: Company) -> None:
    forged = {"agent": "another", "run": "7"}
    agent = await company.person("developer", "ingestor", kind="agent")
    rights = [
        {"principal": agent.reference, "permission": permission, "effect": "allow"}
        for permission in ("read", "write")
    ]
    base = await company.base(acl=rights)
    document = await agent.api.made(
        f"/v1/knowledge-bases/{base}/documents", {"title": "A text", "content": "Noon.", "labels": forged}
    )
    asked = {"query": "noon", "labels": forged}
    await agent.api.made(f"/v1/knowledge-bases/{base}/query", asked, status=200)
    embedded = {"model": "local-hash-256", "input": "noon", "labels": forged}
    await agent.api.made("/v1/gateway/embeddings", embedded, status=200)
    assert document["labels"] == {"agent": agent.id, "run": "7"}
    sums = (await company.admin.got("/v1/finops/usage", group_by=["agent", "operation"]))["data"]
    assert {row["agent"] for row in sums} == {agent.id}
    assert {row["operation"] for row in sums} >= {"ingest", "query", "client"}
