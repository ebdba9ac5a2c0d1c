"""Parts of a page that its readers do not see: by style, by attribute, or because they are left out."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from eai.quarantine.html.alignment import Alignment
from eai.quarantine.html.hiding import Hiding
from eai.quarantine.html.page import Text, read_page
from eai.quarantine.html.source_only import unshown_in
from eai.quarantine.instructions import instructions_in
from eai.quarantine.pieces import Pieces
from eai.quarantine.ports import Mark, Place
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_MANY_WORDS = 4
_COMMENT_WORDS = 5


class HiddenMarkup:
    """Finds text of pages that is indexed and not seen, and instructions in the rest of their source."""

    name = "hidden_markup"
    version = 6

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Nothing for texts that are their own source."""
        if specimen.content_type == "text/html":
            yield from _unseen(specimen)
            yield from _unshown(specimen)


def _unseen(specimen: Specimen) -> Iterator[Mark]:
    page = read_page(specimen.source)
    if page.has_unread_styles or page.has_styles_elsewhere:
        # Most honest pages have sheets elsewhere, and none needs more work than its own may make.
        severity = Severity.HIGH if page.has_unread_styles else Severity.MEDIUM
        yield Mark(Reason.STYLES_UNREAD, severity, 0, len(specimen.source), Place.SOURCE)
    parts = list(_runs(page.texts))
    if not parts:
        return
    alignment = Alignment(specimen.text, [text.words for text in page.texts])
    told = _told([_joined(page.texts, *span) for span in parts])
    deceptive = sum(len(text.words.split()) for text in page.texts if text.drawn.unseen is Hiding.DECEPTIVE)
    for number, (first, last) in enumerate(parts):
        place = alignment.place(first, last) if alignment.holds else None
        reason, severity = _judged(page.texts[first : last + 1], deceptive, is_told=number in told)
        if place is not None:
            yield Mark(reason, severity, *place, meaning=told.get(number))
        elif not alignment.holds:
            # The text was changed since, as by redaction: the finding stays, its place is the whole source.
            words = _joined(page.texts, first, last)
            yield Mark(reason, severity, 0, len(specimen.source), Place.SOURCE, meaning=words)


def _told(parts: Sequence[str]) -> dict[int, str]:
    """What each part says to a model; where only all of them together do, each says that."""
    told = dict(Pieces.of(parts).that_speak_to_model())
    if not told and len(parts) > 1:
        together = " ".join(parts)
        if mark := next(instructions_in(together), None):
            return dict.fromkeys(range(len(parts)), together[mark.start : mark.end])
    return told


def _runs(texts: Sequence[Text]) -> Iterator[tuple[int, int]]:
    """First and last number of unseen texts that follow each other."""
    for is_unseen, run in groupby(enumerate(texts), key=lambda entry: entry[1].drawn.unseen is not None):
        numbers = [number for number, text in run if text.words.strip()]
        if is_unseen and numbers:
            yield numbers[0], numbers[-1]


def _joined(texts: Sequence[Text], first: int, last: int) -> str:
    return "".join(text.words for text in texts[first : last + 1])


def _judged(texts: Sequence[Text], deceptive: int, *, is_told: bool) -> tuple[Reason, Severity]:
    """`deceptive` words are on the whole page: word by word, as much can be hidden as in one piece."""
    if is_told:
        return Reason.INSTRUCTIONS_UNSEEN, Severity.CRITICAL
    words = sum(len(text.words.split()) for text in texts)
    if any(text.drawn.unseen is Hiding.DECEPTIVE for text in texts):
        return Reason.UNSEEN_BY_STYLE, Severity.HIGH if deceptive >= _MANY_WORDS else Severity.MEDIUM
    is_interface = all(text.drawn.is_interface for text in texts)
    is_grave = words >= _MANY_WORDS and not is_interface
    return Reason.WAITING_TO_BE_SHOWN, Severity.HIGH if is_grave else Severity.LOW


def _unshown(specimen: Specimen) -> Iterator[Mark]:
    pieces = list(unshown_in(specimen.source))
    told = dict(Pieces.of([piece.text for piece in pieces]).that_speak_to_model())
    for number, piece in enumerate(pieces):
        if (meaning := told.get(number)) is not None:
            reason = Reason.INSTRUCTIONS_UNSEEN if piece.is_comment else Reason.INSTRUCTIONS_IN_MARKUP
            yield Mark(reason, Severity.HIGH, piece.start, piece.end, Place.SOURCE, meaning)
        elif piece.is_comment and len(piece.text.split()) >= _COMMENT_WORDS:
            yield Mark(Reason.COMMENT, Severity.LOW, piece.start, piece.end, Place.SOURCE)


HIDDEN_MARKUP = HiddenMarkup()
