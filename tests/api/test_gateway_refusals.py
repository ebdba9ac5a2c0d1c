"""Nine controls stand before a provider that records every byte: whatever refuses, it receives nothing.

Each is tried on the three ways by which the product itself calls a model: taking a document in, asking a
question, and putting passages in order.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from uuid import uuid4

import httpx2
import pytest

from eai.platform.metrics import GATEWAY_REFUSALS
from tests.provider.process import ProviderProcess
from tests.stack import Company, Json, Stack

SECRET = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
HARMLESS = "Refunds take five days."
CARD = "4111 1111 1111 1111"


@dataclass(frozen=True)
class Scene:
    """A base whose passages and order come from models of the test provider."""

    stack: Stack
    company: Company
    provider: ProviderProcess
    endpoint: Json
    embedder: str
    reranker: str
    base: str

    async def set_endpoint(self, **fields: object) -> None:
        path = f"/v1/provider-endpoints/{self.endpoint['id']}"
        answer = await self.stack.operator.patch(path, json=fields)
        assert answer.status_code == 200, answer.text

    async def ingest(self, text: str) -> httpx2.Response:
        body = {"title": "A text", "content": f"{text} {uuid4()}"}
        return await self.company.admin.post(f"/v1/knowledge-bases/{self.base}/documents", json=body)

    async def query(self, text: str) -> httpx2.Response:
        return await self._ask({"query": text, "mode": "vector"})

    async def rerank(self, text: str) -> httpx2.Response:
        return await self._ask(
            {"query": text, "mode": "keyword", "rerank": True, "rerank_model": self.reranker}
        )

    async def _ask(self, question: Json) -> httpx2.Response:
        return await self.company.admin.post(f"/v1/knowledge-bases/{self.base}/query", json=question)

    async def denials(self) -> list[str]:
        """The codes of refused calls in the tenant's chain."""
        listed = await self.company.admin.got("/v1/audit/events", action="model.invoke", limit="200")
        return [event["facts"]["code"] for event in listed["data"] if event["decision"] == "deny"]


@pytest.fixture
async def scene(stack: Stack, company: Company) -> AsyncIterator[Scene]:
    provider = await stack.provider()
    endpoint = await company.endpoint(url=provider.url, region="eu-west-1", classification_ceiling="secret")
    embedder = await company.model(endpoint["name"], capability="embeddings", dimensions=[8])
    reranker = await company.model(endpoint["name"], capability="rerank")
    base = await company.base(embedding_model=embedder)
    made = Scene(stack, company, provider, endpoint, embedder, reranker, base)
    assert (await made.ingest(HARMLESS)).status_code == 201
    assert (await made.query(HARMLESS)).status_code == 200
    ordered = (await made.rerank("refunds")).json()
    assert (ordered["reranked"], ordered["warnings"]) == (True, [])
    assert ordered["results"][0]["rerank_score"] is not None
    await provider.forget()
    yield made
    await provider.forget()


async def _disable(scene: Scene) -> None:
    for model in (scene.embedder, scene.reranker):
        answer = await scene.company.admin.patch(f"/v1/models/{model}", json={"enabled": False})
        assert answer.status_code == 200, answer.text


async def _stop(scene: Scene) -> None:
    body = {"engaged": True, "reason": "an incident"}
    for model in (scene.embedder, scene.reranker):
        answer = await scene.company.admin.put(f"/v1/models/{model}/kill-switch", json=body)
        assert answer.status_code == 200, answer.text


async def _lower_the_ceiling(scene: Scene) -> None:
    await scene.set_endpoint(classification_ceiling="public")


async def _lower_to_internal(scene: Scene) -> None:
    await scene.set_endpoint(classification_ceiling="internal")


async def _keep_for_a_month(scene: Scene) -> None:
    await scene.set_endpoint(retention="days:30")


async def _keep_what_is_sent(scene: Scene) -> None:
    await scene.set_endpoint(retention="days:30")
    await _settings(scene, retention_required_from="internal")


async def _leave_the_region(scene: Scene) -> None:
    await _settings(scene, regions=["us"])


async def _settings(scene: Scene, **fields: object) -> None:
    answer = await scene.company.admin.patch("/v1/settings", json=fields)
    assert answer.status_code == 200, answer.text


async def _keep_keys_out(scene: Scene) -> None:
    # A question has no steward to wait for, a document has: here neither comes in.
    await _settings(scene, dlp={"private_key": "block"})


async def _forbid(scene: Scene) -> None:
    rule = {"cedar": 'forbid (principal, action, resource) when { resource.region == "eu-west-1" };'}
    answer = await scene.company.admin.put("/v1/policies/no-europe", json=rule)
    assert answer.status_code in {200, 201}, answer.text


async def _move_inside(scene: Scene) -> None:
    await scene.set_endpoint(url=f"https://127.0.0.2:{scene.provider.port}/v1")


async def _use_up(scene: Scene) -> None:
    quota = {"owner": "tenant", "metric": "tokens", "limit": 1}
    answer = await scene.company.admin.put("/v1/finops/quotas", json=quota)
    assert answer.status_code == 200, answer.text


Prepare = Callable[[Scene], Awaitable[None]]

