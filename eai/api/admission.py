"""The door: who presents the credential, whether they ask too often, and whether the scope opens it."""

from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.requests import Request

from eai.access.subject import Subject
from eai.api.credentials import presented_credential
from eai.api.rate_limits import FailedAttempts, LimitOf, TenantLimits
from eai.api.requirement import CREDENTIAL, SUBJECT, Requirement
from eai.identity.credentials import Credential
from eai.kernel.errors import RateLimited, Unauthenticated
from eai.platform.metrics import AUTHENTICATION_FAILURES

if TYPE_CHECKING:
    from eai.audit.failures import FailureCounter
    from eai.identity.authentication import Authentication

ALLOWANCE = "eai.allowance"


class Admission:
    """Lets callers in. One per process; it keeps the counts of what was refused."""

    def __init__(
        self, authentication: "Authentication", limit_of: LimitOf, counter: "FailureCounter"
    ) -> None:
        self._authentication = authentication
        self._counter = counter
        self._failures = FailedAttempts()
        self._limits = TenantLimits(limit_of)

    def present(self, request: Request) -> str:
        """The request's credential, unchecked but for its form and for too many failures before it.

        Raises Unauthenticated, AmbiguousCredentials, RateLimited.
        """
        credential = presented_credential(request.scope)
        try:
            self._failures.admit(_client(request), credential)
        except RateLimited:
            self._note("limited")
            raise
        request.scope[CREDENTIAL] = credential
        return credential

    async def admit(self, request: Request, requirement: Requirement) -> Subject:
        """The caller, if `requirement` lets them attempt the operation.

        Raises Unauthenticated, AmbiguousCredentials, RateLimited, TenantRequired, ScopeMissing.
        """
        credential = self.present(request)
        try:
            subject = await self._authentication.authenticate(credential)
        except Unauthenticated:
            self.refused(request)
            raise
        self.accepted(request, subject)
        await self._count(request, subject)
        requirement.check(subject)
        return subject

    async def greet(self, request: Request, requirement: Requirement) -> None:
        """`admit`, but take a credential that was good in this process before at its word.

        For operations that authenticate by themselves: whoever may be a stranger costs them no body.
        Counts the request for the tenant that the credential last belonged to. Raises what `admit` raises.
        """
        subject = self._failures.last_subject(self.present(request))
        if subject is None:
            await self.admit(request, requirement)
        else:
            await self._count(request, subject)

    def refused(self, request: Request) -> None:
        """Count that the request's credential opened nothing.

        What has not even the form of a key was no guess and cost nothing.
        """
        self._note("invalid")
        credential = request.scope[CREDENTIAL]
        with suppress(Unauthenticated):
            Credential.parse(credential)
            self._failures.failed(_client(request), credential)

    def accepted(self, request: Request, subject: Subject) -> None:
        """Note who is asking."""
        request.scope[SUBJECT] = subject
        self._failures.succeeded(request.scope[CREDENTIAL], subject)

    def _note(self, reason: str) -> None:
        AUTHENTICATION_FAILURES.labels(reason=reason).inc()
        self._counter.count(reason)

    async def _count(self, request: Request, subject: Subject) -> None:
        counted = await self._limits.count(subject)
        if counted is None:
            return
        allowance, is_within = counted
        request.scope[ALLOWANCE] = allowance
        if not is_within:
            raise RateLimited(retry_after_s=allowance.reset_s)


def _client(request: Request) -> str:
    client = request.scope.get("client")
    return client[0] if client else "unknown"
