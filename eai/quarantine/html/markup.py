"""The source of a page or a Markdown text as tags, comments and what stands between them."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

_START = re.compile(r"<(?P<closing>/?)(?P<name>[A-Za-z][A-Za-z0-9:-]{0,60})")
_STOP = re.compile(r">|=\s{0,20}[\"']")
_LOOSE = re.compile(r"=\s{0,20}(?:\"[^\"]*+\"|'[^']*+')|<")
_ATTRIBUTE = re.compile(
    r"(?P<name>[A-Za-z_:@][\w:.@-]{0,80})\s{0,20}=\s{0,20}(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s\"'>]+))"
)
RAW_IN_PAGES = frozenset({"script", "style", "textarea", "title", "noembed", "xmp"})
RAW_IN_MARKDOWN = frozenset({"script", "style"})
_OPENING = "<!--"
# Looked for from the dashes of the opening on: `<!-->` is a comment with nothing in it.
_CLOSING = re.compile(r"--!?>")


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


def parts_of(source: str, raw: frozenset[str] = RAW_IN_PAGES, *, ends_itself: bool = True) -> Iterator[Part]:
    """Tags and comments in order. What stands in `raw` elements is no tag.

    What is never closed goes on to the end where the source `ends_itself`, as a page does; a reader of
    Markdown may take it for text, and so there are tags behind it, and in a tag that another sign opens.
    """
    position, ends, unclosed = 0, _Ends(source), set[str]()
    while (position := source.find("<", position)) >= 0:
        is_comment = source.startswith(_OPENING, position)
        part = _comment(source, position, unclosed) if is_comment else _tag(source, position, ends)
        if part is None:
            position += 1
            continue
        yield part
        position = part.end
        if not is_comment and not ends_itself:
            position = _last_opened(part) or position
        if is_comment and _OPENING in unclosed and not ends_itself:
            position = part.rest_start
        if part.kind is Kind.OPENING and part.name in raw:
            position = _behind_raw(source, part, unclosed, ends_itself=ends_itself)


def attributes_of(part: Part) -> Iterator[tuple[str, str, int]]:
    """Name in small letters, value as it is written, and where in the source it starts."""
    for match in _ATTRIBUTE.finditer(part.rest):
        group = match.lastgroup or "bare"
        yield match["name"].lower(), match[group], part.rest_start + match.start(group)


class _Ends:
    """Where tags end. Several may end with the same quotes, and those are read once."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._stops = [match.span() for match in _STOP.finditer(source)]
        self._known: dict[int, int] = {}

    def behind(self, position: int) -> int:
        """The place behind the sign that ends the tag; -1 where none does."""
        passed = []
        while (end := self._known.get(position)) is None:
            passed.append(position)
            end, position = self._step(position)
            if end is not None:
                break
        self._known.update(dict.fromkeys(passed, end))
        return end

    def _step(self, position: int) -> tuple[int | None, int]:
        """Where the tag ends, or where to go on behind a value in quotes."""
        number = bisect_left(self._stops, (position,))
        if number == len(self._stops):
            return -1, position
        start, end = self._stops[number]
        if self._source[start] == ">":
            return end, position
        closing = self._source.find(self._source[end - 1], end)
        return (-1, position) if closing < 0 else (None, closing + 1)


def _last_opened(part: Part) -> int | None:
    """The last sign in a tag that is in no quotes and may open another."""
    loose = [match.start() for match in _LOOSE.finditer(part.rest) if match[0] == "<"]
    return part.rest_start + loose[-1] if loose else None


def _comment(source: str, start: int, unclosed: set[str]) -> Part | None:
    """One that is never closed goes to the end; within it there is no other."""
    if _OPENING in unclosed:
        return None
    inner = start + len(_OPENING)
    closing = _CLOSING.search(source, start + len("<!"))
    if closing is None:
        unclosed.add(_OPENING)
        return Part(Kind.COMMENT, start, len(source), "", source[inner:], inner)
    return Part(Kind.COMMENT, start, closing.end(), "", source[inner : closing.start()], inner)


def _tag(source: str, start: int, ends: _Ends) -> Part | None:
    match = _START.match(source, start)
    end = ends.behind(match.end()) if match else -1
    if match is None or end < 0:
        return None
    kind = Kind.CLOSING if match["closing"] else Kind.OPENING
    return Part(kind, start, end, match["name"].lower(), source[match.end() : end - 1], match.end())


def _behind_raw(source: str, part: Part, unclosed: set[str], *, ends_itself: bool) -> int:
    found = None
    if part.name not in unclosed:
        found = re.compile(f"</{part.name}", re.IGNORECASE).search(source, part.end)
    if found:
        return found.start()
    unclosed.add(part.name)
    return len(source) if ends_itself else part.end