CONTROLS: dict[str, tuple[Prepare, str, int, str]] = {
    "disabled": (_disable, HARMLESS, 403, "model_disabled"),
    "kill switch": (_stop, HARMLESS, 403, "kill_switch_engaged"),
    "ceiling": (_lower_the_ceiling, HARMLESS, 403, "classification_exceeded"),
    "retention": (_keep_what_is_sent, HARMLESS, 403, "retention_refused"),
    "region": (_leave_the_region, HARMLESS, 403, "region_refused"),
    "dlp": (_keep_keys_out, f"refunds {SECRET}", 403, "dlp_blocked"),
    "policy": (_forbid, HARMLESS, 403, "policy_denied"),
    # What was asked before is told from the cache, which connects to nobody.
    "egress": (_move_inside, f"{HARMLESS} abroad", 403, "egress_denied"),
    "quota": (_use_up, HARMLESS, 409, "quota_exceeded"),
}


def refused(code: str) -> float:
    """How many calls this process counts as refused with `code`."""
    (metric,) = GATEWAY_REFUSALS.collect()
    counts = (sample for sample in metric.samples if sample.name.endswith("_total"))
    return sum(sample.value for sample in counts if sample.labels["code"] == code)


every_control = pytest.mark.parametrize("control", CONTROLS)


@every_control
async def test_a_document_that_is_refused_reaches_no_provider(scene: Scene, control: str) -> None:
    prepare, text, status, code = CONTROLS[control]
    await prepare(scene)
    answer = await scene.ingest(text)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert await scene.provider.received() == (0, 0)
    listed = await scene.company.admin.got(f"/v1/knowledge-bases/{scene.base}/documents")
    assert len(listed["data"]) == 1


@every_control
async def test_a_question_that_is_refused_reaches_no_provider(scene: Scene, control: str) -> None:
    prepare, text, status, code = CONTROLS[control]
    await prepare(scene)
    before = refused(code)
    answer = await scene.query(text)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert await scene.provider.received() == (0, 0)
    assert await scene.denials() == [code]
    assert refused(code) == before + 1


@every_control
async def test_an_order_that_is_refused_reaches_no_provider_and_changes_nothing(
    scene: Scene, control: str
) -> None:
    prepare, text, _, code = CONTROLS[control]
    await prepare(scene)
    answer = await scene.rerank(text)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["reranked"], body["warnings"]) == (False, ["rerank_refused"])
    assert [result["rerank_score"] for result in body["results"]] == [None]
    assert await scene.provider.received() == (0, 0)
    assert await scene.denials() == [code]


async def test_an_exhausted_budget_leaves_the_words(scene: Scene) -> None:
    await _use_up(scene)
    for mode, status in (("vector", 409), ("hybrid", 409), ("keyword", 200)):
        path = f"/v1/knowledge-bases/{scene.base}/query"
        answer = await scene.company.admin.post(path, json={"query": "refunds", "mode": mode})
        assert answer.status_code == status, mode
    assert await scene.provider.received() == (0, 0)


async def test_the_controls_stand_in_this_order(scene: Scene) -> None:
    """Everything is wrong at first; with each thing that is mended the next control speaks."""
    for prepare, *_ in CONTROLS.values():
        await prepare(scene)
    admin, spoken = scene.company.admin, []

    async def ask(text: str) -> None:
        answer = await scene.query(text)
        spoken.append(answer.json()["error"]["code"] if answer.is_error else "answered")

    await ask(SECRET)
    await admin.patch(f"/v1/models/{scene.embedder}", json={"enabled": True})
    await ask(SECRET)
    off = {"engaged": False, "reason": "it is over"}
    await admin.put(f"/v1/models/{scene.embedder}/kill-switch", json=off)
    await ask(SECRET)
    await scene.set_endpoint(classification_ceiling="secret")
    await ask(SECRET)
    await scene.set_endpoint(retention="none")
    await ask(SECRET)
    await _settings(scene, regions=None)
    await ask(SECRET)
    await ask(HARMLESS)
    await admin.delete("/v1/policies/no-europe")
    await ask(HARMLESS)
    await scene.set_endpoint(url=scene.provider.url)
    await ask(HARMLESS)
    (quota,) = (await admin.got("/v1/finops/quotas"))["data"]
    await admin.delete(f"/v1/finops/quotas/{quota['id']}")
    await ask(HARMLESS)
    assert spoken == [*(code for *_, code in CONTROLS.values()), "answered"]


@pytest.mark.parametrize(
    ("prepare", "code"),
    [(_lower_to_internal, "classification_exceeded"), (_keep_for_a_month, "retention_refused")],
)
async def test_a_level_that_was_raised_says_what_raised_it(scene: Scene, prepare: Prepare, code: str) -> None:
    await prepare(scene)
    body = {"model": scene.embedder, "input": [f"{CARD} ann@example.com"], "classification": "internal"}
    answer = await scene.company.admin.post("/v1/gateway/embeddings", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (403, code)
    assert (error["details"]["classification"], error["details"]["entities"]) == (
        "confidential", ["payment_card"],
    )  # fmt: skip
    declared = {**body, "input": [HARMLESS], "classification": "confidential"}
    answer = await scene.company.admin.post("/v1/gateway/embeddings", json=declared)
    error = answer.json()["error"]
    assert (error["code"], "entities" in error["details"]) == (code, False)
