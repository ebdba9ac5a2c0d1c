"""Lengths and angles as they are on a usual screen, and what is calculated with them."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

PIXELS = {
    "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54, "q": 2.4 / 2.54,
    "em": 16.0, "rem": 16.0, "ex": 8.0, "rex": 8.0, "ch": 8.0, "rch": 8.0, "ic": 16.0, "ric": 16.0,
    "cap": 11.0, "rcap": 11.0, "lh": 19.0, "rlh": 19.0,
    **{f"{size}{side}": 12.0 for size in ("", "s", "l", "d") for side in ("vw", "vi", "vmax")},
    **{f"{size}{side}": 8.0 for size in ("", "s", "l", "d") for side in ("vh", "vb", "vmin")},
    "cqw": 10.0, "cqi": 10.0, "cqmax": 10.0, "cqh": 8.0, "cqb": 8.0, "cqmin": 8.0,
}  # fmt: skip
ANGLES = {"deg": 1.0, "grad": 0.9, "rad": math.degrees(1), "turn": 360.0}
MATHS = frozenset("calc min max clamp abs sign hypot mod rem round".split())
_CONSTANTS = {"infinity": 1e9, "-infinity": -1e9, "pi": math.pi, "e": math.e}
SHARE_PX = 10.0
"""What a per cent of most things is."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?\d+(?:\.\d+)?)(?P<unit>%|[a-z]+)?|(?P<constant>-?infinity|pi|e)(?![a-z(])|(?P<name>[a-z]*)\(|(?P<sign>[-+*/),]))"
)


class Quantity(NamedTuple):
    """A number with `px`, `deg`, `%`, nothing, or a unit that nobody here knows."""

    amount: float
    unit: str

    @classmethod
    def of(cls, amount: float, unit: str) -> "Quantity":
        """The same in pixels or degrees."""
        if unit in PIXELS:
            return cls(amount * PIXELS[unit], "px")
        return cls(amount * ANGLES[unit], "deg") if unit in ANGLES else cls(amount, unit)


class _Unreadable(Exception):
    """What is no calculation, or not one of those that are calculated here."""


def calculated(text: str) -> Quantity | None:
    """What a function of MATHS comes to, all in it written as in `css`; None where it is not known."""
    try:
        tokens = _tokens(text)
        result = _operand(tokens)
    except (_Unreadable, ArithmeticError, ValueError):  # of remainders and roundings of what is endless
        return None
    return result if not tokens and math.isfinite(result.amount) else None


def pixels(text: str) -> float | None:
    """A length of a style as it is written in `css`. A number alone is one in quirks mode."""
    match = _TOKEN.fullmatch(text)
    if match is None or not match["number"] or match["unit"] not in {None, "px", "%"}:
        return None
    return float(match["number"]) * (SHARE_PX if match["unit"] == "%" else 1.0)


def _tokens(text: str) -> list[re.Match[str]]:
    """The first last, so that it can be taken off."""
    found, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _Unreadable
        found.append(match)
        position = match.end()
    return found[::-1]


def _operand(tokens: list[re.Match[str]]) -> Quantity:
    token = tokens.pop() if tokens else None
    if token is not None and token["number"]:
        return Quantity.of(float(token["number"]), token["unit"] or "")
    if token is not None and token["constant"]:
        return Quantity(_CONSTANTS[token["constant"]], "")
    if token is None or token["name"] is None:
        raise _Unreadable
    values = [_sum(tokens)]
    while _next(tokens) == ",":
        tokens.pop()
        values.append(_sum(tokens))
    if _next(tokens) != ")" or token["name"] not in _FUNCTIONS:
        raise _Unreadable
    tokens.pop()
    return _FUNCTIONS[token["name"]](values)


def _sum(tokens: list[re.Match[str]]) -> Quantity:
    result = _product(tokens)
    while (sign := _next(tokens)) in {"+", "-"}:
        spaced = tokens.pop()
        if not (spaced[0].startswith(" ") and tokens and tokens[-1][0].startswith(" ")):
            raise _Unreadable
        first, second = _alike([result, _product(tokens)])
        result = first._replace(amount=first.amount + (second.amount if sign == "+" else -second.amount))
    return result


def _product(tokens: list[re.Match[str]]) -> Quantity:
    result = _operand(tokens)
    while (sign := _next(tokens)) in {"*", "/"}:
        tokens.pop()
        other = _operand(tokens)
        if other.unit and (result.unit or sign == "/"):
            raise _Unreadable
        amount = result.amount * other.amount if sign == "*" else result.amount / other.amount
        result = Quantity(amount, result.unit or other.unit)
    return result


def _next(tokens: Sequence[re.Match[str]]) -> str | None:
    return tokens[-1]["sign"] if tokens else None


def _alike(values: Sequence[Quantity]) -> Sequence[Quantity]:
    """All in one unit: shares are taken for pixels where there are any."""
    units = {value.unit for value in values}
    if units == {"px", "%"}:
        return [Quantity(value.amount * (SHARE_PX if value.unit == "%" else 1.0), "px") for value in values]
    if len(units) > 1:
        raise _Unreadable
    return values


def _only(values: Sequence[Quantity]) -> Quantity:
    if len(values) != 1:
        raise _Unreadable
    return values[0]


def _clamped(values: Sequence[Quantity]) -> Quantity:
    if len(values) != len(("least", "wanted", "most")):
        raise _Unreadable
    least, wanted, most = _alike(values)
    return max(least, min(wanted, most))


def _of_two(calculate: Callable[[float, float], float]) -> Callable[[Sequence[Quantity]], Quantity]:
    def calculated_of(values: Sequence[Quantity]) -> Quantity:
        if len(values) != len(("first", "second")):
            raise _Unreadable
        first, second = _alike(values)
        return first._replace(amount=calculate(first.amount, second.amount))

    return calculated_of


def _longest(values: Sequence[Quantity]) -> Quantity:
    """The length of what goes so far in each direction."""
    same = _alike(values)
    return same[0]._replace(amount=math.hypot(*(value.amount for value in same)))


def _sign(values: Sequence[Quantity]) -> Quantity:
    amount = _only(values).amount
    return Quantity(float((amount > 0) - (amount < 0)), "")


_FUNCTIONS: Mapping[str, Callable[[Sequence[Quantity]], Quantity]] = {
    "": _only,
    "calc": _only,
    "min": lambda values: min(_alike(values)),
    "max": lambda values: max(_alike(values)),
    "clamp": _clamped,
    "abs": lambda values: _only(values)._replace(amount=abs(_only(values).amount)),
    "sign": _sign,
    "hypot": _longest,
    "mod": _of_two(lambda first, second: first % second),
    "rem": _of_two(math.fmod),
    "round": _of_two(lambda first, second: round(first / second) * second),
}
