"""What a model's rows amount to: the model itself, within the narrower bounds of its endpoint. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from eai.access.classification import LEVELS, Classification, level_at, lowest
from eai.gateway.catalogue import NOT_KNOWN, REMOTE_MODELS, UNBOUND_REGION
from eai.gateway.ports import EmbeddingRole, FusionRule
from eai.gateway.regions import lies_in
from eai.gateway.registry import Capability, Endpoint, EndpointKind, Model, Price, Retention

Json = Mapping[str, Any]


def model_from(facts: Json) -> Model | None:
    """The model that rows make together, within the narrower bounds of itself and its endpoint.

    `facts` holds `model` (a tenant's own row), `binding` (of a shipped model) and `endpoint` as JSON, each
    of which may be null. None where neither a model nor a binding is known.
    """
    endpoint = endpoint_from(facts["endpoint"])
    if facts["model"] is not None:
        return _own_model(facts["model"], endpoint)
    if facts["binding"] is not None:
        return bound_model(facts["binding"]["name"], endpoint, is_enabled=facts["binding"]["is_enabled"])
    return None


def endpoint_from(row: Json | None) -> Endpoint | None:
    """An endpoint from its row as JSON; None where there is none, or none that serves the tenant."""
    if row is None:
        return None
    sealed = row.get("sealed_key")
    return Endpoint(
        id=UUID(row["id"]),
        name=row["name"],
        kind=EndpointKind(row["kind"]),
        url=row["url"],
        region=row["region"],
        retention=Retention.parse(row["retention"]),
        classification_ceiling=LEVELS[row["classification_ceiling"]],
        sealed_key=None if sealed is None else bytes.fromhex(sealed.removeprefix("\\x")),
        template=row["template"],
    )


def bound_model(name: str, endpoint: Endpoint | None, *, is_enabled: bool) -> Model | None:
    """A shipped model at its endpoint; None for one that is not shipped any more."""
    shipped = REMOTE_MODELS.get(name)
    if shipped is None or endpoint is None:
        return shipped
    return replace(
        shipped,
        provider=endpoint.name,
        classification_ceiling=lowest(endpoint.classification_ceiling, shipped.classification_ceiling),
        region=endpoint.region,
        retention=endpoint.retention,
        endpoint=endpoint,
        is_enabled=is_enabled,
    )


def _own_model(row: Json, endpoint: Endpoint | None) -> Model:
    """Without an endpoint that serves the tenant it is nowhere, and may not be called."""
    ceiling, region = level_at(row["classification_ceiling"]), row["region"]
    if endpoint is not None:
        ceiling = lowest(endpoint.classification_ceiling, ceiling)
        region = region if region is not None and lies_in(region, endpoint.region) else endpoint.region
    return Model(
        name=row["name"],
        capability=Capability(row["capability"]),
        provider=endpoint.name if endpoint else "",
        provider_model=row["provider_model"],
        classification_ceiling=ceiling or Classification.PUBLIC,
        region=region or UNBOUND_REGION,
        retention=endpoint.retention if endpoint else NOT_KNOWN,
        endpoint=endpoint,
        revision=row["model_revision"],
        dimensions=tuple(row["dimensions"] or ()),
        context_tokens=row["context_tokens"],
        price=Price(row["price_input_micros"], row["price_output_micros"]),
        roles={EmbeddingRole(role): parameters for role, parameters in row["roles"].items()},
        fusion=FusionRule(**row["fusion"]) if row["fusion"] else FusionRule(dense_weight=0.5),
        is_enabled=row["is_enabled"] and endpoint is not None,
    )
