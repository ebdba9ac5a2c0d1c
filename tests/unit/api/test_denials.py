"""What a refusal leaves in the audit."""

from typing import Annotated

import pytest
from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.governed_route import GovernedRouter
from eai.api.requirement import require
from eai.audit.entries import Evidence
from eai.audit.errors import AuditUnavailable
from eai.kernel.errors import Conflict, Forbidden, NotFound
from tests.fakes.platform import Plumbing, subject

Reader = Annotated[Subject, Depends(require(Scope.KB_READ))]
router = GovernedRouter()


class MayNotWrite(Forbidden):
    """The object is visible and closed."""

    code = "forbidden"


@router.get("/things/{thing}")
async def show(caller: Reader, thing: str) -> str:
    """Show."""
    raise {"hidden": NotFound, "visible": MayNotWrite, "changed": Conflict}[thing]


@pytest.fixture
def plumbing() -> Plumbing:
    return Plumbing(router)


async def test_what_the_caller_sees_is_named_and_what_may_be_anothers_is_not(plumbing: Plumbing) -> None:
    who = subject(Scope.KB_READ)
    async with plumbing.client(who) as client:
        assert [(await client.get(f"/v1/things/{t}")).status_code for t in ("visible", "hidden")] == [
            403,
            404,
        ]
    visible, hidden = plumbing.audit.entries
    assert visible.private == {"thing": "visible"}
    assert set(hidden.private) == {"thing"}
    assert hidden.private["thing"] != "hidden"
    assert (hidden.action, hidden.decision, hidden.resource.id) == ("access.denied", "deny", "show")
    assert hidden.facts == {"code": "not_found", "status": 404}


async def test_the_same_attempt_is_recognised_within_a_tenant_only(plumbing: Plumbing) -> None:
    who, foreigner = subject(Scope.KB_READ), subject(Scope.KB_READ)
    for someone in (who, who, foreigner):
        async with plumbing.client(someone) as client:
            await client.get("/v1/things/hidden")
    first, again, foreign = [entry.private["thing"] for entry in plumbing.audit.entries]
    assert first == again
    assert first != foreign


async def test_other_refusals_and_strangers_leave_no_event(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        assert (await client.get("/v1/things/changed")).status_code == 409
    async with plumbing.client() as stranger:
        assert (await stranger.get("/v1/things/hidden")).status_code == 401
        assert (await stranger.get("/nowhere")).status_code == 404
    assert plumbing.audit.entries == []


async def test_a_refusal_that_cannot_be_audited_is_told_as_unavailable(
    plumbing: Plumbing, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(evidence: Evidence) -> None:
        raise AuditUnavailable

    monkeypatch.setattr(plumbing.audit, "flush", failing)
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get("/v1/things/hidden")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "audit_unavailable")
