"""The one byte form of a JSON value that may be hashed or signed (RFC 8785)."""

import unicodedata
from collections.abc import Mapping, Sequence

import orjson

Canonical = str | int | bool | None | Sequence["Canonical"] | Mapping[str, "Canonical"]

MAX_EXACT_INTEGER = 2**53 - 1


def canonical(value: Canonical) -> bytes:
    """RFC 8785 bytes of `value`: sorted keys, NFC strings, no floats.

    Raises ValueError for a float, a key that is not ASCII, an integer beyond 2**53 - 1, text that is
    not NFC, or a lone surrogate: each of these has more than one spelling, and a hash must not.
    """
    _check(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise ValueError(str(error)) from error


def nfc(text: str) -> str:
    """`text` in the only form that `canonical` accepts."""
    return unicodedata.normalize("NFC", text)


def _check(value: Canonical) -> None:
    match value:
        case None | bool():
            return
        case str():
            if not value.isascii() and not unicodedata.is_normalized("NFC", value):
                raise ValueError("text is not in NFC")
        case int():
            if abs(value) > MAX_EXACT_INTEGER:
                raise ValueError("integer beyond 2**53 - 1")
        case Mapping():
            for key, member in value.items():
                if not isinstance(key, str) or not key.isascii():
                    raise ValueError("key is not an ASCII string")
                _check(member)
        case Sequence():
            for member in value:
                _check(member)
        case _:
            raise ValueError(f"{type(value).__name__} has no canonical form")
