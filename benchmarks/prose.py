"""Made-up prose: few words are common and most are rare, as in text, and no two passages are alike."""

from collections.abc import Sequence

import numpy as np

VOCABULARY = 20_000
PASSAGE_LENGTH = 800
_WORDS = 118
_SENTENCE = 14
_ONSETS = "b c d f g h l m n p r s t v br cr dr fl gr pl pr sp st tr".split()
_NUCLEI = "a e i o u ai ea io ou".split()
_CODAS = ["", "n", "r", "l", "s", "t", "nd", "st", "m"]
_GRAMMAR = "the of and to in a is for that it with as on by be are this an which from".split()


class Prose:
    """Passages and questions, seeded: always the same."""

    def __init__(self, seed: int = 11) -> None:
        self._draw = np.random.default_rng(seed)
        self._words = np.array([*_GRAMMAR, *self._coined(VOCABULARY - len(_GRAMMAR))])
        shares = 1 / np.arange(3, VOCABULARY + 3)
        self._shares = shares / shares.sum()

    def passages(self, count: int) -> list[str]:
        """So many passages of about 800 characters."""
        return [_sentences(row) for row in self._words[self._drawn((count, _WORDS))]]

    def questions(self, passages: Sequence[str], count: int) -> list[str]:
        """So many questions, each to some passage."""
        return [self.question(passages[row]) for row in self._draw.integers(0, len(passages), count)]

    def question(self, passage: str) -> str:
        """Four to seven rarer words of a passage."""
        words = [word for word in passage.replace(".", "").lower().split() if word not in _GRAMMAR]
        chosen = self._draw.choice(words, int(self._draw.integers(4, 8)), replace=False)
        return "what is the " + " ".join(chosen)

    def _coined(self, count: int) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < count:
            syllables = int(self._draw.integers(1, 5))
            found["".join(self._syllable() for _ in range(syllables))] = None
        return sorted(found, key=len)

    def _syllable(self) -> str:
        return "".join(str(self._draw.choice(part)) for part in (_ONSETS, _NUCLEI, _CODAS))

    def _drawn(self, shape: tuple[int, int]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return self._draw.choice(VOCABULARY, shape, p=self._shares)


def _sentences(words: Sequence[str]) -> str:
    parts = (words[start : start + _SENTENCE] for start in range(0, len(words), _SENTENCE))
    return " ".join(f"{' '.join(part).capitalize()}." for part in parts)[:PASSAGE_LENGTH]
