"""The one kind of route: it decides who may come in before it reads what they send.

FastAPI reads and parses a body before any dependency runs. Here the requirement in the route's signature
is found when the route is built, and enforced first; then the body is judged, then an idempotency key,
then the endpoint runs, and its transaction commits before the answer leaves.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, cast

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from eai.access.subject import Subject
from eai.api.admission import Admission
from eai.api.dependencies import WORK, open_transaction
from eai.api.idempotency.records import Replay, Slot, key_of, replay_mode
from eai.api.idempotency.service import Idempotency
from eai.api.intake import Intake, is_large, refuse_nul
from eai.api.openapi import PROBLEM_RESPONSE, operation_extra
from eai.api.requirement import SUBJECT, Requirement, known_subject
from eai.kernel.errors import EaiError, Unauthenticated
from eai.knowledge.bases.access import authorise

if TYPE_CHECKING:
    from eai.bootstrap import Platform

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_BASE_IN_PATH = re.compile(r"/knowledge-bases/\{(\w+)\}")
_STATUSES_OF_INPUT = frozenset({400, 411, 413, 415, 422})


class GovernedRoute(APIRoute):
    """A route that authorises before it reads. Without a requirement it is public."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["responses"] = {"default": PROBLEM_RESPONSE} | (options.get("responses") or {})
        super().__init__(path, endpoint, **options)
        self.openapi_extra = operation_extra(self.requirement, self.replay) | (self.openapi_extra or {})
        self._stem = self.path_format.partition("{")[0]
        self._depth = self.path_format.count("/")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether the route fits the path; most are ruled out before the regular expression runs."""
        path: str = scope["path"]
        is_ruled_out = not path.startswith(self._stem) or path.count("/") != self._depth
        if is_ruled_out and not scope.get("root_path"):
            return Match.NONE, {}
        return super().matches(scope)

    @property
    def requirement(self) -> Requirement | None:
        """What callers need; None for a public route."""
        found = [call for call in _calls(self.dependant) if isinstance(call, Requirement)]
        if len(found) > 1:
            message = f"{self.path}: one requirement per route, not {len(found)}"
            raise TypeError(message)
        return found[0] if found else None

    @property
    def replay(self) -> Replay:
        """What a repetition under the same idempotency key gets."""
        is_known = self.requirement is not None and not self.requirement.is_deferred
        return replay_mode(self.endpoint, self.methods or set()) if is_known else Replay.IGNORED

    def get_route_handler(self) -> Handler:
        """The framework's handler behind the steps of this route."""
        handler = super().get_route_handler()
        body = self.body_field.field_info if self.body_field else None
        intake = Intake.of(self.endpoint, cast("Any", body))
        transacts = open_transaction in set(_calls(self.dependant))
        return Operation(self, intake, _committing(handler) if transacts else handler)


class Operation:
    """The steps of one route, in order."""

    def __init__(self, route: GovernedRoute, intake: Intake, handler: Handler) -> None:
        self._requirement = route.requirement
        self._replay = route.replay
        self._intake = intake
        self._handler = handler
        self._name = f"{'/'.join(sorted(route.methods or ()))} {route.path_format}"
        self._base_parameter = _base_parameter(route)

    async def __call__(self, request: Request) -> Response:
        if self._requirement is None:
            return await self._read_and_run(request)
        admission: Admission = request.app.state.admission
        if self._requirement.is_deferred:
            return await self._deferred(request, admission, self._requirement)
        subject = await admission.admit(request, self._requirement)
        refuse_nul(request.scope)
        if is_large(request):
            await self._authorise_base(request, subject)
        read = await self._intake.read(request)
        try:
            return await self._run(read, subject)
        finally:
            await read.close()

    async def _run(self, read: Request, subject: Subject) -> Response:
        key = key_of(read) if self._replay is not Replay.IGNORED else None
        if key is None:
            return await self._handler(read)
        holder = subject.api_key if self._replay is Replay.ONCE else None
        slot = Slot(subject.tenant, subject.principal, self._name, key, holder)
        idempotency: Idempotency = read.app.state.idempotency
        return await idempotency.once(read, slot, self._replay, self._authorise_replay(read), self._handler)

    async def _read_and_run(self, request: Request) -> Response:
        refuse_nul(request.scope)
        read = await self._intake.read(request)
        try:
            return await self._handler(read)
        finally:
            await read.close()

    async def _deferred(self, request: Request, admission: Admission, requirement: Requirement) -> Response:
        await admission.greet(request, requirement)
        try:
            response = await self._read_and_run(request)
        except Unauthenticated:
            admission.refused(request)
            raise
        except (EaiError, RequestValidationError) as error:
            # The operation had no chance to say 401 or 403, and those come before a word on the input.
            if known_subject(request) is None and _is_about_input(error):
                await admission.admit(request, requirement)
            raise
        if (subject := known_subject(request)) is not None:
            admission.accepted(request, subject)
        return response

    async def _authorise_base(self, request: Request, subject: Subject) -> None:
        """Who may not use the base costs no large body; small ones are judged first, as documented."""
        if self._requirement is not None and self._requirement.base is not None:
            platform: Platform = request.app.state.platform
            async with platform.database.transaction(subject.tenant) as session:
                await self._authorise_replay(request)(session)

    def _authorise_replay(self, request: Request) -> Callable[[AsyncSession], Awaitable[None]]:
        subject: Subject = request.scope[SUBJECT]
        permission = self._requirement.base if self._requirement else None

        async def authorised(session: AsyncSession) -> None:
            if permission is not None:
                await authorise(session, subject, request.path_params[self._base_parameter], permission)

        return authorised


class GovernedRouter(APIRouter):
    """A slice's routes under `/v1`. Operation ids are the endpoints' names."""

    def __init__(
        self,
        *,
        prefix: str = "/v1",
        tags: list[str] | None = None,
        responses: dict[int | str, dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(
            prefix=prefix,
            tags=list(tags or ()),
            responses=responses,
            route_class=GovernedRoute,
            generate_unique_id_function=lambda route: route.name,
            redirect_slashes=False,
        )


def _committing(handler: Handler) -> Handler:
    """`handler`, whose transactions commit when it has an answer and roll back when it raises."""

    async def committing(request: Request) -> Response:
        async with AsyncExitStack() as work:
            request.scope[WORK] = work
            return await handler(request)

    return committing


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    for dependency in dependant.dependencies:
        if dependency.call is not None:
            yield dependency.call
        yield from _calls(dependency)


def _base_parameter(route: GovernedRoute) -> str:
    match = _BASE_IN_PATH.search(route.path_format)
    if match is not None:
        return match[1]
    if route.requirement is not None and route.requirement.base is not None:
        message = f"{route.path_format} needs a permission on a base and names none"
        raise TypeError(message)
    return ""


def _is_about_input(error: Exception) -> bool:
    return isinstance(error, RequestValidationError) or getattr(error, "status", 0) in _STATUSES_OF_INPUT
