"""Policies of an Open Policy Agent beside the product: one question, one short deadline, no second try."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import orjson

from eai.policies.errors import PolicyUnavailable
from eai.policies.ports import PolicyDecision, PolicyRequest

DOCUMENT = "/v1/data/eai"
"""Where the decision is asked for when the URL names a server only."""

DEADLINE_S = 1.0
_LARGEST_ANSWER = 65_536
_AWAY = frozenset({429, 502, 503, 504})
_NAME = ("opa",)


class OpaPolicies:
    """Asks `{"input": …}` of one document, and takes `{"result": {"allow": true}}` for yes.

    False is no; everything else could not be evaluated. More members of the result are the policy's own.
    """

    def __init__(self, url: str, *, deadline_s: float = DEADLINE_S) -> None:
        parts = urlsplit(url)
        self._url = url if parts.path.strip("/") else f"{url.rstrip('/')}{DOCUMENT}"
        self._deadline_s = deadline_s
        # Certificates are read only for whoever shows one.
        self._client = httpx2.AsyncClient(
            verify=parts.scheme == "https",
            trust_env=False,
            follow_redirects=False,
            timeout=deadline_s,
            headers={"content-type": "application/json", "accept-encoding": "identity"},
        )

    async def decide(self, request: PolicyRequest) -> PolicyDecision:
        """What the engine says; see `ports.OutsidePolicies`."""
        return _decision(*await self._answered(orjson.dumps({"input": _asked(request)})))

    async def check(self) -> None:
        """Return when something that speaks HTTP answers there. Raises PolicyUnavailable."""
        await self._answered(b"{}")

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def _answered(self, question: bytes) -> tuple[int, bytes]:
        """Status and body. Raises PolicyUnavailable when nobody answers in time, or says that it cannot."""
        try:
            async with asyncio.timeout(self._deadline_s):
                status, answer = await self._exchanged(question)
        except (TimeoutError, httpx2.HTTPError) as error:
            raise PolicyUnavailable from error
        if status in _AWAY:
            raise PolicyUnavailable
        return status, answer

    async def _exchanged(self, question: bytes) -> tuple[int, bytes]:
        answer = bytearray()
        async with self._client.stream("POST", self._url, content=question) as response:
            async for piece in response.aiter_raw():
                answer += piece
                if len(answer) > _LARGEST_ANSWER:
                    break
            return response.status_code, bytes(answer)


def _decision(status: int, answer: bytes) -> PolicyDecision:
    if status != httpx2.codes.OK:
        return _failed(f"it answered {status}")
    if len(answer) > _LARGEST_ANSWER:
        return _failed("its answer is too long")
    try:
        document = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return _failed("its answer is no JSON")
    match document:
        case {"result": {"allow": True | False as is_allowed}}:
            return PolicyDecision(is_allowed, _NAME)
        case _:
            return _failed("its answer holds no result.allow")


def _failed(why: str) -> PolicyDecision:
    return PolicyDecision(is_allowed=False, policies=_NAME, errors=(why,))


def _asked(request: PolicyRequest) -> Mapping[str, Any]:
    principal, resource = request.principal, request.resource
    return {
        "tenant": str(request.tenant),
        "principal": {
            "kind": principal.kind,
            "id": None if principal.id is None else str(principal.id),
            "roles": principal.roles,
            "groups": principal.groups,
            "clearance": principal.clearance.rank,
        },
        "action": str(request.action),
        "resource": {"kind": resource.kind, "id": resource.id, **resource.attributes},
        "context": dict(request.context),
    }
