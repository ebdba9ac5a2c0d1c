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
    # By exact type first: this runs for every value of every audit event, and asking an abstract
    # class is ten times dearer.
    kind = type(value)
    if kind is dict:
        _check_members(value)  # type: ignore[arg-type]
    elif kind is list or kind is tuple:
        for member in value:  # type: ignore[union-attr]
            _check(member)
    elif kind is str:
        _check_text(value)  # type: ignore[arg-type]
    elif kind is not bool and value is not None:
        _check_rarer(value)


def _check_rarer(value: Canonical) -> None:
    match value:
        case str():
            _check_text(value)
        case int():
            if abs(value) > MAX_EXACT_INTEGER:
                raise ValueError("integer beyond 2**53 - 1")
        case Mapping():
            _check_members(value)
        case Sequence():
            for member in value:
                _check(member)
        case _:
            raise ValueError(f"{type(value).__name__} has no canonical form")


def _check_text(text: str) -> None:
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        raise ValueError("text is not in NFC")


def _check_members(value: Mapping[str, Canonical]) -> None:
    for key, member in value.items():
        if not isinstance(key, str) or not key.isascii():
            raise ValueError("key is not an ASCII string")
        _check(member)
