"""Asks providers for vectors as packed floats, and remembers those that will not have it.

As text, the numbers of a batch are three times as long, and reading them took most of the processor time
that a call needs. Whoever does not know `encoding_format` ignores it and answers numbers, or refuses it.
"""

from http import HTTPStatus
from uuid import UUID

from eai.gateway.failures import ProviderFailure
from eai.gateway.ports import Target

PARAMETER = {"encoding_format": "base64"}

_REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_IMPLEMENTED})


class PackedVectors:
    """What is known of each model at each endpoint; one per process."""

    def __init__(self) -> None:
        self._takes: dict[tuple[UUID, str], bool] = {}

    def are_asked_of(self, target: Target) -> bool:
        """Whether the next request has the parameter."""
        return self._takes.get(_key(target), True)

    def answered(self, target: Target, *, was_asked: bool) -> None:
        """An answer could be read: with the parameter, the next refusal has another reason, most likely."""
        if was_asked:
            self._takes[_key(target)] = True

    def failed(self, target: Target, failure: ProviderFailure, *, was_asked: bool) -> ProviderFailure:
        """The failure, which calls for another attempt where the parameter may have been its reason.

        What is refused without it, or by whoever took it, is refused for good; the question is open again.
        """
        key = _key(target)
        if failure.status not in _REFUSALS:
            return failure
        if not was_asked or self._takes.get(key):
            self._takes.pop(key, None)
            return failure
        self._takes[key] = False
        return ProviderFailure(is_retryable=True, status=failure.status, was_sent=False)


def _key(target: Target) -> tuple[UUID, str]:
    return target.endpoint.id, target.model.provider_model
