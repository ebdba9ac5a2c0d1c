"""Check digits that several kinds of number share."""

from collections.abc import Sequence

_ZERO = ord("0")
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
_WEIGHTS = (7, 3, 1)


def passes_luhn(digits: bytes) -> bool:
    """Whether the last digit is Luhn's."""
    total = sum(digits[-1::-2] + digits[-2::-2].translate(_DOUBLED))
    return (total - _ZERO * len(digits)) % 10 == 0


def weighted(digits: str, weights: Sequence[int]) -> int:
    """The digits times these weights, in all."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def passes_travel_check(signs: str, check: str) -> bool:
    """Whether `check` is that of the signs in the machine-readable zone of a travel document (ICAO 9303)."""
    values = [0 if sign == "<" else int(sign, 36) for sign in signs]
    total = sum(value * _WEIGHTS[place % 3] for place, value in enumerate(values))
    return str(total % 10) == check or (check == "<" and not any(values))
