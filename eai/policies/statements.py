"""Where each statement of a Cedar text begins, and whether it is fit to be read.

What a statement means is the engine's to say. But its parser has no bound of its own: some hundred nested
brackets in a text overflow the stack, and end the process with everybody's work in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

DEEPEST = 32
"""Brackets within brackets."""

MOST_OPERATORS = 250
"""Of one statement: each may lie within the one before."""

# Strings and comments end where they end for the engine. A string that is never closed takes the rest.
_TOKEN = re.compile(r'//[^\n\r]*+|"(?:[^"\\]|\\.)*+"?|\s++|[^\s"/;]++|.', re.DOTALL)
_OPERATOR = re.compile(r"&&|\|\||[-+*.!(\[{]|\b(?:if|when|unless)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with its semicolon, from character `start` of the text."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text, both numbers counted from 1."""

    line: int
    column: int


def statements_of(text: str) -> Iterator[Statement]:
    """The statements of `text`, in order, without the comments before them; the last may be unfinished."""
    start: int | None = None
    for token in _TOKEN.finditer(text):
        said = token.group()
        if start is None and not said.isspace() and not said.startswith("//"):
            start = token.start()
        if said == ";" and start is not None:
            yield Statement(text[start : token.end()], start)
            start = None
    if start is not None:
        yield Statement(text[start:], start)


def place_of(text: str, offset: int) -> Place:
    """The place of the character at `offset`."""
    return Place(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def without_comments(text: str) -> str:
    """`text` with comments blanked, every other character where it was."""
    return _TOKEN.sub(lambda token: _blank(token.group(), "//"), text)


def excess_of(statement: str) -> str | None:
    """Why a statement must not be given to the engine; None when it may."""
    code = _TOKEN.sub(lambda token: _blank(token.group(), ("//", '"')), statement)
    if _depth_of(code) > DEEPEST:
        return f"brackets nest more than {DEEPEST} deep; write it as several statements"
    if len(_OPERATOR.findall(code)) > MOST_OPERATORS:
        return f"one statement holds more than {MOST_OPERATORS} operators; write it as several statements"
    return None


def _depth_of(code: str) -> int:
    depth = deepest = 0
    for character in code:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(0, depth - 1)
    return deepest


def _blank(said: str, prefixes: str | tuple[str, ...]) -> str:
    return " " * len(said) if said.startswith(prefixes) else said
