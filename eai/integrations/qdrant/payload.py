"""What a point carries beside its vectors: ids and keys, no text and no title."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from eai.kernel.ids import DocumentId, PointId, VersionId
from eai.knowledge.ports import Point, SparseVector, StoredPoint, Vector

RIGHTS, GENERATION, DOCUMENT, VERSION = INDEXED = ("k", "g", "d", "v")


def payload(point: Point) -> dict[str, str]:
    return {
        RIGHTS: point.rights_key,
        GENERATION: point.generation_key,
        DOCUMENT: point.document.hex,
        VERSION: point.version.hex,
    }


def stored_point(
    identity: PointId, carried: Mapping[str, Any], dense: Vector | None, sparse: SparseVector | None
) -> StoredPoint:
    """What was read back from either engine; what somebody damaged is empty."""
    document, version = _id_in(carried.get(DOCUMENT)), _id_in(carried.get(VERSION))
    return StoredPoint(
        identity,
        str(carried.get(RIGHTS, "")),
        str(carried.get(GENERATION, "")),
        None if document is None else DocumentId(document),
        None if version is None else VersionId(version),
        dense,
        sparse,
    )


def _id_in(text: Any) -> UUID | None:
    try:
        return UUID(text)
    except (ValueError, TypeError, AttributeError):
        return None
