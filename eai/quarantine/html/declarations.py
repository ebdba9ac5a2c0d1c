"""What a style says, as far as it may hide text."""

import re
from collections.abc import Mapping

from eai.quarantine.html.steps import Steps

Declarations = Mapping[str, str]
"""Properties in small letters, with their values; a later one of the same name has won."""

RELEVANT = frozenset(
    "display visibility content-visibility opacity filter font-size font color".split()
    + "background background-color position left right top bottom margin-left margin-top margin".split()
    + "text-indent clip clip-path width height max-width max-height overflow overflow-x overflow-y".split()
    + "transform translate rotate scale inset inset-inline-start inset-block-start zoom z-index".split()
    + "letter-spacing -webkit-text-fill-color".split()
)
VARIABLE = "--"
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_IMPORTANT = "!important"


def plain_css(text: str) -> str:
    """The text without comments and escapes, in small letters."""
    uncommented = _COMMENT.sub("", text)
    return _ESCAPE.sub(lambda match: chr(min(int(match[1], 16), 0x10FFFF)), uncommented).lower()


_REFERENCE = re.compile(r"var\(\s*(--[^\s,()]{1,100})\s*(?:,([^()]{0,200}))?\)")
_DEEPEST_REFERENCE = 4
_LONGEST_VALUE = 500
_COPIED_IN_A_STEP = 4
CUT = "url(cut)"
"""Stands for a value that is too long to be read: mostly a picture, of which nothing more is known either."""
_PICTURED = frozenset({"background", "background-color"})


def is_cut(style: Declarations) -> bool:
    """Whether a value was too long where no picture belongs, so that nobody knows what it does."""
    return any(CUT in value for name, value in style.items() if name not in _PICTURED)


def resolved(style: Declarations, outer: Declarations, steps: Steps) -> tuple[Declarations, Declarations]:
    """The style with variables written out, and all variables of the element, with those of `outer`."""
    own = {name: value for name, value in style.items() if name.startswith(VARIABLE)}
    has_own = bool(own) and steps.take(1 + (len(own) + len(outer)) // _COPIED_IN_A_STEP)
    variables = {**outer, **own} if has_own else outer
    usual = {name: value for name, value in style.items() if name not in own}
    for name, value in usual.items():
        if "var(" in value:
            usual[name] = _written_out(value, variables, steps)
    return usual, variables


def _written_out(value: str, variables: Declarations, steps: Steps) -> str:
    for _ in range(_DEEPEST_REFERENCE):
        if "var(" not in value:
            break
        value = _once_written_out(value, variables, steps)
    return value.strip()


def _once_written_out(value: str, variables: Declarations, steps: Steps) -> str:
    """No longer than a value may be, and no more work than that."""
    parts, length, position = [], 0, 0
    for match in _REFERENCE.finditer(value):
        known = variables.get(match[1], (match[2] or "").strip())
        parts += [value[position : match.start()], known]
        length += match.start() - position + len(known)
        position = match.end()
        if length > _LONGEST_VALUE or not steps.take():
            return CUT
    return "".join((*parts, value[position:]))


def declarations(text: str) -> tuple[Declarations, Declarations]:
    """What a block declares, and what of it is important: variables, and properties that may hide text."""
    usual: dict[str, str] = {}
    important: dict[str, str] = {}
    for declaration in text.split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.strip()
        if name in RELEVANT or name.startswith(VARIABLE):
            is_important = value.replace(" ", "").endswith(_IMPORTANT)
            target = important if is_important else usual
            said = value.rpartition("!")[0].strip() if is_important else value
            target[name] = said if len(said) <= _LONGEST_VALUE else CUT
    return usual, important
