"""Which passages of a served text rights run through, and the pieces that take their place. Pure."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eai.access.classification import Classification, highest, level_at
from eai.access.rights_class import generation_key, rights_key
from eai.ingestion.splitting import Span, split
from eai.kernel.ids import DocumentId, PointId, VersionId, chunk_id, point_id
from eai.knowledge.bases.handle import BaseHandle, BuildingGeneration
from eai.knowledge.chunks.repository import ChunkRights
from eai.knowledge.chunks.spans import OwnRights, Strictest
from eai.knowledge.documents.drafts import PreparedChunk
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.ports import Point

_NO_VECTOR = np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class Served:
    """A version that answers, with its passages in every generation and the rights of its parts."""

    base: BaseHandle
    targets: Sequence[BuildingGeneration]
    document: KnowledgeDocument
    version: VersionId
    strictest: Strictest
    chunks: Sequence[ChunkRights]
    text: str

    def level_of(self, pieces: Iterable[PreparedChunk]) -> Classification:
        """The highest level of these, by the rights of their places."""
        own = level_at(self.document.classification)
        levels = [self.strictest.between(piece.start, piece.end).classification for piece in pieces]
        return highest(self.base.level_of(own), *levels)


@dataclass(frozen=True, slots=True)
class Recut:
    """Passages of one generation that are divided by rights, and their pieces, not yet embedded."""

    served: Served
    target: BuildingGeneration
    divided: Collection[PointId]
    pieces: Sequence[PreparedChunk]
    levels: Sequence[Classification]


def recut_of(served: Served) -> Recut | None:
    """What is to be cut in the first generation that has something; None where none has."""
    for target in served.targets:
        chunks = [chunk for chunk in served.chunks if chunk.generation == target.id]
        divided = [chunk for chunk in chunks if served.strictest.divides(chunk.start, chunk.end)]
        if divided:
            pieces = _pieces(served, target, divided, chunks)
            levels = [served.level_of([piece]) for piece in pieces]
            return Recut(served, target, {chunk.point for chunk in divided}, pieces, levels)
    return None


def prepared(served: Served, pieces: Sequence[PreparedChunk]) -> list[PreparedChunk]:
    """The same pieces with the rights that their places have."""
    owns = [served.strictest.between(piece.start, piece.end) for piece in pieces]
    return [_with(piece, own) for piece, own in zip(pieces, owns, strict=True)]


def points_of(recut: Recut, pieces: Sequence[PreparedChunk]) -> list[Point]:
    """What is written to the index: under the class of the whole, until rows give the piece its own."""
    served, target = recut.served, recut.target
    key = generation_key(target.tenant, target.id)
    return [
        Point(
            id=point_id(piece.chunk, target.id),
            dense=piece.embedding,
            sparse=document_weights(piece.terms, target.average_length),
            rights_key=rights_key(target.tenant, target.id, piece.class_number),
            generation_key=key,
            document=DocumentId(served.document.id),
            version=served.version,
        )
        for piece in pieces
    ]


def touched_by(recut: Recut) -> set[PointId]:
    """The points of the passages that go and of the pieces that come."""
    return {*recut.divided, *(point_id(piece.chunk, recut.target.id) for piece in recut.pieces)}


def uncovered(kept: Iterable[Span], cut: Iterable[Span]) -> list[Span]:
    """Those of `cut` that lie in no other span: overlaps come out of both passages that had them."""
    spans = sorted([*((span, False) for span in kept), *((span, True) for span in cut)], key=_from_longest)
    found: list[Span] = []
    reach = -1
    for (start, end), is_cut in spans:
        if is_cut and end > reach:
            found.append((start, end))
        reach = max(reach, end)
    return found


def _from_longest(span: tuple[Span, bool]) -> tuple[int, int, bool]:
    (start, end), is_cut = span
    return start, -end, is_cut


def _pieces(
    served: Served,
    target: BuildingGeneration,
    divided: Sequence[ChunkRights],
    chunks: Sequence[ChunkRights],
) -> list[PreparedChunk]:
    kept = [(chunk.start, chunk.end) for chunk in chunks if chunk not in divided]
    wholes: dict[Span, ChunkRights] = {}
    for chunk in divided:
        wholes |= dict.fromkeys(_cut(served, target, chunk), chunk)
    return [_piece(served, span, wholes[span]) for span in uncovered(kept, wholes)]


def _cut(served: Served, target: BuildingGeneration, chunk: ChunkRights) -> list[Span]:
    spans = split(
        served.text[chunk.start : chunk.end],
        size=target.chunk_size,
        overlap=target.chunk_overlap,
        edges=[at - chunk.start for at in served.strictest.edges],
    )
    return [(chunk.start + start, chunk.start + end) for start, end in spans]


def _piece(served: Served, span: Span, whole: ChunkRights) -> PreparedChunk:
    start, end = span
    content, language = served.text[start:end], Language(whole.language)
    return PreparedChunk(
        chunk=chunk_id(DocumentId(served.document.id), served.version, start, end),
        ordinal=0,
        start=start,
        end=end,
        content=content,
        readers=whole.readers,
        classification=whole.classification,
        class_number=whole.class_number,
        language=whole.language,
        terms=analyse_document(content, language),
        embedding=_NO_VECTOR,
    )


def _with(piece: PreparedChunk, own: OwnRights) -> PreparedChunk:
    return replace(piece, readers=own.readers, classification=own.classification)
