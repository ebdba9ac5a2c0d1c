"""What a model's rows amount to: the narrower of the model and its endpoint, whatever either says."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.access.classification import LEVELS, Classification
from eai.gateway.assembled_models import endpoint_from, model_from
from eai.gateway.ports import EmbeddingRole, FusionRule
from eai.gateway.registry import Capability, EndpointKind, Price, Retention

Json = dict[str, Any]

ENDPOINT: Json = {
    "id": "6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a01",
    "name": "our-vllm",
    "kind": "openai",
    "template": None,
    "url": "https://models.example/v1",
    "region": "eu-west",
    "retention": "days:30",
    "classification_ceiling": 3,
    "tenants": None,
    "sealed_key": "\\x00ff10",
    "revision": 4,
}
MODEL: Json = {
    "id": "6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a02",
    "name": "ours",
    "endpoint_id": ENDPOINT["id"],
    "provider_model": "BAAI/bge-m3",
    "capability": "embeddings",
    "dimensions": [1024, 512],
    "context_tokens": 8192,
    "price_input_micros": 20_000,
    "price_output_micros": 7,
    "classification_ceiling": None,
    "region": None,
    "roles": {"query": {"input_type": "search_query"}},
    "fusion": {"dense_weight": 0.4, "dense_floor": 0.1},
    "model_revision": "2",
    "is_enabled": True,
    "revision": 9,
}


def facts(model: Json | None = None, binding: Json | None = None, endpoint: Json | None = ENDPOINT) -> Json:
    return {"model": model, "binding": binding, "endpoint": endpoint, "engaged": [], "settings": {}}


def test_an_own_model_is_what_its_row_says() -> None:
    model = model_from(facts(MODEL))
    assert model is not None
    assert (model.name, model.provider, model.provider_model) == ("ours", "our-vllm", "BAAI/bge-m3")
    assert (model.capability, model.dimensions) == (Capability.EMBEDDINGS, (1024, 512))
    assert (model.context_tokens, model.price) == (8192, Price(20_000, 7))
    assert model.roles == {EmbeddingRole.QUERY: {"input_type": "search_query"}}
    assert (model.fusion, model.revision) == (FusionRule(0.4, 0.1), "2")
    assert (model.is_enabled, model.is_shipped, model.is_local) == (True, False, False)


def test_what_a_model_leaves_open_is_its_endpoints() -> None:
    model = model_from(facts(MODEL))
    assert model is not None
    assert model.classification_ceiling is Classification.RESTRICTED
    assert (model.region, model.retention) == ("eu-west", Retention(30))


def test_an_endpoint_comes_with_its_sealed_key() -> None:
    endpoint = endpoint_from(ENDPOINT)
    assert endpoint is not None
    assert (endpoint.id, endpoint.kind) == (UUID(ENDPOINT["id"]), EndpointKind.OPENAI)
    assert (endpoint.url, endpoint.sealed_key) == ("https://models.example/v1", b"\x00\xff\x10")
    assert endpoint_from({**ENDPOINT, "sealed_key": None}).sealed_key is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("own", "effective"),
    [
        ("eu-west", "eu-west"),
        ("eu-west-1", "eu-west-1"),
        ("eu", "eu-west"),
        ("eu-western", "eu-west"),
        ("us", "eu-west"),
    ],
)
def test_a_region_counts_only_within_that_of_the_endpoint(own: str, effective: str) -> None:
    model = model_from(facts({**MODEL, "region": own}))
    assert model is not None
    assert model.region == effective


@given(st.none() | st.integers(0, 4), st.integers(0, 4))
def test_no_ceiling_is_above_either(own: int | None, endpoints: int) -> None:
    made = model_from(
        facts(
            {**MODEL, "classification_ceiling": own}, None, {**ENDPOINT, "classification_ceiling": endpoints}
        )
    )
    assert made is not None
    assert made.classification_ceiling is LEVELS[endpoints if own is None else min(own, endpoints)]


def test_a_model_whose_endpoint_does_not_serve_the_tenant_may_not_be_called() -> None:
    model = model_from(facts({**MODEL, "classification_ceiling": 4}, None, None))
    assert model is not None
    assert (model.is_enabled, model.endpoint, model.retention) == (False, None, Retention(None))


def test_a_disabled_model_stays_disabled() -> None:
    model = model_from(facts({**MODEL, "is_enabled": False}))
    assert model is not None
    assert model.is_enabled is False


def binding(name: str, *, is_enabled: bool = True) -> Json:
    return {"name": name, "endpoint_id": ENDPOINT["id"], "is_enabled": is_enabled, "revision": 1}


def test_a_bound_model_keeps_its_own_ceiling_where_the_endpoint_allows_more() -> None:
    model = model_from(facts(None, binding("text-embedding-3-small")))
    assert model is not None
    assert model.classification_ceiling is Classification.CONFIDENTIAL
    assert (model.region, model.retention, model.provider) == ("eu-west", Retention(30), "our-vllm")
    assert (model.dimensions, model.is_enabled) == ((1536, 256, 512, 1024), True)
    assert model.is_shipped


def test_a_bound_model_may_not_see_more_than_its_endpoint() -> None:
    lower = {**ENDPOINT, "classification_ceiling": 1}
    model = model_from(facts(None, binding("bge-m3-vllm"), lower))
    assert model is not None
    assert model.classification_ceiling is Classification.INTERNAL


def test_a_binding_that_is_off_or_leads_nowhere_calls_nothing() -> None:
    off = model_from(facts(None, binding("bge-m3-vllm", is_enabled=False)))
    nowhere = model_from(facts(None, binding("bge-m3-vllm"), None))
    assert off is not None
    assert nowhere is not None
    assert (off.is_enabled, nowhere.is_enabled) == (False, False)


def test_what_nobody_registered_is_no_model() -> None:
    assert model_from(facts(None, None, None)) is None
    assert model_from(facts(None, binding("no-longer-shipped"))) is None
    assert model_from(facts(None, binding("local-hash-256"))) is None
