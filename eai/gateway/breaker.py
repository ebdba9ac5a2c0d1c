"""Leaves a provider alone that has stopped answering: arithmetic only, with the clock as an argument."""

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
