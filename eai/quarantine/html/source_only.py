"""What stands in the source of a page and never in its text: comments, attributes, elements left out."""

import html
from collections.abc import Iterator
from typing import NamedTuple

from eai.quarantine.html.markup import Kind, Part, attributes_of, parts_of

_LEFT_OUT = frozenset(
    "script style noscript template head title iframe object svg noembed noframes textarea".split()
)
_LEFT_IN = frozenset({"textarea"})
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_FEWEST_WORDS = 2


class Unshown(NamedTuple):
    """A piece of the source that holds words; `text` is what it says."""

    start: int
    end: int
    text: str
    is_comment: bool


def unshown_in(source: str) -> Iterator[Unshown]:
    """Every comment, attribute and left-out element with several words in it."""
    inside: list[str] = []
    position = 0
    for part in parts_of(source):
        if inside:
            yield from _piece(source, position, part.start)
        position = part.end
        if part.kind is Kind.COMMENT:
            yield Unshown(part.start, part.end, part.rest, is_comment=True)
            continue
        _step(inside, part)
        if part.kind is Kind.OPENING:
            yield from _values(part)
    if inside:
        yield from _piece(source, position, len(source))


def _step(inside: list[str], part: Part) -> None:
    if part.name not in _LEFT_OUT - _LEFT_IN:
        return
    if part.kind is Kind.OPENING:
        inside.append(part.name)
    elif part.name in inside:
        del inside[inside.index(part.name) :]


def _values(part: Part) -> Iterator[Unshown]:
    for _, value, start in attributes_of(part):
        yield from _words(start, start + len(value), html.unescape(value))


def _piece(source: str, start: int, end: int) -> Iterator[Unshown]:
    yield from _words(start, end, html.unescape(source[start:end]))


def _words(start: int, end: int, text: str) -> Iterator[Unshown]:
    if len(text.split(None, _FEWEST_WORDS)) >= _FEWEST_WORDS:
        yield Unshown(start, end, text, is_comment=False)
