"""How much a selector weighs."""

import re
from collections.abc import Iterable

from eai.quarantine.html.element import ESCAPED, QUOTED, UnreadableSelector
from eai.quarantine.html.selectors import LONGEST_SELECTOR, inside, listed

Weight = tuple[int, int, int]
_NOTHING: Weight = (0, 0, 0)
_LISTS = re.compile(r":(?P<name>is|where|not|has|matches|any|-webkit-any|-moz-any)\(", re.IGNORECASE)
_IN_QUOTES = re.compile(rf"{QUOTED}|{ESCAPED}")
_ATTRIBUTES = re.compile(r"\[[^\]]*\]")
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_CLASSES = re.compile(r"[.\[]|(?<!:):(?!:)")
_ELEMENTS = re.compile(r"(?:^|[\s>+~])[a-z]|::", re.IGNORECASE)


def weight_of(selector: str) -> Weight:
    """Ids, then classes, then elements. Of a list the heaviest counts, and of `:where` none."""
    if len(selector) > LONGEST_SELECTOR:
        return _NOTHING
    try:
        return _weight(_IN_QUOTES.sub("a", selector))
    except UnreadableSelector:
        return _NOTHING


def _weight(selector: str) -> Weight:
    match = _LISTS.search(selector)
    if match is None:
        plain = _IN_BRACKETS.sub("", _ATTRIBUTES.sub("[", selector))
        return plain.count("#"), len(_CLASSES.findall(plain)), len(_ELEMENTS.findall(plain))
    inner = inside(selector, match.end())
    rest = selector[: match.start()] + selector[match.end() + len(inner) + 1 :]
    ours = _NOTHING if match["name"].lower() == "where" else max(map(_weight, listed(inner)))
    return _sum([ours, _weight(rest)])


def _sum(weights: Iterable[Weight]) -> Weight:
    first, second, third = zip(*weights, strict=True)
    return sum(first), sum(second), sum(third)
