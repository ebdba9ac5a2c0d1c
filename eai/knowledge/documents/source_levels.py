"""Whether a document's source brings the levels that an access list is to give it."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import level_at
from eai.connectors.stamps import stamp_borne
from eai.kernel.ids import DocumentId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.spans import spans_from_rows
from eai.knowledge.documents.drafts import DocumentChanges, SpanRights
from eai.knowledge.documents.levels import found_level, levels_of
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.models import KnowledgeDocument


async def require_source_levels(
    session: AsyncSession,
    base: BaseHandle,
    row: KnowledgeDocument,
    changes: DocumentChanges,
    spans: Sequence[SpanRights] | None,
) -> None:
    """Raise SourceConnectorRefused where the document or a part of it would have a level it does not bring.

    `spans` None: the parts are those of the texts that answer or are to. What sets no level was judged when
    it was accepted. The caller holds `row`.
    """
    is_set = "classification" in changes.given or any(span.classification for span in spans or ())
    if not is_set:
        return
    own = changes.classification if "classification" in changes.given else level_at(row.classification)
    source = await stamp_borne(session, base.tenant, row.source_connector)
    parts = await _parts(session, base, row) if spans is None else spans
    source.require_levels(levels_of(base, own, parts, found_level(row)))


async def _parts(session: AsyncSession, base: BaseHandle, row: KnowledgeDocument) -> list[SpanRights]:
    versions = VersionRows(session, base.tenant, DocumentId(row.id))
    serving = None if row.serving_version_id is None else VersionId(row.serving_version_id)
    texts = [await versions.newest(), None if serving is None else await versions.find(serving)]
    sound = [text for text in texts if text is not None and text.status != "failed"]
    return [span for text in sound for span in spans_from_rows(text.chunk_rights)]
