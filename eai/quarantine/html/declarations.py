"""What a style says, as far as it may hide text."""

import re
from collections.abc import Mapping

Declarations = Mapping[str, str]
"""Properties in small letters, with their values; a later one of the same name has won."""

RELEVANT = frozenset(
    "display visibility content-visibility opacity filter font-size font color".split()
    + "background background-color position left right top bottom margin-left margin-top margin".split()
    + "text-indent clip clip-path width height max-width max-height overflow overflow-x overflow-y".split()
    + "transform scale zoom z-index letter-spacing -webkit-text-fill-color".split()
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


def resolved(style: Declarations, outer: Declarations) -> tuple[Declarations, Declarations]:
    """The style with variables written out, and all variables of the element, with those of `outer`."""
    own = {name: value for name, value in style.items() if name.startswith(VARIABLE)}
    variables = {**outer, **own} if own else outer
    usual = {name: value for name, value in style.items() if name not in own}
    for name, value in usual.items():
        if "var(" in value:
            usual[name] = _written_out(value, variables)
    return usual, variables


def _written_out(value: str, variables: Declarations) -> str:
    for _ in range(_DEEPEST_REFERENCE):
        if len(value) > _LONGEST_VALUE or "var(" not in value:
            break
        value = _REFERENCE.sub(lambda match: variables.get(match[1], (match[2] or "").strip()), value)
    return value.strip()


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
            target[name] = value.rpartition("!")[0].strip() if is_important else value
    return usual, important
