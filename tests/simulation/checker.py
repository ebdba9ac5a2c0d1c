"""Judges every instant of a schedule by rows and points, in rules of its own (design.md §8)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any
from uuid import UUID

import numpy as np
import psycopg

from eai.knowledge.ports import Point, SearchHits, SearchRequest, SpaceId
from tests.fakes.memory_vectors import MemoryVectors
from tests.simulation.outside import MODEL_OF_SPACE, vector_of
from tests.simulation.state import Row, State, read
from tests.simulation.templates import Person, Tenant


class Violation(AssertionError):
    """An invariant does not hold."""


@dataclass
class Asking:
    """A question on its way: what its asker may see at the instant that decides, and must see throughout."""

    person: Person
    query: str
    must: set[str]
    opened: State
    decided: State | None = None


@dataclass
class Checker:
    """Follows one tenant through one schedule."""

    admin: psycopg.Connection[Any]
    tenant: Tenant
    store: MemoryVectors
    state: State = field(init=False)
    asking: dict[int, Asking] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = read(self.admin, self.tenant)

    # -- every step

    def look(self) -> None:
        """Read the rows anew, and judge them, the points, and what led here from the instant before."""
        before, self.state = self.state, read(self.admin, self.tenant)
        for fault in self._faults(before, self.state):
            raise Violation(fault)
        for asking in self.asking.values():
            asking.must &= self._must_find(asking.person)

    def _faults(self, before: State, now: State) -> Iterator[str]:
        yield from self._searched(now)
        yield from self._documents(before, now)
        yield from self._passages(now)
        yield from self._rights(now)

    def _searched(self, now: State) -> Iterator[str]:
        """I4: one generation is searched, and it is what the base's row says."""
        serving = [g for g in now.generations.values() if g.state == "serving"]
        said = (now.base.generation, now.base.collection, now.base.model, now.base.dimensions)
        if [(g.id, g.collection, g.model, g.dimensions) for g in serving] != [said]:
            yield f"I4 the base is searched in {said}, and these are serving: {serving}"
        building = [g for g in now.generations.values() if g.state == "building"]
        if len(building) > 1:
            yield f"I4 {len(building)} generations are being built"

    def _documents(self, before: State, now: State) -> Iterator[str]:
        """I2, I6: what answers stays until something newer does, which brings what it was to bring."""
        for id_, was in before.documents.items():
            document = now.documents.get(id_)
            if document is None:
                if was.serving and not was.is_deleting:
                    yield f"I6 document {id_} is gone, and nobody had deleted it"
                continue
            if was.is_deleting and not document.is_deleting:
                yield f"I2 document {id_} has come back"
            if document.serving == was.serving:
                continue
            if not document.serving:
                yield f"I6 document {id_} answers no more"
                continue
            version = now.versions[document.serving]
            if was.serving and version.number < before.versions[was.serving].number:
                yield f"I2 document {id_} goes back to version {version.number}"
            intended = before.versions[version.id].intended if version.id in before.versions else {}
            for name in intended.keys() & {"readers", "classification", "title"}:
                if getattr(document, name) != intended[name]:
                    yield f"I12 version {version.number} of {id_} did not bring its {name}"

    def _passages(self, now: State) -> Iterator[str]:
        """I6, I3: what answers is whole, in rows and in points, and of the model of its space."""
        points = self.store.points(now.base.collection)
        for id_, chunks in now.serving_chunks.items():
            version = now.versions[now.served[id_].serving]
            if not chunks or not _is_whole(version.content, chunks):
                yield f"I6 of document {id_} version {version.number} is served, not all of it searched"
            if version.content != version.source:
                yield f"I2 version {version.number} of {id_} does not say what was submitted"
            for chunk in chunks:
                point = points.get(UUID(chunk.id))  # type: ignore[call-overload]
                if point is None:
                    yield f"I3 chunk {chunk.id} of {id_} is served and has no point"
                elif not _is_point_of(point, chunk, now):
                    yield f"I3 the point of chunk {chunk.id} of {id_} is another one's"

    def _rights(self, now: State) -> Iterator[str]:
        """I12: the class of what answers is that of its raw rights, and what is pending binds it."""
        for chunk in now.of_served_versions:
            document, rights = now.documents[chunk.document], now.classes.get(chunk.class_)
            raw = (document.readers, document.classification, chunk.readers, chunk.classification)
            if rights is None or raw != (
                rights.readers, rights.classification, rights.chunk_readers, rights.chunk_classification,
            ):  # fmt: skip
                yield f"I12 chunk {chunk.id} of {chunk.document} has class {rights}, not {raw}"
        for version in now.versions.values():
            document = now.documents[version.document]
            wanted = version.intended.get("readers")
            is_coming = version.status in {"pending", "processing"} and document.serving
            answers_to = {"tenant:*"} if document.readers is None else set(document.readers)
            if is_coming and wanted is not None and not answers_to <= set(wanted):
                yield f"I12 {version.document} answers to {document.readers}, and will only to {wanted}"

    # -- questions

    def asks(self, number: int, person: Person, query: str) -> None:
        self.asking[number] = Asking(person, query, self._must_find(person), self.state)

    def decides(self, number: int) -> None:
        """The re-check reads its rows at this instant."""
        self.asking[number].decided = self.state

    def searches(self, number: int, space: SpaceId, request: SearchRequest, hits: SearchHits) -> None:
        """I1, S3-78: the store answered what the asker's classes permit, to a vector of its own model."""
        asking = self.asking[number]
        expected = vector_of(MODEL_OF_SPACE[space.name], asking.query)
        if request.dense is not None and not np.array_equal(request.dense, expected):
            raise Violation(f"S3-78 {space.name} is searched by a vector of another model")
        points = self.store.points(space.name)
        for leg, found in (("vector", hits.dense), ("keyword", hits.sparse)):
            for hit in found:
                self._check_hit(asking, leg, points[hit.id])

    def _check_hit(self, asking: Asking, leg: str, point: Point) -> None:
        key, _, number = point.rights_key.partition(":")
        keys = {self.state.generation_key(g) for g in (*asking.opened.generations, *self.state.generations)}
        if key not in keys:
            raise Violation(f"I4 the {leg} leg found a point of no generation")
        if not self.state.class_permits(asking.person, int(number)):
            raise Violation(f"I1 the {leg} leg found class {number}, which its asker may not read")

    def answered(self, number: int, results: Sequence[dict[str, Any]], *, misses: bool) -> None:
        """Judge an answer; `misses` where the request itself may leave documents out."""
        asking = self.asking.pop(number)
        now = asking.decided or self.state
        readable = {c.chunk: c for chunks in now.readable(asking.person).values() for c in chunks}
        for result in results:
            chunk = readable.get(result["chunk_id"])
            if chunk is None:
                raise Violation(f"I1 {asking.person.subject.name} was shown {self._why(now, asking, result)}")
            if result["content"] != chunk.content:
                raise Violation(f"I2 chunk {chunk.chunk} was shown with another text")
        found = {result["document_id"] for result in results}
        if not misses and not asking.must <= found:
            lacking = sorted(asking.must - found)
            raise Violation(f"I6 {asking.person.subject.name} did not find {lacking}, served all the while")

    def _must_find(self, person: Person) -> set[str]:
        return self.state.readable(person).keys() - self.state.moving

    @staticmethod
    def _why(now: State, asking: Asking, result: dict[str, Any]) -> str:
        document = now.documents.get(result["document_id"])
        shown = f"{result['content'][:40]!r} of {result['document_id']}"
        if document is None or document.is_deleting:
            return f"{shown}, which is deleted"
        served = now.serving_chunks.get(result["document_id"], ())
        if result["chunk_id"] in {chunk.chunk for chunk in served}:
            return f"{shown}, which it may not read"
        return f"{shown}, which is not what is served"


def _is_whole(content: str, chunks: Sequence[Row]) -> bool:
    place = 0
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if chunk.content != content[chunk.start : chunk.end] or content[place : chunk.start].strip():
            return False
        place = max(place, chunk.end)
    return not content[place:].strip()


def _is_point_of(point: Point, chunk: Row, now: State) -> bool:
    vector = md5(np.asarray(point.dense, "<f4").tobytes(), usedforsecurity=False).hexdigest()
    return (
        str(point.document) == chunk.document
        and str(point.version) == chunk.version
        and point.generation_key == now.generation_key(chunk.generation)
        and vector == chunk.vector
    )
