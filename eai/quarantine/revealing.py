"""Texts as a steward reads them: what is invisible is written out, and every place maps back."""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from eai.quarantine.invisibles import Kind, kind_of

_OPENING, _CLOSING = "⟦", "⟧"
_TAGS_START, _TAGS_END = 0xE0020, 0xE007E
_TAG_OFFSET = 0xE0000
_NAMES = {
    "\u00ad": "SHY", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u2060": "WJ", "\ufeff": "BOM",
    "\u200e": "LRM", "\u200f": "RLM", "\u061c": "ALM", "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF",
    "\u202d": "LRO", "\u202e": "RLO", "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Piece:
    """`[start, end)` of the revealed text, made from `[origin, origin_end)` of the given one."""

    start: int
    end: int
    origin: int
    origin_end: int
    is_marker: bool


@dataclass(frozen=True, slots=True)
class Revealed:
    """`text` holds no invisible character but the soft and joining ones that belong where they stand.

    `pieces` follow each other without a gap, in both texts; a marker's stand for what cannot be seen.
    """

    text: str
    pieces: Sequence[Piece]

    def origin(self, position: int) -> int:
        """Where the character at `position` came from; all of a marker came from where it starts."""
        piece = self.pieces[bisect_right(self.pieces, position, key=lambda piece: piece.start) - 1]
        return piece.origin if piece.is_marker else piece.origin + position - piece.start

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where `[start, end)` of the given text, which is not empty, stands in this one."""
        return self._first(start), self._last(end - 1)

    def _piece_of(self, position: int) -> Piece:
        return self.pieces[bisect_right(self.pieces, position, key=lambda piece: piece.origin) - 1]

    def _first(self, position: int) -> int:
        piece = self._piece_of(position)
        return piece.start if piece.is_marker else piece.start + position - piece.origin

    def _last(self, position: int) -> int:
        piece = self._piece_of(position)
        return piece.end if piece.is_marker else piece.start + position - piece.origin + 1


def reveal(text: str) -> Revealed:
    """`text` with the name of each invisible character in its place; a row of tags as what it spells."""
    written: list[str] = []
    pieces: list[Piece] = []
    position = 0
    for origin, part, is_marker in _parts(text):
        shown = _marker(part) if is_marker else part
        pieces.append(Piece(position, position + len(shown), origin, origin + len(part), is_marker))
        written.append(shown)
        position += len(shown)
    return Revealed("".join(written), tuple(pieces))


def _parts(text: str) -> Iterator[tuple[int, str, bool]]:
    """Runs of visible characters, runs of tags, and every other invisible one by itself."""
    origin = 0
    for kind, signs in groupby(text, key=_shown_as):
        run = "".join(signs)
        if kind in {None, Kind.TAG}:
            yield origin, run, kind is Kind.TAG
        else:
            yield from ((origin + offset, sign, True) for offset, sign in enumerate(run))
        origin += len(run)


def _shown_as(sign: str) -> Kind | None:
    # Everybody sees the emoji, and nobody the selector that asks for its colours.
    return None if sign == "\ufe0f" else kind_of(sign)


def _marker(part: str) -> str:
    if kind_of(part[0]) is Kind.TAG:
        spelled = "".join(map(_spelled, part))
        return f"{_OPENING}TAGS {spelled}{_CLOSING}"
    name = _NAMES.get(part) or f"U+{ord(part):04X} {unicodedata.name(part, '')}".rstrip()
    return f"{_OPENING}{name}{_CLOSING}"


def _spelled(tag: str) -> str:
    is_letter = _TAGS_START <= ord(tag) <= _TAGS_END
    return chr(ord(tag) - _TAG_OFFSET) if is_letter else "·"
