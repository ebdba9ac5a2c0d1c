"""What normalised texts hold: in each of them, in what is encoded there, and across their borders."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

from eai.dlp.encoded import as_text, encoded_parts, unescaped
from eai.dlp.joined import Joined
from eai.dlp.normalisation import normalise
from eai.dlp.passage import Passage
from eai.dlp.recognisers import (
    ApiKeys,
    CompanyNumbers,
    Emails,
    EstablishmentNumbers,
    Ibans,
    IdentityCards,
    Passports,
    PaymentCards,
    PhoneNumbers,
    PrivateKeys,
    SocialSecurityNumbers,
    VatNumbers,
    holds_bare_key,
    with_following_lines,
)
from eai.tenants.dlp_rules import DlpEntity

_MOST_LAYERS = 2
"""A text in a text in a text is still searched; whoever encodes more often has something else in mind."""


_APART = "\ue000"
"""Stands between texts that have nothing to do with each other; no entity holds it."""


class Recogniser(Protocol):
    """Finds one kind of entity, in time that grows with the text and no faster.

    `reach` is how many characters of an entity may lie on either side of a border between two texts.
    """

    @property
    def entity(self) -> str: ...

    @property
    def reach(self) -> int: ...

    def may_hold(self, passage: Passage) -> bool:
        """False only where there is no such entity; cheap, for it is asked of every text.

        A text that may hold one still may with others before and behind it.
        """
        ...

    def find(self, passage: Passage) -> Iterable[tuple[int, int]]:
        """Start and end of each in the passage's text, which may hold some."""
        ...


RECOGNISERS: Sequence[Recogniser] = (
    PrivateKeys(), ApiKeys(), PaymentCards(), Ibans(), SocialSecurityNumbers(), Emails(), VatNumbers(),
    EstablishmentNumbers(), CompanyNumbers(), Passports(), IdentityCards(), PhoneNumbers(),
)  # fmt: skip


class Found(NamedTuple):
    """An entity in text number `text`."""

    text: int
    start: int
    end: int
    entity: str


def recognise(texts: Sequence[str], recognisers: Sequence[Recogniser]) -> list[Found]:
    """Everything found in normalised `texts`, which follow each other, in order; nothing twice."""
    joined = [Joined.of(texts, glue) for glue in ("", " ")] if len(texts) > 1 else []
    # Most kinds are dismissed in one look at all texts, and not looked for in each of them. Only together
    # with the space that a border took is a kind seen that needs one, so either whole has a look of its own.
    possible = [_possible(Passage(each.text), recognisers) for each in joined]
    likely = possible[0] if joined else recognisers
    within = (
        (number, start, end, entity)
        for number, text in enumerate(texts)
        for start, end, entity in _within(Passage(text), likely, recognisers)
    )
    across = chain.from_iterable(map(_across, joined, possible))
    return _unshadowed(_outermost(chain(within, across)))


def _possible(passage: Passage, recognisers: Sequence[Recogniser]) -> Sequence[Recogniser]:
    return [recogniser for recogniser in recognisers if recogniser.may_hold(passage)]


def _within(
    passage: Passage, likely: Sequence[Recogniser], recognisers: Sequence[Recogniser], layer: int = 0
) -> Iterator[tuple[int, int, str]]:
    """What one of `likely` finds in the passage, or any of `recognisers` in what is encoded there."""
    for recogniser in _possible(passage, likely):
        for start, end in recogniser.find(passage):
            yield start, end, recogniser.entity
    if layer < _MOST_LAYERS:
        yield from _encoded(passage, recognisers, layer)
        yield from _escaped(passage, recognisers, layer)


def _encoded(
    passage: Passage, recognisers: Sequence[Recogniser], layer: int
) -> Iterator[tuple[int, int, str]]:
    """What lies under the next layer, with the whole of the encoded part as its place."""
    places, texts, keys = [], [], []
    for start, end, content in encoded_parts(passage):
        if holds_bare_key(content):
            keys.append((start, end))
        if (text := as_text(content)) is not None:
            places.append((start, end))
            texts.append(normalise(text).text)
    for start, end in with_following_lines(passage.text, keys):
        yield start, end, DlpEntity.PRIVATE_KEY
    if texts:
        # In one go, since a page may hold thousands of short ones.
        inner = Joined.of(texts, _APART)
        for start, end, entity in _within(Passage(inner.text), recognisers, recognisers, layer + 1):
            for number, *_ in inner.parts(start, end):
                yield *places[number], entity


def _escaped(
    passage: Passage, recognisers: Sequence[Recogniser], layer: int
) -> Iterator[tuple[int, int, str]]:
    """What is seen once every escaped sign stands in its place, from the first to the last sign of it."""
    read = unescaped(passage)
    if read is None:
        return
    plain, places = read
    inner = normalise(plain)
    for start, end, entity in _within(Passage(inner.text), recognisers, recognisers, layer + 1):
        low, high = inner.origin(start, end)
        yield places.item(low), places.item(high), entity


def _across(joined: Joined, recognisers: Sequence[Recogniser]) -> Iterator[tuple[int, int, int, str]]:
    """What lies in several texts at once: each has its part."""
    for recogniser in recognisers:
        for low, high in joined.around_borders(recogniser.reach):
            window = Passage(joined.text[low:high])
            for start, end in recogniser.find(window) if recogniser.may_hold(window) else ():
                # What the window itself cuts may be a part of something else.
                is_cut = (start == 0 and low > 0) or (low + end == high < len(joined.text))
                parts = [] if is_cut else list(joined.parts(low + start, low + end))
                if len(parts) > 1:
                    yield from ((*part, recogniser.entity) for part in parts)


_WEAK = frozenset({DlpEntity.PHONE, DlpEntity.SIREN, DlpEntity.SIRET})
"""What may stand by chance in a number of another kind."""


def _unshadowed(found: Sequence[Found]) -> list[Found]:
    """Without weak entities that have signs in common with one of another kind."""
    kept, reached = [], (0, 0)
    # What ends last of all strong ones that began before, and what begins first of those that follow.
    strong = [each for each in found if each.entity not in _WEAK]
    following = 0
    for each in found:
        while following < len(strong) and strong[following][:2] <= each[:2]:
            reached = max(reached, (strong[following].text, strong[following].end))
            following += 1
        overtaken = reached > (each.text, each.start)
        meets_next = following < len(strong) and strong[following][:2] < (each.text, each.end)
        if each.entity not in _WEAK or not (overtaken or meets_next):
            kept.append(each)
    return kept


def _outermost(found: Iterable[tuple[int, int, int, str]]) -> list[Found]:
    """Without what lies in another of its kind."""
    kept: list[Found] = []
    reached: dict[tuple[int, str], int] = {}
    # The longest first of those that start together.
    for text, start, end, entity in sorted((text, start, -end, entity) for text, start, end, entity in found):
        if -end > reached.get((text, entity), 0):
            reached[text, entity] = -end
            kept.append(Found(text, start, -end, entity))
    return kept
