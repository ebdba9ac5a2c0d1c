"""The library inside the process, as the product is wired to it."""

import pytest

from eai.integrations.litellm import InProcessLiteLLM
from tests.stack import Company

pytestmark = [
    pytest.mark.skipif(not InProcessLiteLLM.is_available(), reason="the extra `litellm` is not installed"),
]


@pytest.mark.parametrize("provider_model", ["cohere/embed-english-v3.0", "vertex_ai/text-embedding-005"])
async def test_an_endpoints_key_is_not_handed_to_a_provider_that_a_tenant_chose(
    company: Company, provider_model: str
) -> None:
    endpoint = await company.endpoint(kind="litellm", url=None, api_key="key-for-another-provider")
    fields = {"provider_model": provider_model, "capability": "embeddings", "dimensions": [8]}
    model = await company.model(endpoint["name"], **fields)
    answer = await company.admin.post("/v1/gateway/embeddings", json={"model": model, "input": "a text"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "model_disabled")
    held = await company.admin.got("/v1/audit/events", action="model.result", limit=200)
    assert [event["facts"].get("tokens", 0) for event in held["data"]] == [0]
