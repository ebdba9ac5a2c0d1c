"""Leaves a provider alone that has stopped answering: arithmetic only, with the clock as an argument.

What a provider cannot do with one request says nothing of another tenant's, so each has a breaker of its
own; only where nothing could be sent at all is the provider away for everybody.
"""

from collections.abc import Callable

_FAILURES = 5
_REST_S = 30.0
_BUSY_S = 1.0


class Breaker:
    """Opens after several failures in a row; after a rest it lets one call at a time find out."""

    def __init__(
        self, clock: Callable[[], float], *, failures: int = _FAILURES, rest_s: float = _REST_S
    ) -> None:
        self._clock = clock
        self._most = failures
        self._rest_s = rest_s
        self._failures = 0
        self._opened_at: float | None = None
        self._is_probing = False

    def admit(self) -> float:
        """Seconds until a call may be tried; 0 admits this one, which must be told as ended."""
        if self._opened_at is None:
            return 0.0
        left = self._opened_at + self._rest_s - self._clock()
        if left > 0:
            return left
        if self._is_probing:
            return _BUSY_S
        self._is_probing = True
        return 0.0

    def answered(self) -> None:
        """The provider is there, whatever it said."""
        self._failures = 0
        self._opened_at = None
        self._is_probing = False

    def failed(self) -> None:
        """The provider did not answer, or only that it cannot."""
        self._failures += 1
        if self._is_probing or (self._opened_at is None and self._failures >= self._most):
            self._opened_at = self._clock()
        self._is_probing = False

    def abandoned(self) -> None:
        """The call ended without saying anything of the provider."""
        self._is_probing = False


class Breakers:
    """One per process: what each endpoint's calls go by."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._breakers: dict[tuple[str, object], Breaker] = {}

    def of(self, endpoint: str, tenant: object) -> "TenantBreaker":
        """The breaker of one tenant's calls of an endpoint."""
        return TenantBreaker(self._breaker(endpoint, _EVERYBODY), self._breaker(endpoint, tenant))

    def _breaker(self, endpoint: str, whose: object) -> Breaker:
        return self._breakers.setdefault((endpoint, whose), Breaker(self._clock))


_EVERYBODY = "everybody"


class TenantBreaker:
    """As a breaker: the endpoint's for everybody, and within it the tenant's own."""

    def __init__(self, everybodys: Breaker, own: Breaker) -> None:
        self._everybodys = everybodys
        self._own = own

    def admit(self) -> float:
        """See `Breaker.admit`."""
        wait_s = self._own.admit()
        if wait_s > 0:
            return wait_s
        wait_s = self._everybodys.admit()
        if wait_s > 0:
            self._own.abandoned()
        return wait_s

    def answered(self) -> None:
        """See `Breaker.answered`."""
        self._everybodys.answered()
        self._own.answered()

    def failed(self, *, was_reached: bool) -> None:
        """The provider did not answer; `was_reached` says whether the request got as far as there."""
        self._own.failed()
        if was_reached:
            self._everybodys.answered()
        else:
            self._everybodys.failed()

    def abandoned(self) -> None:
        """See `Breaker.abandoned`."""
        self._everybodys.abandoned()
        self._own.abandoned()
