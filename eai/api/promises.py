"""Which changes of what is promised would break clients that rely on it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from eai.contracts.catalogue import CONTRACTS
from eai.contracts.changes.forms import Comparison
from eai.contracts.changes.lists import broken_errors, broken_events
from eai.contracts.changes.operations import broken_operations

_LISTS = {
    "audit-events.json": broken_events,
    "errors.json": broken_errors,
    "openapi.json": broken_operations,
}
_FORMS = {contract.file_name: contract.way for contract in CONTRACTS}
SCHEMA = ".schema.json"


def broken(name: str, before: str, after: str | None) -> Iterator[str]:
    """What breaks where the promise of this file was `before` and is `after`; None: it is gone."""
    if after is None:
        yield "the contract is gone"
        return
    old, new = _read(before), _read(after)
    if name in _LISTS:
        yield from _LISTS[name](old, new)
    elif name in _FORMS:
        yield from Comparison(old, new, _FORMS[name]).breaks(old, new, "it")


def _read(text: str) -> Mapping[str, Any]:
    value: Mapping[str, Any] = json.loads(text)
    return value
