"""What a style says once its variables are known, and the words that stand for other values."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from eai.quarantine.html.css import BLOCKS, Declarations, Token, inner_of, tokens_of, written
from eai.quarantine.html.declarations import CUT, PENDING, VARIABLE, has_references, shortened
from eai.quarantine.html.shorthands import LONGHANDS, accepted
from eai.quarantine.html.steps import Steps
from eai.quarantine.html.validity import WIDE

_DEEPEST_REFERENCE = 4
_COPIED_IN_A_STEP = 4
_LONGEST_WRITTEN = 700
"""With spaces that are left out later."""
_AT_FIRST = {
    "visibility": "visible", "color": "canvastext", "-webkit-text-fill-color": "currentcolor",
    "font-size": "medium", "letter-spacing": "normal", "text-indent": "0",
}  # fmt: skip
"""Of what elements have from their parents: where they are told to begin anew."""
_FROM_PARENT = frozenset({"inherit", "unset", "revert", "revert-layer"})


class _Invalid(Exception):
    """A reference to what is nowhere."""


def resolved(
    style: Declarations, outer: Declarations, parent: Declarations, steps: Steps
) -> tuple[Declarations, Declarations]:
    """The style as it counts, and all variables of the element, with those of `outer`."""
    own = {name: value for name, value in style.items() if name.startswith(VARIABLE)}
    has_own = bool(own) and steps.take(1 + (len(own) + len(outer)) // _COPIED_IN_A_STEP)
    variables = _with_own(own, outer, steps) if has_own else outer
    usual: dict[str, str] = {}
    for name, value in style.items():
        if name in LONGHANDS:
            told = _known(name, value, variables, steps) if PENDING in value[1:] else value
            counts = _counted(name, told, parent) if told in WIDE else told
            if counts is not None:
                usual[name] = counts
    return usual, variables


def _with_own(own: Declarations, outer: Declarations, steps: Steps) -> Declarations:
    """Variables of variables are known where they are declared, and not where they are used."""
    told = {name: value for name, value in own.items() if value not in _FROM_PARENT}
    all_told = {**outer, **told}
    known = {name: _written_out(value, all_told, steps) for name, value in told.items()}
    return {**outer, **{name: "initial" if value is None else value for name, value in known.items()}}


def _known(name: str, value: str, variables: Declarations, steps: Steps) -> str:
    """What is wrong only now is as if nothing had been said, before as little as here."""
    written_as, _, references = value.partition(PENDING)
    told = _written_out(references, variables, steps)
    if told == CUT or steps.are_spent:
        return CUT
    return accepted(written_as, told).get(name, "unset") if told is not None else "unset"


def _counted(name: str, word: str, parent: Declarations) -> str | None:
    """None where nothing more is said than by saying nothing."""
    if name in _AT_FIRST:
        inherited = "inherit" if name == "color" else None  # attributes would say more than nothing
        return _AT_FIRST[name] if word == "initial" else inherited
    return parent.get(name) if word == "inherit" else None


def _written_out(value: str, variables: Declarations, steps: Steps) -> str | None:
    """None where it refers to nothing, or to itself."""
    for _ in range(_DEEPEST_REFERENCE):
        if value == CUT or not has_references(value):
            return value
        try:
            value = _once_written_out(value, variables, steps)
        except _Invalid:
            return None
    return None


def _once_written_out(value: str, variables: Declarations, steps: Steps) -> str:
    """No longer than a value may be, and no more work than that."""
    parts = []
    length = 0
    for part in _substituted(_tokens(value), variables, steps):
        length += len(part)
        if CUT in part or length > _LONGEST_WRITTEN or steps.are_spent:
            return CUT
        parts.append(part)
    return shortened(_tokens("".join(parts)))


def _substituted(tokens: Sequence[Token], variables: Declarations, steps: Steps) -> Iterator[str]:
    for token in tokens:
        inner = inner_of(token)
        if token.type == "function" and token.lower_name in {"var", "env"}:
            steps.take()
            # Tokens are put in and not signs: `var(--one)px` is no length.
            yield from (" ", *_referred(inner, variables, steps), " ")
        elif inner:
            opening, closing = (f"{token.name}(", ")") if token.type == "function" else BLOCKS[token.type]
            yield from (opening, *_substituted(inner, variables, steps), closing)
        else:
            yield written([token]) or " "


def _referred(inner: Sequence[Token], variables: Declarations, steps: Steps) -> Iterator[str]:
    names = [token.value for token in inner[:2] if token.type == "ident"]
    known = variables.get(names[0], "initial") if names else "initial"
    comma = next((number for number, each in enumerate(inner) if each == ","), None)
    if known != "initial":
        yield known
    elif comma is not None:
        yield from _substituted(inner[comma + 1 :], variables, steps)
    elif names and names[0].startswith("safe-area-inset-"):
        yield "0px"
    else:
        raise _Invalid


@lru_cache(1_024)
def _tokens(value: str) -> Sequence[Token]:
    return tuple(tokens_of(value))
