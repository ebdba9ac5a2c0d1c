"""A provider that misbehaves: the code that was promised, nothing stored, one end per call, charged once.

Each fault is tried by taking a document in and by asking a question, and an independent judge looks at the
tenant's rows, index and chain afterwards.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import uuid4

import httpx2
import pytest

from tests.api.test_ingestion_routes import settled
from tests.conftest import DatabaseUrls
from tests.invariants import Judge
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step
from tests.stack import Company, Json, Stack

QUOTA = {"owner": "tenant", "metric": "tokens", "limit": 1_000_000}
# It wishes for more patience than a call has, so that there is no second attempt.
WISH = {"retry-after": "9"}
HTML = Step(status=200, body="<html><h1>It works!</h1></html>", headers={"content-type": "text/html"})


@dataclass(frozen=True)
class Wrong:
    """What is answered over and over, what the caller is told, and whether it is charged at the bound."""

    step: Step
    status: int
    code: str
    is_charged: bool = True


WRONGS = {
    "429": Wrong(Step(status=429, headers=WISH), 503, "provider_unavailable", is_charged=False),
    "503": Wrong(Step(status=503, headers=WISH), 503, "provider_unavailable", is_charged=False),
    "400": Wrong(Step(status=400), 502, "provider_refused", is_charged=False),
    "401": Wrong(Step(status=401), 503, "provider_unavailable", is_charged=False),
    "500": Wrong(Step(status=500), 503, "provider_unavailable"),
    "502": Wrong(Step(status=502), 503, "provider_unavailable"),
    "wrong size": Wrong(Step(change={"dimensions": 9}), 502, "embedding_dimension_mismatch"),
    "nan": Wrong(Step(change={"first": "nan"}), 502, "provider_response_invalid"),
    "infinite": Wrong(Step(change={"first": "inf"}), 502, "provider_response_invalid"),
    "zero": Wrong(Step(change={"is_zero": True}), 502, "provider_response_invalid"),
    "short": Wrong(Step(change={"short": 1}), 502, "provider_response_invalid"),
    "error": Wrong(Step(status=200, body='{"error": {"message": "no"}}'), 502, "provider_response_invalid"),
    "html": Wrong(HTML, 502, "provider_response_invalid"),
    "half": Wrong(Step(fault="half"), 503, "provider_unavailable"),
    "reset": Wrong(Step(fault="reset"), 503, "provider_unavailable"),
    "garbage": Wrong(Step(fault="garbage"), 503, "provider_unavailable"),
    "slow": Wrong(Step(wait_s=30), 503, "provider_unavailable"),
    "drip": Wrong(Step(fault="drip"), 503, "provider_unavailable"),
    "another model": Wrong(Step(change={"model": "another"}), 502, "model_substituted"),
}


@dataclass(frozen=True)
class Scene:
    """A base of one document whose vectors come from the test provider, and a quota that tells the charge."""

    company: Company
    provider: ProviderProcess
    base: str
    quota: str

    async def ingest(self, content: str) -> httpx2.Response:
        body = {"title": "A text", "content": content}
        return await self.company.admin.post(f"/v1/knowledge-bases/{self.base}/documents", json=body)

    async def query(self, text: str) -> httpx2.Response:
        body = {"query": text, "mode": "vector", "top_k": 1}
        return await self.company.admin.post(f"/v1/knowledge-bases/{self.base}/query", json=body)

    async def events(self, action: str, after: int = 0) -> list[Json]:
        listed = await self.company.admin.got("/v1/audit/events", action=action, after_seq=after, limit="200")
        return list(listed["data"])

    async def charged(self) -> tuple[int, int]:
        """Tokens that count to the quota, and tokens of all usage."""
        quota = await self.company.admin.got(f"/v1/finops/quotas/{self.quota}")
        usage = await self.company.admin.got("/v1/finops/usage")
        tokens = sum(row["tokens"] for row in usage["data"] if row["unit"] == "tokens")
        return quota["used"], tokens

    async def titles(self) -> list[str]:
        listed = await self.company.admin.got(f"/v1/knowledge-bases/{self.base}/documents")
        return [document["title"] for document in listed["data"]]


@pytest.fixture
async def scene(stack: Stack, company: Company) -> AsyncIterator[Scene]:
    provider = await stack.provider()
    await provider.forget()
    model = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
    quota = await company.admin.put("/v1/finops/quotas", json=QUOTA)
    made = Scene(company, provider, await company.base(embedding_model=model), quota.json()["id"])
    await company.document(made.base, "Refunds take five days.", title="The first")
    await provider.forget()
    yield made
    await provider.forget()


@pytest.fixture
def judge(stack: Stack, stack_urls: DatabaseUrls) -> Judge:
    return Judge(stack_urls.admin, stack.platform.vectors)


@pytest.fixture
def in_a_hurry(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call has half a second for all its attempts, not a minute."""
    monkeypatch.setattr(stack.platform.gateway._dispatch._attempts, "_deadline_s", 0.5)


