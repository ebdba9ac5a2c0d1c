"""What a point carries beside its vectors: ids and keys, no text and no title."""

from eai.knowledge.ports import Point

RIGHTS, GENERATION, DOCUMENT, VERSION = INDEXED = ("k", "g", "d", "v")


def payload(point: Point) -> dict[str, str]:
    return {
        RIGHTS: point.rights_key,
        GENERATION: point.generation_key,
        DOCUMENT: point.document.hex,
        VERSION: point.version.hex,
    }
