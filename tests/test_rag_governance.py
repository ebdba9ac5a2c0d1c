"""The acceptance tests of governed retrieval, over HTTP on a real PostgreSQL and a real engine.

S3-73 no chunk without rights, S3-74 deletion removes vectors, S3-75 tenants are apart, S3-76 errors in
French, S3-77 a level above a model's ceiling is refused before any call, S3-78 spaces never mix.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from eai.access.classification import Classification
from eai.access.rights_class import generation_key
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.local_models import HashEmbedder
from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.ports import Selector, SpaceId
from tests.conftest import fresh_database
from tests.stack import Caller, Company, Stack, running_stack, settings

REFUND = "The refund is paid within fourteen days."


class RecordingEmbedder:
    """A model outside of the product that writes down what it is sent."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._hash = HashEmbedder()

    async def warm_up(self) -> None:
        """There is nothing to load."""

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        self.texts += texts
        return await self._hash.embed(texts, role)


@pytest.fixture(scope="module")
def capped() -> RecordingEmbedder:
    return RecordingEmbedder()


@pytest.fixture(scope="module")
async def governed(
    capped: RecordingEmbedder, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """A product with a second model of equal size, capped at confidential."""
    capped_model = replace(
        LOCAL_HASH_256,
        name="capped-256",
        revision="other",
        classification_ceiling=Classification.CONFIDENTIAL,
    )
    models = {
        "local-hash-256": RegisteredModel(LOCAL_HASH_256, HashEmbedder()),
        "capped-256": RegisteredModel(capped_model, capped),
    }
    with fresh_database() as urls:
        chosen = settings(urls.app, tmp_path_factory.mktemp("governed"))
        async with running_stack(chosen, models=models) as running:
            yield running


@pytest.fixture
async def company(governed: Stack) -> Company:
    return await governed.company()


async def ask(caller: Caller, base: str, query: str = "refund", **more: object) -> list[str]:
    """The contents of the passages that a question finds."""
    answer = await caller.made(f"/v1/knowledge-bases/{base}/query", {"query": query, **more}, status=200)
    assert answer["count"] == len(answer["results"])
    return [result["content"] for result in answer["results"]]


async def points_left(stack: Stack, company: Company, base: str) -> int:
    """How many points the engine itself counts in a base."""
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}")
    key = generation_key(TenantId(UUID(company.id)), GenerationId(UUID(shown["vector_generation"])))
    space = SpaceId(shown["vector_collection"], shown["dimensions"])
    return await stack.platform.vectors.count(space, Selector(key))


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
async def test_s3_73_without_rights_on_a_document_no_passage_of_it_is_returned(
    company: Company, mode: str
) -> None:
    reader = await company.person("member", clearance="confidential")
    stranger = await company.person("member", clearance="confidential")
    uncleared = await company.person("member", clearance="internal")
    readers = await company.group(reader, uncleared)
    base = await company.base("tenant:*")
    await company.document(base, REFUND, readers=[readers], classification="confidential")

    assert await ask(reader.api, base, REFUND, mode=mode) == [REFUND]
    assert await ask(stranger.api, base, REFUND, mode=mode) == []
    assert await ask(uncleared.api, base, REFUND, mode=mode) == []


