"""A refusal of somebody known is an event of its own, in the chain of the caller's tenant."""

from functools import partial
from hashlib import blake2b
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.requests import Request

from eai.access.subject import Subject
from eai.api.errors import TenantRequired
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Decision, Evidence, Resource
from eai.identity.errors import ScopeMissing
from eai.kernel.canonical import nfc
from eai.kernel.errors import EaiError

if TYPE_CHECKING:
    from eai.bootstrap import Platform

_LONGEST_TARGET = 200


async def record_denial(request: Request, subject: Subject, error: EaiError) -> None:
    """Audit that `subject` was refused; returns once it is durable.

    What was asked for is named where the caller sees it. Elsewhere it may be another tenant's, and this
    chain must hold nothing of theirs: a digest lets whoever knows the id find who tried it.
    """
    platform: Platform = request.app.state.platform
    operation = getattr(request.scope.get("route"), "name", "unrouted")
    show = _plain if _is_seen(error) else partial(_digest, subject)
    noted = {name: str(error.details[name]) for name in error.noted}
    entry = AuditEntry(
        tenant=subject.tenant,
        action=AuditAction.ACCESS_DENIED,
        actor=Actor.of(subject),
        resource=Resource("operation", operation),
        decision=Decision.DENY,
        facts={"code": error.code, "status": error.status, **noted},
        private={name: show(str(value)) for name, value in request.path_params.items()},
    )
    await platform.audit.flush(Evidence(entries=(entry,)))


def _is_seen(error: EaiError) -> bool:
    """Whether the refusal came after the object was found and shown to be visible."""
    return error.status == HTTPStatus.FORBIDDEN and not isinstance(error, ScopeMissing | TenantRequired)


def _plain(value: str) -> str:
    return nfc(value[:_LONGEST_TARGET])


def _digest(subject: Subject, value: str) -> str:
    return blake2b(value.encode(), digest_size=16, key=subject.tenant.bytes).hexdigest()
