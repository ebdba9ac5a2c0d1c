"""How the engines' decisions come together, and when each is asked."""

from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from eai.kernel.ids import TenantId
from eai.policies.errors import PolicyDenied, PolicyFailed, PolicyUnavailable
from eai.policies.ports import PolicyDecision, PolicyFault, PolicyRequest, Rules
from eai.policies.service import Policies
from tests.factories.policies import question

ALLOW = PolicyDecision(True, ("a",))
DENY = PolicyDecision(False, ("b",))
ERROR = PolicyDecision(False, ("c",), ("it could not be evaluated",))
ALLOW_WITH_AN_ERROR = PolicyDecision(True, ("d",), ("it could not be evaluated",))


@dataclass
class Saying:
    """Answers as it was told to, and counts; stands where any engine does."""

    decision: PolicyDecision | Exception
    asked: int = 0

    def decide(self, request: PolicyRequest) -> PolicyDecision:
        del request
        self.asked += 1
        if isinstance(self.decision, Exception):
            raise self.decision
        return self.decision


@dataclass
class Engine:
    shipped: Saying

    async def faults(self, text: str) -> list[PolicyFault]:
        raise NotImplementedError(text)

    async def narrowing(self, texts: object) -> Rules:
        raise NotImplementedError(texts)


@dataclass
class Sets:
    rules: Saying
    wanted: list[tuple[TenantId, int]] = field(default_factory=list)

    async def of(self, tenant: TenantId, version: int) -> Saying:
        self.wanted.append((tenant, version))
        return self.rules


@dataclass
class Outside:
    said: Saying

    async def decide(self, request: PolicyRequest) -> PolicyDecision:
        return self.said.decide(request)


def _policies(shipped: Saying, own: Saying, outside: Saying) -> Policies:
    return Policies(Engine(shipped), Sets(own), Outside(outside))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("decisions", "error", "policies", "asked"),
    [
        ((DENY, ALLOW, ALLOW), PolicyDenied, ["b"], (1, 0, 0)),
        ((ALLOW, DENY, ALLOW), PolicyDenied, ["b"], (1, 1, 0)),
        ((ALLOW, ALLOW, DENY), PolicyDenied, ["b"], (1, 1, 1)),
        ((ERROR, ALLOW, ALLOW), PolicyFailed, ["c"], (1, 0, 0)),
        ((ALLOW, ERROR, ALLOW), PolicyFailed, ["c"], (1, 1, 0)),
        ((ALLOW, ALLOW, ERROR), PolicyFailed, ["c"], (1, 1, 1)),
        ((ALLOW_WITH_AN_ERROR, ALLOW, ALLOW), PolicyFailed, ["d"], (1, 0, 0)),
        ((ALLOW, ALLOW_WITH_AN_ERROR, ALLOW), PolicyFailed, ["d"], (1, 1, 0)),
        ((ALLOW, ALLOW, ALLOW_WITH_AN_ERROR), PolicyFailed, ["d"], (1, 1, 1)),
    ],
)
async def test_one_engine_that_does_not_allow_is_enough(
    decisions: tuple[PolicyDecision, PolicyDecision, PolicyDecision],
    error: type[PolicyDenied | PolicyFailed],
    policies: list[str],
    asked: tuple[int, int, int],
) -> None:
    engines = tuple(Saying(decision) for decision in decisions)
    with pytest.raises(error) as refused:
        await _policies(*engines).require(question(version=1))
    assert refused.value.details == {"policies": policies}
    assert refused.value.status == 403
    assert tuple(engine.asked for engine in engines) == asked


async def test_all_must_allow() -> None:
    engines = Saying(ALLOW), Saying(ALLOW), Saying(ALLOW)
    await _policies(*engines).require(question(version=7))
    assert [engine.asked for engine in engines] == [1, 1, 1]


async def test_an_engine_that_does_not_answer_denies() -> None:
    engines = Saying(ALLOW), Saying(ALLOW), Saying(PolicyUnavailable())
    with pytest.raises(PolicyUnavailable) as refused:
        await _policies(*engines).require(question(version=1))
    assert (refused.value.status, refused.value.code, refused.value.retryable) == (
        503,
        "policy_unavailable",
        True,
    )


async def test_the_policies_are_those_of_the_tenant_and_version_that_were_asked_for() -> None:
    tenant, sets = TenantId(uuid4()), Sets(Saying(ALLOW))
    policies = Policies(Engine(Saying(ALLOW)), sets, None)  # type: ignore[arg-type]
    await policies.require(question(tenant=tenant, version=3))
    await policies.require(question(tenant=tenant, version=0))
    assert sets.wanted == [(tenant, 3)]
