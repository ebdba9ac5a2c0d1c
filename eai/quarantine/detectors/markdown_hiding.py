"""Parts of a Markdown text that are in it and not in what a reader gets to see."""

import html
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from eai.quarantine.html.declarations import declarations, is_cut
from eai.quarantine.html.hiding import hiding_of, is_tiny
from eai.quarantine.html.ink import PLAIN
from eai.quarantine.html.markup import RAW_IN_MARKDOWN, Kind, Part, attributes_of, parts_of
from eai.quarantine.html.steps import Steps
from eai.quarantine.html.variables import resolved
from eai.quarantine.markdown_code import without_code
from eai.quarantine.pieces import Pieces
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_FEW_WORDS = 4
# Definitions of links that lead nowhere, and the titles of links and images.
_DEFINITION = re.compile(
    r"(?m)^ {0,3}\[[^\]\n]{1,80}\]:[ \t]{0,8}(?:#|<>|<#>|\S{1,300})[ \t]{1,8}(?P<said>[(\"'][^\n]*+)"
)
_TITLE = re.compile(r"\]\([^()\s]{0,500}\s{1,8}(?P<said>\"[^\"\n]{1,500}\"|'[^'\n]{1,500}')\)")
_IMAGE = re.compile(r"!\[(?P<said>[^\]\n]{3,500})\]")
_UNSEEN_TAGS = frozenset({"template", "noscript", "dialog", "datalist"})
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


class _Hidden(NamedTuple):
    start: int
    end: int
    text: str
    is_styled: bool


class MarkdownHiding:
    """Finds comments, titles, descriptions and raw HTML that hide text in Markdown."""

    name = "markdown_hiding"
    version = 4

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Nothing for other types: there, signs stand for themselves or are left out."""
        if specimen.content_type != "text/markdown":
            return
        text = without_code(specimen.text)
        parts = list(parts_of(text, RAW_IN_MARKDOWN, ends_itself=False))
        yield from _sheets(parts)
        hidden = [*_comments(parts), *_said(text), *_styled(text, parts)]
        told = dict(Pieces.of([part.text for part in hidden]).that_speak_to_model())
        for number, part in enumerate(hidden):
            reason, severity = _judged(part, is_told=number in told)
            yield Mark(reason, severity, part.start, part.end, meaning=told.get(number))


def _judged(part: _Hidden, *, is_told: bool) -> tuple[Reason, Severity]:
    if is_told:
        return Reason.INSTRUCTIONS_UNSEEN, Severity.CRITICAL
    if part.is_styled:
        has_few = len(part.text.split()) < _FEW_WORDS
        return Reason.UNSEEN_BY_STYLE, Severity.MEDIUM if has_few else Severity.HIGH
    return Reason.COMMENT, Severity.LOW


def _sheets(parts: Iterable[Part]) -> Iterator[Mark]:
    """Whether a style sheet of a Markdown text is applied depends on who draws it: none is read here."""
    for part in parts:
        if part.kind is Kind.OPENING and part.name == "style":
            yield Mark(Reason.STYLES_UNREAD, Severity.HIGH, part.start, part.end)


def _comments(parts: Iterable[Part]) -> Iterator[_Hidden]:
    for part in parts:
        if part.kind is Kind.COMMENT:
            yield _Hidden(part.start, part.end, part.rest, is_styled=False)
        else:
            for _, value, start in attributes_of(part):
                if " " in value.strip():
                    yield _Hidden(start, start + len(value), value, is_styled=False)


def _said(text: str) -> Iterator[_Hidden]:
    for pattern in (_DEFINITION, _TITLE, _IMAGE):
        for match in pattern.finditer(text):
            yield _Hidden(*match.span("said"), match["said"], is_styled=False)


def _styled(text: str, parts: Iterable[Part]) -> Iterator[_Hidden]:
    """From each tag that hides to the one that closes it, the outermost only."""
    hiding: Part | None = None
    depth = 0
    for part in parts:
        if hiding is None:
            if part.kind is Kind.OPENING and part.name not in _VOID and _hides(part):
                hiding, depth = part, 1
        elif part.name == hiding.name and part.kind is not Kind.COMMENT:
            depth += 1 if part.kind is Kind.OPENING else -1
            if depth == 0:
                yield _Hidden(hiding.end, part.start, text[hiding.end : part.start], is_styled=True)
                hiding = None
    if hiding is not None:
        yield _Hidden(hiding.end, len(text), text[hiding.end :], is_styled=True)


def _hides(part: Part) -> bool:
    attributes: dict[str, str] = {}
    for name, value, _ in attributes_of(part):
        attributes.setdefault(name, value)
    declared = declarations(html.unescape(attributes.get("style", "")))
    style, _ = resolved({**declared.usual, **declared.important}, {}, {}, Steps())
    is_hidden = re.search(r"(?i)(?:^|\s)hidden(?:\s|=|/|$)", part.rest) is not None
    if is_hidden or part.name in _UNSEEN_TAGS or style.get("visibility") in {"hidden", "collapse"}:
        return True
    return (
        hiding_of(style) is not None
        or bool(is_tiny(style))
        or PLAIN.within(style, attributes).is_unseen
        or is_cut(style)
    )


MARKDOWN_HIDING = MarkdownHiding()
