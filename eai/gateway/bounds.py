"""What a registration may say: no more than its endpoint allows, and nothing its capability does not have."""

from collections.abc import Sequence

from eai.access.classification import LEVELS, Classification
from eai.gateway.models import EndpointRow
from eai.gateway.regions import lies_in
from eai.gateway.registry import Capability
from eai.gateway.registry_schemas import ModelRoles
from eai.kernel.errors import InvalidInput

Fault = dict[str, str]


def require_within(endpoint: EndpointRow, ceiling: Classification | None, region: str | None) -> None:
    """Raise InvalidInput where a model would be allowed more than its endpoint."""
    faults: list[Fault] = []
    if ceiling is not None and ceiling.exceeds(LEVELS[endpoint.classification_ceiling]):
        faults.append(_fault("classification_ceiling", "above_endpoint", "lies above the endpoint's"))
    if region is not None and not lies_in(region, endpoint.region):
        faults.append(_fault("region", "outside_endpoint", "lies outside the endpoint's"))
    if faults:
        raise InvalidInput(*faults)


def faults_of(
    capability: Capability, dimensions: Sequence[int] | None, roles: ModelRoles | None
) -> list[Fault]:
    """What does not fit the capability: embeddings have dimensions, and nothing else has them or sides."""
    if capability is Capability.EMBEDDINGS:
        return [] if dimensions else [_fault("dimensions", "missing", "are required for embeddings")]
    faults = []
    if dimensions:
        faults.append(_fault("dimensions", "embeddings_only", "are for embeddings only"))
    if roles is not None:
        faults.append(_fault("roles", "embeddings_only", "are for embeddings only"))
    return faults


def _fault(path: str, code: str, message: str) -> Fault:
    return {"path": path, "code": code, "message": message}
