"""A refusal of somebody known is an event of its own, in the chain of the caller's tenant."""

from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Decision, Evidence, Resource
from eai.kernel.canonical import nfc
from eai.kernel.errors import EaiError

if TYPE_CHECKING:
    from eai.bootstrap import Platform

_LONGEST_TARGET = 200


async def record_denial(request: Request, subject: Subject, error: EaiError) -> None:
    """Audit that `subject` was refused; returns once it is durable.

    What was asked for may be another tenant's id or a name, so it goes where it can be erased.
    """
    platform: Platform = request.app.state.platform
    operation = getattr(request.scope.get("route"), "name", "unrouted")
    entry = AuditEntry(
        tenant=subject.tenant,
        action=AuditAction.ACCESS_DENIED,
        actor=Actor.of(subject),
        resource=Resource("operation", operation),
        decision=Decision.DENY,
        facts={"code": error.code, "status": error.status},
        private={name: _text(value) for name, value in request.path_params.items()},
    )
    await platform.audit.flush(Evidence(entries=(entry,)))


def _text(value: Any) -> str:
    return nfc(str(value)[:_LONGEST_TARGET])