@pytest.mark.usefixtures("in_a_hurry")
@pytest.mark.parametrize("way", ["ingest", "query"])
@pytest.mark.parametrize("name", WRONGS)
async def test_a_wrong_answer_is_an_error_of_its_own_and_charged_once(
    scene: Scene, judge: Judge, name: str, way: str
) -> None:
    wrong = WRONGS[name]
    (first,) = await scene.events("model.invoke")
    before, _ = await scene.charged()
    await scene.provider.usually(wrong.step)
    answer = await (scene.ingest if way == "ingest" else scene.query)(f"Where is it? {uuid4()}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (wrong.status, wrong.code)
    await scene.provider.forget()

    await judge.judge(scene.company.id)
    (intent,) = await scene.events("model.invoke", first["seq"])
    _, result = await scene.events("model.result")
    assert await scene.events("model.unknown") == []
    assert (result["facts"]["intent"], result["facts"]["code"]) == (intent["seq"], wrong.code)
    charge = intent["facts"]["bound"] if wrong.is_charged else 0
    assert (intent["facts"]["operation"], result["facts"]["tokens"]) == (way, charge)
    assert await scene.charged() == (before + charge, before + charge)
    assert await scene.titles() == ["The first"]
    assert (await scene.query("refunds")).status_code == 200


async def test_a_document_that_its_provider_refuses_fails_and_is_not_tried_for_ever(scene: Scene) -> None:
    await scene.provider.usually(Step(status=400))
    path = f"/v1/knowledge-bases/{scene.base}/documents"
    body = {"title": "Too long", "content": "A text that is too long for the model."}
    accepted = await scene.company.admin.post(path, json=body, headers={"prefer": "respond-async"})
    assert accepted.status_code == 202
    found = await settled(scene.company, f"{path}/{accepted.json()['id']}")
    assert (found["status"], found["error"]["code"]) == ("failed", "provider_refused")
    assert len(await scene.provider.requests()) == 1


@pytest.mark.parametrize("way", ["ingest", "query"])
async def test_a_provider_that_comes_back_is_asked_again_and_charged_once(
    scene: Scene, judge: Judge, way: str
) -> None:
    before, _ = await scene.charged()
    await scene.provider.say(Step(status=429), Step(status=503, headers={"retry-after": "-5"}))
    answer = await (scene.ingest if way == "ingest" else scene.query)("Where is it?")
    assert answer.is_success, answer.text
    assert len(await scene.provider.requests()) == 3
    await judge.judge(scene.company.id)
    _, result = await scene.events("model.result")
    assert "code" not in result["facts"]
    # The provider counts three words and two more.
    assert result["facts"]["tokens"] == 5
    assert await scene.charged() == (before + 5, before + 5)


async def test_vectors_in_another_order_belong_to_their_own_texts(scene: Scene, judge: Judge) -> None:
    await scene.provider.say(Step(change={"is_permuted": True}))
    paragraphs = [
        f"{word.capitalize()} {' '.join([word] * 80)}." for word in ("parcels", "letters", "stamps")
    ]
    assert (await scene.ingest("\n\n".join(paragraphs))).status_code == 201
    (request,) = await scene.provider.requests()
    assert len(request.json["input"]) > 1
    for word in ("parcels", "letters", "stamps"):
        (found,) = (await scene.query(word)).json()["results"]
        assert word in found["content"].lower()
        assert found["vector_score"] > 0.9
    await judge.judge(scene.company.id)