async def test_s3_73_a_base_that_grants_nothing_does_not_exist(company: Company) -> None:
    stranger = await company.person("member")
    base = await company.base()
    await company.document(base, REFUND)
    answer = await stranger.api.post(f"/v1/knowledge-bases/{base}/query", json={"query": "refund"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_s3_74_deleting_a_document_removes_its_vectors(governed: Stack, company: Company) -> None:
    base = await company.base()
    kept = await company.document(base, "Parcels leave at noon.")
    gone = await company.document(base, REFUND)
    assert await points_left(governed, company, base) == 2

    answer = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{gone}")
    assert answer.status_code == 200, answer.text
    receipt = answer.json()
    assert (receipt["document_id"], receipt["chunks_removed"]) == (gone, 1)
    assert (receipt["vectors_removed"], receipt["vectors_remaining"]) == (1, 0)
    assert await points_left(governed, company, base) == 1
    assert (await company.admin.get(f"/v1/knowledge-bases/{base}/documents/{gone}")).status_code == 404
    assert await ask(company.admin, base, REFUND) == ["Parcels leave at noon."]
    kept_receipt = await company.admin.got(f"/v1/deletion-receipts/{gone}")
    assert (kept_receipt["status"], kept_receipt["vectors_remaining"]) == ("deleted", 0)
    assert (await company.admin.get(f"/v1/deletion-receipts/{kept}")).status_code == 404


async def test_s3_75_another_tenant_finds_nothing_at_all(governed: Stack, company: Company) -> None:
    base = await company.base("tenant:*")
    document = await company.document(base, REFUND)
    other = await governed.company()
    missing = "00000000-0000-4000-8000-0000000000ff"
    for path in ("", "/documents", f"/documents/{document}", "/acl"):
        foreign = await other.admin.get(f"/v1/knowledge-bases/{base}{path}")
        unknown = await other.admin.get(f"/v1/knowledge-bases/{missing}{path.replace(document, missing)}")
        assert foreign.status_code == unknown.status_code == 404
        assert foreign.json()["error"]["code"] == unknown.json()["error"]["code"] == "not_found"
    answer = await other.admin.post(f"/v1/knowledge-bases/{base}/query", json={"query": "refund"})
    assert answer.status_code == 404


async def test_s3_76_an_error_speaks_french_to_those_who_ask_for_it(
    governed: Stack, company: Company
) -> None:
    french = governed.caller(company.admin.key, **{"accept-language": "fr-CA,fr;q=0.9,en;q=0.1"})
    answer = await french.get("/v1/knowledge-bases/kb_nothing")
    assert answer.status_code == 404
    assert answer.headers["content-language"] == "fr"
    assert answer.headers["content-type"] == "application/problem+json"
    error = answer.json()["error"]
    assert error["message"] == error["message_i18n"]["fr"]
    assert error["message"].startswith("Il n'y a rien ici que vous puissiez voir.")
    assert error["message_i18n"]["en"].startswith("There is nothing here that you can see.")


async def test_s3_77_a_secret_document_never_reaches_a_model_capped_at_confidential(
    company: Company, capped: RecordingEmbedder
) -> None:
    base = await company.base(embedding_model="capped-256")
    await company.document(base, "A confidential matter.", classification="confidential")
    assert capped.texts == ["A confidential matter."]

    body = {"title": "Secret", "content": "The secret matter.", "classification": "secret"}
    answer = await company.admin.post(f"/v1/knowledge-bases/{base}/documents", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "classification_exceeded")
    assert capped.texts == ["A confidential matter."]
    listed = await company.admin.got(f"/v1/knowledge-bases/{base}/documents")
    assert [document["title"] for document in listed["data"]] == ["A document"]
    denied = await company.admin.got("/v1/audit/events", action="access.denied")
    assert denied["data"][-1]["decision"] == "deny"
    assert denied["data"][-1]["facts"] == {"code": "classification_exceeded", "status": 403}


async def test_s3_77_a_base_above_the_ceiling_of_its_model_is_refused(company: Company) -> None:
    body = {"name": "Vault", "embedding_model": "capped-256", "classification": "restricted"}
    answer = await company.admin.post("/v1/knowledge-bases", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "classification_exceeded")


async def test_s3_78_two_models_of_equal_size_never_share_a_space(governed: Stack, company: Company) -> None:
    one = await company.base(embedding_model="local-hash-256")
    two = await company.base(embedding_model="capped-256")
    await company.document(one, REFUND)
    await company.document(two, "Parcels leave at noon.")
    shown = [await company.admin.got(f"/v1/knowledge-bases/{base}") for base in (one, two)]
    assert {base["dimensions"] for base in shown} == {256}
    assert shown[0]["vector_collection"] != shown[1]["vector_collection"]
    assert await ask(company.admin, one, "parcels refund", mode="vector") == [REFUND]
    assert await ask(company.admin, two, "parcels refund", mode="vector") == ["Parcels leave at noon."]
    assert await points_left(governed, company, one) == await points_left(governed, company, two) == 1
