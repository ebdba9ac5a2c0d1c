"""Questions for policies, as the gateway asks them."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from eai.access.classification import Classification
from eai.kernel.ids import TenantId
from eai.policies.ports import PolicyAction, PolicyPrincipal, PolicyRequest, PolicyResource

SOMEBODY = UUID("11111111-1111-4111-8111-111111111111")
GROUP = "22222222-2222-4222-8222-222222222222"

PRINCIPAL = PolicyPrincipal("user", SOMEBODY, ("developer",), (GROUP,), Classification.INTERNAL)
MODEL = PolicyResource(
    "Model",
    "text-embedding-3-small",
    {"provider": "openai", "region": "us", "capability": "embeddings", "ceiling": 2, "is_local": False},
)
CONTEXT = {"operation": "query", "level": 1, "texts": 3}


def question(**changes: Any) -> PolicyRequest:
    """A developer asks for three internal texts to be embedded in the United States."""
    asked = PolicyRequest(TenantId(uuid4()), PRINCIPAL, PolicyAction.MODEL_INVOKE, MODEL, CONTEXT, version=0)
    return replace(asked, **changes)
