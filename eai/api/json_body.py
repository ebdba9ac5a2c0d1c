"""JSON as this API accepts it: one meaning only, and refused before it costs anything."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from eai.api.errors import MalformedJson
from eai.api.field_faults import MOST_FAULTS, dotted
from eai.kernel.errors import InvalidInput

MAX_DEPTH = 64
MAX_TOKENS = 50_000
"""Strings, and commas and brackets outside of strings: twice what the longest list of ids needs."""
_LARGEST_INTEGER = 2**63 - 1
_INTEGER_DIGITS = 20
_INFINITY = float("inf")


class _Ambiguous(ValueError):
    """A value that other readers of the same text would take differently."""


def parse_json(body: bytes) -> Any:
    """The value in `body`.

    Raises MalformedJson for anything but UTF-8 JSON with unique keys, finite numbers, 64-bit integers,
    at most 64 levels and MAX_TOKENS, and InvalidInput for text that PostgreSQL could not store.
    """
    if _has_too_many_tokens(body):
        raise MalformedJson("too_many_values")
    try:
        value = _DECODER.decode(body.decode())
    except _Ambiguous as error:
        raise MalformedJson(str(error)) from None
    except UnicodeDecodeError:
        raise MalformedJson("encoding") from None
    except RecursionError:
        raise MalformedJson("too_deep") from None
    except ValueError:
        raise MalformedJson("syntax") from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _is_deeper_than(MAX_DEPTH, value):
        raise MalformedJson("too_deep")
    # Only an escape can smuggle in what raw UTF-8 cannot hold.
    if b"\\u" in body and (faults := list(islice(_unstorable(value, ()), MOST_FAULTS))):
        raise InvalidInput(*faults)
    return value


# An unterminated string is one token too, so that no quotation mark is looked at twice.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,\[{]', re.DOTALL)


def _has_too_many_tokens(body: bytes) -> bool:
    """Whether it would cost more than any honest body: each value that does not fit is a fault to tell."""
    if body.count(b",") + body.count(b"[") + body.count(b"{") <= MAX_TOKENS // 2:
        return False
    return next(islice(_TOKEN.finditer(body), MAX_TOKENS, None), None) is not None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Ambiguous("duplicate_key")
    return found


def _integer(text: str) -> int:
    number = int(text) if len(text) <= _INTEGER_DIGITS else _LARGEST_INTEGER + 1
    if abs(number) > _LARGEST_INTEGER:
        raise _Ambiguous("number_out_of_range")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if abs(number) == _INFINITY:
        raise _Ambiguous("number_out_of_range")
    return number


def _refuse_constant(_name: str) -> float:
    raise _Ambiguous("not_a_number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_finite, parse_constant=_refuse_constant
)


def _is_deeper_than(limit: int, value: Any) -> bool:
    level = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _members(parent) if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _unstorable(value: Any, path: tuple[str, ...]) -> Iterator[dict[str, str]]:
    if isinstance(value, str):
        if "\0" in value:
            yield _fault(path, "string_nul")
        if not _is_encodable(value):
            yield _fault(path, "string_surrogate")
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _unstorable(key, path)
            yield from _unstorable(member, (*path, key))
    elif isinstance(value, list):
        for place, member in enumerate(value):
            yield from _unstorable(member, (*path, str(place)))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fault(path: tuple[str, ...], code: str) -> dict[str, str]:
    return {"path": dotted(path), "code": code, "message": ""}
