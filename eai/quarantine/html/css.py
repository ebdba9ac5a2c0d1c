"""Styles as tokens, and as they are written when nothing in them can be taken for something else.

What is a string, a comment or an escape is decided by a tokenizer that follows the specification: whatever a
browser does not take for a declaration must not undo one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tinycss2 import parse_component_value_list, serialize, serialize_identifier

from eai.quarantine.html.lengths import ANGLES, MATHS, PIXELS, Quantity, calculated

Token = Any
Declarations = Mapping[str, str]
"""Properties in small letters, with their values; a later one of the same name has won."""

_LONG_NUMBER = re.compile(r"[0-9]{300,}")
_LONGEST_NUMBER = 300
_LARGEST = 1e9
_DEEPEST = 12
_SOLID = frozenset({"ident", "number", "percentage", "dimension", "hash", "function", "url", "string"})
BLOCKS = {"() block": ("(", ")"), "[] block": ("[", "]"), "{} block": ("{", "}")}
_PLAIN = re.compile(r"-?[a-z_][a-z0-9_-]*|--[a-zA-Z0-9_-]+")
_AROUND_SIGN = re.compile(r"\s*([,/])\s*")


class Item(NamedTuple):
    """A run of declarations, or what stands before a pair of braces and in it; a statement has no braces."""

    tokens: Sequence[Token]
    content: Sequence[Token] | None = None
    declared: Sequence[Sequence[Token]] = ()


def tokens_of(css: str) -> Sequence[Token]:
    """The tokens, without comments. Of numbers that no page needs, the tokenizer would raise."""
    shorter = _LONG_NUMBER.sub(lambda match: match[0][:_LONGEST_NUMBER], css)
    return list(parse_component_value_list(shorter, skip_comments=True))


def items_of(tokens: Sequence[Token], *, is_rule: bool, is_sheet: bool = False) -> Iterator[Item]:
    """What a block or a whole sheet holds, in order; outside of rules a semicolon ends but a statement."""
    declared: list[Sequence[Token]] = []
    current: list[Token] = []
    for each in tokens:
        if each == ";" and (is_rule or _is_statement(current)):
            if _is_statement(current):
                yield Item(current)
            else:
                declared.append(current)
            current = []
        elif each.type == "{} block" and not (is_rule and _is_variable(current)):
            if declared:
                yield Item((), declared=declared)
                declared = []
            yield Item(current, content=each.content)
            current = []
        elif current or not (each.type == "whitespace" or (is_sheet and each in ("<!--", "-->"))):
            current.append(each)
    if is_rule:
        yield Item((), declared=[*declared, current])


def selector_of(tokens: Sequence[Token]) -> str | None:
    """As it is written, escapes and all; None where it is nested too deep to be read."""
    return None if is_deep(tokens) else str(serialize(tokens)).strip()


def is_deep(tokens: Sequence[Token]) -> bool:
    """Whether there are more blocks in blocks than anyone writes."""
    level = list(tokens)
    for _ in range(_DEEPEST):
        level = [inner for token in level for inner in inner_of(token)]
        if not level:
            return False
    return True


def inner_of(token: Token) -> Sequence[Token]:
    """What stands in a block or between the brackets of a function."""
    return token.arguments if token.type == "function" else getattr(token, "content", None) or ()


def written(tokens: Sequence[Token]) -> str:
    """In small letters; lengths in pixels, angles in degrees, and what can be calculated calculated."""
    parts: list[str] = []
    before = ""
    for token in tokens:
        if before == token.type == "whitespace":
            continue  # a comment stood between; the pattern below reads a row of spaces again and again
        if before in _SOLID and token.type in _SOLID:
            parts.append(" ")
        parts.append(_written(token))
        before = token.type
    return _AROUND_SIGN.sub(r"\1", "".join(parts)).strip()


def _is_statement(current: Sequence[Token]) -> bool:
    return bool(current) and current[0].type == "at-keyword"


def _is_variable(current: Sequence[Token]) -> bool:
    if not current or current[0].type != "ident" or not current[0].value.startswith("--"):
        return False
    return next((each == ":" for each in current[1:] if each.type != "whitespace"), False)


def _written(token: Token) -> str:
    writer = _WRITERS.get(token.type)
    return f"<{token.type}>" if writer is None else writer(token)


def _block(token: Token) -> str:
    opening, closing = BLOCKS[token.type]
    return f"{opening}{written(token.content)}{closing}"


def _name(name: str) -> str:
    r"""What had to be escaped is again: `16px\9` is no length."""
    return name if _PLAIN.fullmatch(name) else str(serialize_identifier(name))


def _function(token: Token) -> str:
    inner = written(token.arguments)
    if token.lower_name in MATHS and (result := calculated(f"{token.lower_name}({inner})")) is not None:
        return _amount(result.amount, is_whole=False) + result.unit
    return f"{_name(token.lower_name)}({inner})"


def _quantity(token: Token) -> str:
    unit = token.lower_unit if token.type == "dimension" else "%" if token.type == "percentage" else ""
    whole = Quantity.of(token.value, unit)
    amount = _amount(whole.amount, is_whole=token.is_integer or unit in PIXELS or unit in ANGLES)
    return amount + (_name(whole.unit) if token.type == "dimension" else whole.unit)


def _amount(amount: float, *, is_whole: bool) -> str:
    """A number that was not written as an integer does not become one: some properties refuse it."""
    kept = min(max(amount, -_LARGEST), _LARGEST)
    return str(int(kept)) if is_whole and kept == int(kept) else f"{kept:.6f}"


_WRITERS: Mapping[str, Callable[[Token], str]] = {
    "whitespace": lambda _: " ",
    "ident": lambda token: _name(token.value if token.value.startswith("--") else token.lower_value),
    **dict.fromkeys(("number", "percentage", "dimension"), _quantity),
    "hash": lambda token: f"#{token.value.lower()}",
    "string": lambda _: '""',
    "url": lambda _: "url()",
    "function": _function,
    "literal": lambda token: str(token.value),
    **dict.fromkeys(BLOCKS, _block),
}
"""What a string or an address says is no part of a style."""
