"""Runs a request at most once per key, and tells its answer again to whoever may still have it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import ormsgpack
import structlog
from fastapi.exceptions import RequestValidationError
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import Request
from starlette.responses import Response

from eai.api.errors import IdempotencyAnswerErased, IdempotencyInProgress, IdempotencyKeyReused
from eai.api.idempotency.records import LEASE, Claim, Replay, Slot, fingerprint_of
from eai.api.idempotency.repository import Found, Records
from eai.kernel.errors import EaiError, Unavailable
from eai.platform.cancellation import end_if_cancelled
from eai.platform.expiry import erase_expired
from eai.platform.keys import SealBroken

if TYPE_CHECKING:
    from eai.platform.database import Database
    from eai.platform.keys import Keyring

CLAIM = "eai.idempotency_claim"
_PURPOSE = "idempotency"
_FINGERPRINTS = "idempotency.fingerprints"
_LONGEST_WAIT_S = 5

Authorise = Callable[[AsyncSession], Awaitable[None]]
Run = Callable[[Request], Awaitable[Response]]

log = structlog.get_logger(__name__)


class Idempotency:
    """Claims a key before a request runs and settles it after; each step is a transaction of its own."""

    def __init__(
        self, database: "Database", keyring: "Keyring", *, renewed_every_s: float = LEASE.total_seconds() / 3
    ) -> None:
        self._database = database
        self._keyring = keyring
        self._fingerprinting = keyring.master.derive(_FINGERPRINTS)
        self._renewed_every_s = renewed_every_s

    async def once(
        self, request: Request, slot: Slot, mode: Replay, authorise: Authorise, run: Run
    ) -> Response:
        """The answer of `run`, or the one kept from an earlier request with this key.

        `authorise` is asked, in a transaction of the tenant, before a kept answer is given out. Raises
        IdempotencyKeyReused, IdempotencyInProgress, IdempotencyAnswerErased, and what they raise.
        """
        fingerprint = await fingerprint_of(request, slot.holder, self._fingerprinting)
        async with self._database.transaction(slot.tenant) as session:
            records = Records(session, slot)
            claim = await records.claim(fingerprint)
            if claim is None:
                await authorise(session)
                sealed = _kept(await records.find(), fingerprint)
                if mode is Replay.ONCE:
                    await records.erase_response()
            else:
                await erase_expired(session)
        if claim is None:
            return await self._opened(slot, sealed)
        request.scope[CLAIM] = claim
        return await self._run(request, claim, mode, run)

    async def _run(self, request: Request, claim: Claim, mode: Replay, run: Run) -> Response:
        try:
            async with self._renewing(claim):
                response = await run(request)
        except (EaiError, RequestValidationError) as error:
            status = getattr(error, "status", HTTPStatus.UNPROCESSABLE_ENTITY)
            await self._settle_failure(claim, is_known=status < HTTPStatus.INTERNAL_SERVER_ERROR)
            raise
        except Exception:
            # Whatever happened, the effect may be there: the next attempt must find it by its id.
            await self._settle_failure(claim, is_known=False)
            raise
        await self._settle(claim, mode, response)
        return response

    @asynccontextmanager
    async def _renewing(self, claim: Claim) -> AsyncIterator[None]:
        """Hold on to `claim` for as long as its request runs: a model may take longer than a lease."""
        renewing = asyncio.create_task(self._renew(claim))
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.wait({renewing})

    async def _renew(self, claim: Claim) -> None:
        while True:
            await asyncio.sleep(self._renewed_every_s)
            try:
                async with self._database.transaction(claim.slot.tenant) as session:
                    await Records(session, claim.slot).renew(claim)
            except Unavailable:
                log.warning("idempotency.lease_not_renewed", route=claim.slot.route)
            end_if_cancelled()

    async def _settle(self, claim: Claim, mode: Replay, response: Response) -> None:
        """A commit stands whatever becomes of its record, so a failure here is not the caller's."""
        if not HTTPStatus.OK <= response.status_code < HTTPStatus.MULTIPLE_CHOICES:
            await self._settle_failure(claim, is_known=True)
            return
        try:
            sealed = await self._sealed(claim.slot, response)
            async with self._database.transaction(claim.slot.tenant) as session:
                await Records(session, claim.slot).complete(claim, sealed, mode.value)
        except Unavailable:
            log.warning("idempotency.answer_not_kept", route=claim.slot.route)

    async def _settle_failure(self, claim: Claim, *, is_known: bool) -> None:
        try:
            async with self._database.transaction(claim.slot.tenant) as session:
                records = Records(session, claim.slot)
                await (records.forget(claim) if is_known else records.end_lease(claim))
        except Unavailable:
            log.warning("idempotency.lease_left", route=claim.slot.route)

    async def _sealed(self, slot: Slot, response: Response) -> bytes:
        kept = (response.status_code, response.raw_headers, bytes(response.body))
        return await self._keyring.seal(slot.tenant, _PURPOSE, ormsgpack.packb(kept), slot.context)

    async def _opened(self, slot: Slot, sealed: bytes) -> Response:
        try:
            kept = await self._keyring.unseal(slot.tenant, _PURPOSE, sealed, slot.context)
        except SealBroken as error:
            raise IdempotencyAnswerErased from error
        status, headers, body = ormsgpack.unpackb(kept)
        response = Response(body, status_code=status)
        response.raw_headers = [(name, value) for name, value in headers]
        response.headers["idempotent-replayed"] = "true"
        return response


def _kept(found: Found | None, fingerprint: bytes) -> bytes:
    if found is None:
        raise IdempotencyInProgress(retry_after_s=1)
    if found.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    if not found.is_done:
        raise IdempotencyInProgress(retry_after_s=min(found.lease_s, _LONGEST_WAIT_S))
    if found.response is None:
        raise IdempotencyAnswerErased
    return found.response
