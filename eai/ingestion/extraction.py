"""From submitted bytes to the text that is split, searched and cited.

Offsets in citations count characters of this text. Markdown and plain text are their own text; HTML
becomes the text a reader sees, a line per block and a tab between the cells of a table: without it, what
stands in neighbouring cells would be read as one number.
"""

import re
from collections.abc import Callable, Iterable

from selectolax.lexbor import LexborHTMLParser

from eai.ingestion.errors import ContentEmpty, ContentTooLarge, ContentTypeNotAccepted, ContentUnreadable

MAX_CONTENT_BYTES = 5 * 1024 * 1024
_LONGEST_TYPE_TOLD = 100
_INVISIBLE = "script, style, noscript, template, head, iframe, object, svg"
_BLOCKS = (
    "p, div, section, article, header, footer, main, aside, nav, h1, h2, h3, h4, h5, h6, "
    "ul, ol, li, dl, dt, dd, table, tr, blockquote, pre, figure, figcaption, form, hr, br"
)
_CELLS = "td, th"
# The HTML5 algorithm is quadratic in the depth of open elements; no honest page comes near this one.
_MAX_DEPTH = 300
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_NEVER_NESTED = frozenset(
    "area base br col embed hr img input link meta source track wbr p li dt dd tr td th thead tbody tfoot "
    "option optgroup colgroup html head body".split()
)


def extract(source: bytes, content_type: str) -> str:
    """The text of `source`. Raises ContentUnreadable, ContentEmpty or ContentTypeNotAccepted."""
    reader = _READERS.get(content_type)
    if reader is None:
        raise ContentTypeNotAccepted(content_type=content_type, accepted=list(_READERS))
    text = reader(_decoded(source))
    if not any(character.isalnum() for character in text):
        raise ContentEmpty.field("content", "content_empty", "holds no letter and no digit")
    return text


def accepted_type(declared: str, filename: str | None = None) -> str:
    """The content type to read by: `declared` without parameters, or by extension for untyped files.

    Raises ContentTypeNotAccepted, naming those that are.
    """
    media_type = declared.partition(";")[0].strip().lower()
    if media_type in _READERS:
        return media_type
    if media_type in _UNTYPED and filename and (known := _EXTENSIONS.get(_extension(filename))):
        return known
    # It is told in every language, and may be as long as a body.
    named = media_type[:_LONGEST_TYPE_TOLD] or "none"
    raise ContentTypeNotAccepted(content_type=named, accepted=list(_READERS))


def check_size(size: int) -> None:
    """Raise ContentTooLarge for more than the platform takes in one document."""
    if size > MAX_CONTENT_BYTES:
        raise ContentTooLarge(limit_bytes=MAX_CONTENT_BYTES)


def _decoded(source: bytes) -> str:
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContentUnreadable.field("content", "not_utf8", "is not valid UTF-8") from error
    if "\0" in text:
        raise ContentUnreadable.field("content", "nul_character", "holds a NUL character")
    return text


def _as_is(text: str) -> str:
    return text


def _html(text: str) -> str:
    _check_depth(text)
    # Tabs that stand in the source are white space like any other: those that are left part cells.
    tree = LexborHTMLParser(text.replace("\t", " "))
    for node in tree.css(_INVISIBLE):
        node.decompose()
    for node in tree.css(_BLOCKS):
        node.insert_before("\n")
        node.insert_after("\n")
    for node in tree.css(_CELLS):
        node.insert_after("\t")
    return _without_blank_runs(map(_cells_of, (tree.root.text() if tree.root else "").split("\n")))


def _cells_of(line: str) -> str:
    return "\t".join(" ".join(cell.split()) for cell in line.split("\t")).strip()


def _check_depth(text: str) -> None:
    depth = 0
    for closing, name in _TAG.findall(text):
        if name.lower() not in _NEVER_NESTED:
            depth = max(depth + (-1 if closing else 1), 0)
        if depth > _MAX_DEPTH:
            raise ContentUnreadable.field("content", "nested_too_deeply", "nests more than 300 elements")


def _without_blank_runs(lines: Iterable[str]) -> str:
    paragraphs: list[str] = []
    for line in lines:
        if line or (paragraphs and paragraphs[-1]):
            paragraphs.append(line)
    return "\n".join(paragraphs).strip()


def _extension(filename: str) -> str:
    return filename.rpartition(".")[2].lower()


_READERS: dict[str, Callable[[str], str]] = {
    "text/plain": _as_is,
    "text/markdown": _as_is,
    "text/html": _html,
}
_UNTYPED = ("", "application/octet-stream")
_EXTENSIONS = {"txt": "text/plain", "md": "text/markdown", "markdown": "text/markdown", "html": "text/html"}
