"""The rules of a page's own style sheets, as far as they may hide text."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eai.quarantine.html.conditions import ALWAYS, Condition, Holds, both, condition_of
from eai.quarantine.html.css import Declarations, Item, Token, items_of, selector_of, tokens_of
from eai.quarantine.html.declarations import declared_in
from eai.quarantine.html.layers import NO_LAYER, LayerName, Layers
from eai.quarantine.html.selectors import LONGEST_SELECTOR, listed
from eai.quarantine.html.steps import Steps

_CHARACTERS_IN_A_STEP = 2
_STEPS_OF_BLOCK = 5
_MOST_NESTED = 6
_TOO_LONG = "!"
"""What no selector is: it stands for one that grew too long, and is read by nobody."""
_COMBINED = re.compile(r"[\s>+~]+")
_LAYER = "@layer"
_AMPERSAND = re.compile(r'(?P<kept>"(?:[^"\\]|\\.)*"|\\.)|&')


class Rule(NamedTuple):
    """Selectors with what they are declared; where a browser reads one of them not, it takes none."""

    selectors: Sequence[str]
    usual: Declarations
    important: Declarations
    condition: Condition
    layer: LayerName


class _Block(NamedTuple):
    """What stands before a pair of braces, with what stood before those around it."""

    selectors: Sequence[str] = ()
    condition: Condition = ALWAYS
    layer: LayerName = NO_LAYER

    @property
    def never_holds(self) -> bool:
        return max(self.condition) == Holds.NEVER


def rules_of(css: str, layers: Layers, steps: Steps) -> Iterator[Rule]:
    """Rules in order; those that never hold, as those of print, are left out."""
    if not steps.take(len(css) // _CHARACTERS_IN_A_STEP):
        return
    for block, declared in _declared(tokens_of(css), layers, steps):
        usual, important = declared_in(declared)
        if usual or important:
            yield Rule(block.selectors, usual, important, block.condition, block.layer)


def _declared(
    tokens: Sequence[Token], layers: Layers, steps: Steps
) -> Iterator[tuple[_Block, Sequence[Sequence[Token]]]]:
    """Each run of declarations in its order, and the block it stands in."""
    opened = [(_Block(), items_of(tokens, is_rule=False, is_sheet=True))]
    while opened:
        block, items = opened[-1]
        item = next(items, None)
        if item is None:
            opened.pop()
        elif item.content is not None:
            inner = _inner(block, item, layers)
            if not steps.take(_STEPS_OF_BLOCK):
                return
            if not inner.never_holds:
                opened.append((inner, items_of(item.content, is_rule=bool(inner.selectors))))
        elif item.declared and block.selectors:
            yield block, item.declared
        elif (name := _written(item)).startswith(_LAYER):
            layers.named(block.layer, name.removeprefix(_LAYER))


def _inner(outer: _Block, item: Item, layers: Layers) -> _Block:
    prelude = _written(item)
    if not prelude.startswith("@"):
        return outer._replace(selectors=_nested(outer.selectors, prelude))
    condition = both(outer.condition, condition_of(prelude))
    if prelude.startswith(_LAYER):
        name = layers.within(outer.layer, prelude.removeprefix(_LAYER).strip())
        return outer._replace(condition=condition, layer=name)
    return outer._replace(condition=condition)


def _written(item: Item) -> str:
    """As it came, but for the letters of what is no selector: those of a layer's name count."""
    prelude = selector_of(item.tokens)
    if prelude is None:
        return _TOO_LONG
    if not prelude.startswith("@"):
        return prelude
    return prelude if prelude[: len(_LAYER)].lower() == _LAYER else prelude.lower()


def _nested(outer: Sequence[str], prelude: str) -> Sequence[str]:
    """The selectors within those of the rule around them."""
    if not outer:
        return listed(prelude) or [_TOO_LONG]
    together = ", ".join(outer)
    if len(together) > LONGEST_SELECTOR:
        return [_TOO_LONG]
    around = f":is({together})" if len(outer) > 1 or _COMBINED.search(together) else together
    inner = (each if "&" in each or not each else f"& {each}" for each in listed(prelude))
    whole = [_AMPERSAND.sub(lambda match: match["kept"] or around, each, _MOST_NESTED) for each in inner]
    return [each if len(each) <= LONGEST_SELECTOR else _TOO_LONG for each in whole]
