"""Where in an extracted text the texts of its page stand."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Alignment:
    """Extraction moves white space and nothing else, so all other characters keep their number."""

    def __init__(self, text: str, drawn: Sequence[str]) -> None:
        solid = ["".join(words.split()) for words in drawn]
        self.holds = "".join(solid) == "".join(text.split())
        self._ends = np.cumsum([0, *map(len, solid)])
        self._places: NDArray[np.intp] = np.array(
            [place for place, sign in enumerate(text) if not sign.isspace()], dtype=np.intp
        )

    def place(self, first: int, last: int) -> tuple[int, int] | None:
        """The span of the drawn texts from number `first` to `last`; None where they are all white."""
        start, end = int(self._ends[first]), int(self._ends[last + 1])
        return (int(self._places[start]), int(self._places[end - 1]) + 1) if end > start else None
