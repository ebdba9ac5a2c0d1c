"""Which rights each chunk of the benchmarks' base has, and what it looks like as row and as point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import uuid4

import numpy as np

from benchmarks.prose import Prose
from eai.access.classification import Classification
from eai.access.rights_class import generation_key, rights_key
from eai.integrations.local_models.hashing import hash_vector
from eai.kernel.ids import BaseId, DocumentId, GenerationId, TenantId, VersionId, chunk_id, point_id
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.ports import Point, SparseVector, Vector
from eai.knowledge.statistics.tally import Tally

PER_DOCUMENT = 20
AVERAGE_LENGTH = 105.0
GROUPS = 100
BATCH = 2_000
_STRIDE = 1_100
"""From one passage of a text to the next, which leaves room for hidden words."""
LEVELS = (None, Classification.PUBLIC, Classification.CONFIDENTIAL)
# What everybody may see, what the first group may, and the other groups an equal part of the rest: whoever is
# in the first, in the first ten or in the first fifty sees 1 %, 10 % or 50 %.
_FOR_ALL, _FIRST, _EACH = 0.005, 0.005, 0.01
READERS = {"50 %": 50, "10 %": 10, "1 %": 1}


@dataclass(frozen=True)
class Reader:
    """Somebody who may ask: the key, and the classes that this person's groups open."""

    key: str
    classes: tuple[int, ...]
    selectivity: float


@dataclass(frozen=True)
class Analysed:
    """A passage and what is derived from it."""

    text: str
    vector: Vector
    sparse: SparseVector
    terms: dict[str, int]


def analyse(texts: Sequence[str]) -> list[Analysed]:
    """What the product derives from passages; called in processes of its own."""
    analysed = []
    for text in texts:
        terms = analyse_document(text, Language.ENGLISH)
        analysed.append(
            Analysed(text, hash_vector(text), document_weights(terms, AVERAGE_LENGTH), dict(terms))
        )
    return analysed


class Shelf:
    """Which rights the chunk at a place has. `classes[0]` are everybody's, then three for each group."""

    def __init__(
        self, tenant: TenantId, base: BaseId, generation: GenerationId, classes: Sequence[Sequence[int]]
    ) -> None:
        self.tenant, self.base, self.generation = tenant, base, generation
        self._classes = classes
        bounds = np.cumsum([_FOR_ALL, _FIRST, *[_EACH] * (GROUPS - 1)])
        self._bounds = bounds
        self.documents: dict[int, tuple[DocumentId, VersionId]] = {}

    def owner(self, document: int, documents: int) -> int:
        """0 for everybody, else one more than the number of the group that may read it."""
        # Documents of one group do not stand side by side in the table or in a segment.
        place = (document * 7919 % documents + 0.5) / documents
        return int(np.searchsorted(self._bounds, place))

    def level(self, document: int) -> Classification | None:
        return LEVELS[document % len(LEVELS)]

    def number(self, document: int, documents: int) -> int:
        return self._classes[self.owner(document, documents)][document % len(LEVELS)]

    def ids(self, document: int) -> tuple[DocumentId, VersionId]:
        if document not in self.documents:
            self.documents[document] = (DocumentId(uuid4()), VersionId(uuid4()))
        return self.documents[document]

    def reader(self, key: str, groups: int, chunks: int) -> Reader:
        documents = document_count(chunks)
        seen = sum(self.owner(document, documents) <= groups for document in range(documents))
        numbers = [number for group in self._classes[: groups + 1] for number in group]
        return Reader(key, tuple(numbers), seen / documents)

    def texts(self, prose: Prose, chunks: int, hidden_words: Sequence[str]) -> Iterator[list[str]]:
        """All passages, batch by batch."""
        added = " ".join(hidden_words)
        for start in range(0, chunks, BATCH):
            passages = prose.passages(min(BATCH, chunks - start))
            if added:
                hidden = [self._is_hidden(row, chunks) for row in range(start, start + len(passages))]
                passages = [f"{p} {added}." if is_ else p for p, is_ in zip(passages, hidden, strict=True)]
            yield passages

    def _is_hidden(self, row: int, chunks: int) -> bool:
        return self.owner(row // PER_DOCUMENT, document_count(chunks)) > max(READERS.values())

    def points(self, start: int, batch: Sequence[Analysed], chunks: int) -> Iterator[Point]:
        key = generation_key(self.tenant, self.generation)
        for row, passage in enumerate(batch, start):
            document, version = self.ids(row // PER_DOCUMENT)
            number = self.number(row // PER_DOCUMENT, document_count(chunks))
            yield Point(
                id=point_id(chunk_id(document, version, *_span(row, passage)), self.generation),
                dense=passage.vector,
                sparse=passage.sparse,
                rights_key=rights_key(self.tenant, self.generation, number),
                generation_key=key,
                document=document,
                version=version,
            )

    def count(self, tally: Tally, start: int, batch: Sequence[Analysed], chunks: int) -> None:
        for row, passage in enumerate(batch, start):
            document = row // PER_DOCUMENT
            if self.owner(document, document_count(chunks)) == 0:
                tally.add("en", self.number(document, document_count(chunks)), passage.terms)


def document_row(shelf: Shelf, groups: Sequence[str], document: int, documents: int) -> tuple[Any, ...]:
    id_, version = shelf.ids(document)
    owner, level = shelf.owner(document, documents), shelf.level(document)
    readers = None if owner == 0 else [f"group:{groups[owner - 1]}"]
    rank = None if level is None else level.rank
    title, uri = f"Document {document}", f"https://example.com/{document}"
    return (shelf.tenant, id_, shelf.base, title, uri, rank, readers, version)


def version_row(shelf: Shelf, document: int, passages: Sequence[Analysed]) -> tuple[Any, ...]:
    """The version that a document's passages make, with its whole text."""
    id_, version = shelf.ids(document)
    text = "".join(passage.text.ljust(_STRIDE, "\n") for passage in passages)
    digest = sha256(text.encode()).digest()
    return (shelf.tenant, version, id_, 1, "ready", "text/plain", digest, text, digest, "en")


def chunk_row(shelf: Shelf, row: int, passage: Analysed, chunks: int) -> tuple[Any, ...]:
    document, version = shelf.ids(row // PER_DOCUMENT)
    start, end = _span(row, passage)
    chunk = chunk_id(document, version, start, end)
    return (
        *(shelf.tenant, point_id(chunk, shelf.generation), chunk, shelf.base, shelf.generation),
        *(document, version, row % PER_DOCUMENT, start, end, passage.text),
        *(shelf.number(row // PER_DOCUMENT, document_count(chunks)), "en", sum(passage.terms.values())),
        *(len(passage.vector), passage.vector.astype("<f4").tobytes()),
    )


def document_count(chunks: int) -> int:
    """How many documents so many chunks make."""
    return -(-chunks // PER_DOCUMENT)


def _span(row: int, passage: Analysed) -> tuple[int, int]:
    start = row % PER_DOCUMENT * _STRIDE
    return start, start + len(passage.text)
