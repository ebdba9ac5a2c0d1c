"""The source of a page or a Markdown text as tags, comments and what stands between them."""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

# No tag is looked for beyond the next sign that may start one, so each part of a source is read once.
_TAG = re.compile(
    r"<(?P<closing>/?)(?P<name>[A-Za-z][A-Za-z0-9:-]{0,60})(?P<rest>(?:\"[^\"<]*+\"|'[^'<]*+'|[^<>\"']++)*+)>"
)
_ATTRIBUTE = re.compile(
    r"(?P<name>[A-Za-z_:@][\w:.@-]{0,80})\s{0,20}=\s{0,20}(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s\"'>]+))"
)
_RAW = ("script", "style", "textarea", "title", "noembed", "xmp")
_OPENING, _CLOSING = "<!--", "-->"


class Kind(Enum):
    """Parts of a source."""

    OPENING = auto()
    CLOSING = auto()
    COMMENT = auto()


class Part(NamedTuple):
    """A tag or a comment at `[start, end)`; `name` of the element, and what stands behind it in the tag.

    Of a comment, `rest` is what is written in it.
    """

    kind: Kind
    start: int
    end: int
    name: str
    rest: str
    rest_start: int


def parts_of(source: str) -> Iterator[Part]:
    """Tags and comments in order. What stands in scripts and styles is no tag."""
    position, length = 0, len(source)
    while position < length and (position := source.find("<", position)) >= 0:
        part = _comment(source, position) if source.startswith("<!--", position) else _tag(source, position)
        if part is None:
            position += 1
            continue
        yield part
        position = _behind_raw(source, part) if part.kind is Kind.OPENING and part.name in _RAW else part.end


def attributes_of(part: Part) -> Iterator[tuple[str, str, int]]:
    """Name in small letters, value as it is written, and where in the source it starts."""
    for match in _ATTRIBUTE.finditer(part.rest):
        group = match.lastgroup or "bare"
        yield match["name"].lower(), match[group], part.rest_start + match.start(group)


def _comment(source: str, start: int) -> Part:
    closing = source.find(_CLOSING, start + len(_OPENING))
    inner_end = closing if closing >= 0 else len(source)
    end = closing + len(_CLOSING) if closing >= 0 else len(source)
    inner = start + len(_OPENING)
    return Part(Kind.COMMENT, start, end, "", source[inner:inner_end], inner)


def _tag(source: str, start: int) -> Part | None:
    match = _TAG.match(source, start)
    if match is None:
        return None
    kind = Kind.CLOSING if match["closing"] else Kind.OPENING
    return Part(kind, start, match.end(), match["name"].lower(), match["rest"], match.start("rest"))


def _behind_raw(source: str, part: Part) -> int:
    found = re.compile(f"</{part.name}", re.IGNORECASE).search(source, part.end)
    return found.start() if found else len(source)
