"""What a style says, as far as it may hide text."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eai.quarantine.html.css import Declarations, Token, is_deep, items_of, tokens_of, written
from eai.quarantine.html.shorthands import accepted, stands_for

VARIABLE = "--"
PENDING = "\0"
"""Stands between a name and a value with variables in it. No style can be written so."""
CUT = "url(cut)"
"""Stands for a value that is too long to be read."""
LONGEST_VALUE = 500
_PICTURED = "background"
"""What is long there are gradients: it is worth no more than any value that nobody here knows."""


class Declared(NamedTuple):
    """What a block declares, and what of it is important: variables, and properties that may hide text."""

    usual: Declarations
    important: Declarations


def declarations(text: str) -> Declared:
    """Of a `style` attribute."""
    items = items_of(tokens_of(text), is_rule=True)
    return declared_in(declaration for item in items for declaration in item.declared)


def declared_in(tokens: Iterable[Sequence[Token]]) -> Declared:
    """Of declarations that were parted already."""
    usual: dict[str, str] = {}
    important: dict[str, str] = {}
    for declaration in tokens:
        name, value = _named(declaration)
        if name.startswith(VARIABLE) or stands_for(name):
            kept, is_important = _without_importance(value)
            (important if is_important else usual).update(_said(name, kept))
    return Declared(usual, important)


def is_cut(style: Declarations) -> bool:
    """Whether a value was too long, so that nobody knows what it does."""
    return CUT in style.values()


def has_references(value: str) -> bool:
    """Whether what it says depends on variables."""
    return "var(" in value or "env(" in value


def shortened(tokens: Sequence[Token]) -> str:
    """As it is written, if anyone is to read that much."""
    value = CUT if is_deep(tokens) else written(tokens)
    return value if len(value) <= LONGEST_VALUE else CUT


def _said(name: str, tokens: Sequence[Token]) -> Declarations:
    value = shortened(tokens)
    if name.startswith(VARIABLE):
        return {name: value}
    if value == CUT:
        return {} if name == _PICTURED else dict.fromkeys(stands_for(name), CUT)
    if has_references(value):
        return dict.fromkeys(stands_for(name), f"{name}{PENDING}{value}")
    return accepted(name, value)


def _named(declaration: Sequence[Token]) -> tuple[str, Sequence[Token]]:
    """The name, and what stands behind the colon; no name where it is no declaration."""
    solid = [token for token in declaration[:3] if token.type != "whitespace"]
    if len(solid) < len("a:") or declaration[0].type != "ident" or solid[1] != ":":
        return "", ()
    first = declaration[0]
    name = first.value if first.value.startswith(VARIABLE) else first.lower_value
    return name, declaration[2 if declaration[1] == ":" else 3 :]


def _without_importance(value: Sequence[Token]) -> tuple[Sequence[Token], bool]:
    solid = [number for number, token in enumerate(value) if token.type != "whitespace"]
    if len(solid) < len("!i"):
        return value, False
    sign, word = solid[-2:]
    if value[sign] == "!" and value[word].type == "ident" and value[word].lower_value == "important":
        return value[:sign], True
    return value, False
