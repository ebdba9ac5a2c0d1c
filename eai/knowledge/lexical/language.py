"""Which language a document is written in, as far as the keyword leg tells languages apart."""

import lzma
from array import array
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier


class Language(StrEnum):
    """A language with stemming and stop words of its own, or any other."""

    ENGLISH = "en"
    FRENCH = "fr"
    OTHER = "xx"


SAMPLE_LENGTH = 4_000
"""Characters of a document that its language is read from: 2 ms, and more tells no more."""

_KNOWN = (Language.ENGLISH, Language.FRENCH)
# Told apart from ours, so that a German text is not stemmed as English. Fewer candidates make fewer
# mistakes on titles: with all 142 of the model, "Contrat de prestation" is Occitan.
_NEIGHBOURS = tuple("ar ca cs da de el es fi he hu it ja ko nl pl pt ro ru sv tr uk vi zh".split())
_SURE = 0.8


def language_of(text: str, declared: str | None = None) -> Language:
    """The language to analyse `text` in: what its author declared (`fr`, `fr-CA`), else detected."""
    if declared is None:
        return detect_language(text)
    primary = declared.replace("_", "-").split("-")[0].lower()
    return next((language for language in _KNOWN if language == primary), Language.OTHER)


def detect_language(text: str) -> Language:
    """The best guess among ours, unless the text is clearly in another language.

    The first call loads the model (0.7 s, about 70 MB, for a moment twice as much): never on a request that
    only asks.
    """
    ranked: Mapping[str, float] = dict(_identifier().rank(text[:SAMPLE_LENGTH]))
    likeliest = max(ranked, key=lambda code: ranked[code])
    if likeliest not in _KNOWN and ranked[likeliest] >= _SURE:
        return Language.OTHER
    return max(_KNOWN, key=lambda language: ranked[language])


@cache
def _identifier() -> "LanguageIdentifier":
    """With its model unpacked in memory: the library's own way needs room on the disk for temporary files.

    Where that is full, no process that has not read a text before could take one in.
    """
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 only ingestion

    with lzma.open(MODEL_DIR / MODEL_FILE) as packed:
        content = BytesIO(packed.read())
    with np.load(content, allow_pickle=False) as model:
        identifier = LanguageIdentifier(
            model["ptc"],
            model["pc"],
            model["classes"].tolist(),
            _compact(model["nextmove"]),
            model["out_feat"].tolist(),
            norm_probs=True,
            tk_row=_compact(model["nextmove_row"]),
        )
    identifier.set_languages([*_KNOWN, *_NEIGHBOURS])
    return identifier


def _compact(numbers: "np.ndarray[Any, Any]") -> "array[int]":
    """The same, of the kind that is quick to look one up in."""
    return array(numbers.dtype.char, numbers.tobytes())
