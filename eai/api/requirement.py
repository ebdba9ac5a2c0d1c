"""What an operation requires of its caller, as a dependency in the route's signature.

    Reader = Annotated[Subject, Depends(require(Scope.KB_READ))]

`GovernedRoute` finds the requirement when the route is built and enforces it before the body is read;
the dependency itself only hands over what was established then.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.errors import TenantRequired
from eai.identity.errors import ScopeMissing

SUBJECT = "eai.subject"
CREDENTIAL = "eai.credential"


@dataclass(frozen=True, eq=False, slots=True)
class Requirement:
    """Scopes that open an operation, and what a replayed answer of it needs besides.

    `base` is the permission on the knowledge base in the path; the service checks it when the operation
    runs, and it is checked here before a kept answer is given out again. With `is_deferred` the
    operation's own first statement authenticates, and the dependency hands over the credential.
    """

    scopes: tuple[Scope, ...]
    any_of: bool = False
    base: Permission | None = None
    is_deferred: bool = False
    tenant_only: bool = True

    def check(self, subject: Subject) -> None:
        """Raise TenantRequired or ScopeMissing unless `subject` may attempt the operation."""
        if subject.is_platform and self.tenant_only:
            raise TenantRequired
        missing = [scope for scope in self.scopes if scope not in subject.scopes]
        if missing and not (self.any_of and len(missing) < len(self.scopes)):
            raise ScopeMissing(missing)

    async def __call__(self, request: Request) -> Any:
        """The subject, or the credential of a deferred requirement."""
        return request.scope[CREDENTIAL if self.is_deferred else SUBJECT]


def require(
    *scopes: Scope, any_of: bool = False, base: Permission | None = None, deferred: bool = False
) -> Requirement:
    """All of `scopes`, or one of them with `any_of`; platform operators only where platform:admin opens."""
    tenant_only = Scope.PLATFORM_ADMIN not in scopes
    return Requirement(scopes, any_of, base, deferred, tenant_only)


def authenticated(*, tenant_only: bool = False) -> Requirement:
    """Any credential in force; with `tenant_only`, not a platform operator's."""
    return Requirement((), tenant_only=tenant_only)


def remember_subject(request: Request, subject: Subject) -> None:
    """Tell who is asking, where a deferred operation found out by itself."""
    request.scope[SUBJECT] = subject


def known_subject(request: Request) -> Subject | None:
    """Who is asking, as far as it is established yet."""
    return request.scope.get(SUBJECT)


Caller = Annotated[Subject, Depends(authenticated(tenant_only=True))]
"""Anybody of a tenant, whatever the scopes."""
