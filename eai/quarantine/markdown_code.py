"""What of a Markdown text is code, which is shown as it is.

Where code begins and ends depends on lists, quotes and raw HTML around it, and readers of Markdown differ. So
a text is read in each way that is known, and only what all of them take for code is code.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

# Other signs that end lines elsewhere, and other spaces, are none in Markdown.
_LINE_END = re.compile(r"\r\n?|\n")
_BLANK = " \t\r\n"
_FENCE = re.compile(r"(?P<indent> {0,3})(?P<sign>`{3,}+|~{3,}+)")
_RAW_HTML = re.compile(r" {0,3}<[A-Za-z/!?]")
_COMMENT = re.compile(r"[ \t>*+-]{0,20}(?:\d{1,9}[.)][ \t]{1,8})?<!--")
_COMMENT_END = "-->"
_TICKS = re.compile(r"`++")
_MOST_BACKSLASHES = 20


def without_code(text: str) -> str:
    """Spaces instead of code, so that all else keeps its place."""
    lines = _lines(text)
    ways = [
        _fenced(lines, ends_with_list=ends_with_list, waits_for_html=waits_for_html)
        for ends_with_list, waits_for_html in product((False, True), repeat=2)
    ]
    is_code = [all(line) for line in zip(*ways, strict=True)]
    shown = [" " * len(line) if code else line for line, code in zip(lines, is_code, strict=True)]
    return _blanked("".join(shown), _inline(shown))


def _lines(text: str) -> Sequence[str]:
    ends = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(ends) if end > start]


def _fenced(lines: Sequence[str], *, ends_with_list: bool, waits_for_html: bool) -> list[bool]:
    """Which lines stand in fences.

    A fence in a list ends with the list, which a line further left may end; and in raw HTML, which a blank
    line ends, signs of a fence are signs.
    """
    codes, fence, is_comment, is_html = [], None, False, False
    for line in lines:
        opening = _opening(line) if fence is None else None
        if fence is not None and ends_with_list and _is_left_of(line, fence):
            fence, opening = None, _opening(line)
        if fence is not None:
            codes.append(True)
            fence = None if _closes(line, fence) else fence
            continue
        is_comment = is_comment or _COMMENT.match(line) is not None
        is_html = bool(line.strip(_BLANK)) and (is_html or _RAW_HTML.match(line) is not None)
        if not is_comment and not (is_html and waits_for_html):
            fence = opening
        codes.append(fence is not None)
        is_comment = is_comment and _COMMENT_END not in line
    return codes


def _opening(line: str) -> re.Match[str] | None:
    match = _FENCE.match(line)
    if match and match["sign"][0] == "`" and "`" in line[match.end() :]:
        return None
    return match


def _closes(line: str, fence: re.Match[str]) -> bool:
    match = _FENCE.match(line)
    return (
        match is not None and line.strip(_BLANK) == match["sign"] and match["sign"].startswith(fence["sign"])
    )


def _is_left_of(line: str, fence: re.Match[str]) -> bool:
    return bool(line.strip(_BLANK)) and len(line) - len(line.lstrip(" ")) < len(fence["indent"])


def _inline(lines: Sequence[str]) -> Sequence[tuple[int, int]]:
    """Code within a line, where it is code in its paragraph too."""
    in_lines, in_paragraphs = set(), set()
    paragraph: list[str] = []
    start = paragraph_start = 0
    for line in (*lines, "\n"):
        in_lines |= {(start + first, start + last) for first, last in _spans(line)}
        if not line.strip(_BLANK):
            found = _spans("".join(paragraph))
            in_paragraphs |= {(paragraph_start + first, paragraph_start + last) for first, last in found}
            paragraph, paragraph_start = [], start + len(line)
        else:
            paragraph.append(line)
        start += len(line)
    return sorted(in_lines & in_paragraphs)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """From so many backticks to the next that are as many; a backslash before takes one away."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    of_length: dict[int, list[int]] = defaultdict(list)
    for number, (start, end) in enumerate(runs):
        of_length[end - start].append(number)
    number = 0
    while number < len(runs):
        start, end = runs[number]
        start += _is_escaped(text, start)
        others = of_length.get(end - start, [])
        place = bisect_right(others, number)
        if end > start and place < len(others):
            number = others[place]
            yield start, runs[number][1]
        number += 1


def _is_escaped(text: str, place: int) -> bool:
    before = text[max(place - _MOST_BACKSLASHES, 0) : place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, position = [], 0
    for start, end in spans:
        parts += [text[position:start], " " * (end - start)]
        position = end
    return "".join((*parts, text[position:]))
