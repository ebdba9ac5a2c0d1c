"""The statements of a query. Those of every query call a function that binds the tenant itself, once each."""

from collections.abc import Sequence

from sqlalchemy import select

from eai.access.rights_class import MAX_FILTER_CLASSES
from eai.access.subject import Subject
from eai.identity.credentials import Credential, Peppers
from eai.kernel.ids import PointId, TenantId
from eai.knowledge.bases.naming import read_reference
from eai.knowledge.models import Chunk
from eai.platform.database import Database
from eai.retrieval.rows import OpenedRow, PassageRow, Snapshot
from eai.retrieval.values import SearchedBase


class QueryRows:
    """The query path's way into the database."""

    def __init__(self, database: Database, peppers: Peppers) -> None:
        self._database = database
        self._peppers = peppers

    async def open(self, credential: str, reference: str, terms: Sequence[str]) -> OpenedRow | None:
        """Who asks, what of, and what the search needs to know; None when the credential opens nothing.

        Raises Unauthenticated for what is no credential at all.
        """
        parsed = Credential.parse(credential)
        named = read_reference(reference)
        parameters = {
            "key_id": parsed.key_id,
            "macs": self._peppers.candidates(parsed),
            "base": None if isinstance(named, str) else named,
            "alias": named if isinstance(named, str) else None,
            "terms": " ".join(terms),
            "most": MAX_FILTER_CLASSES,
        }
        rows = await self._database.statement(_OPEN, parameters, is_repeatable=True)
        return OpenedRow(*rows[0]) if rows else None

    async def recheck(
        self, subject: Subject, base: SearchedBase, points: Sequence[PointId], *, wants_metadata: bool
    ) -> Snapshot:
        """The rows behind `points` that belong to this generation, and the caller as of the same instant."""
        parameters = {
            "tenant": subject.tenant,
            "api_key": subject.api_key,
            "base": base.id,
            "generation": base.generation,
            "points": f"{{{','.join([point.hex for point in points])}}}",
            "wants_metadata": wants_metadata,
        }
        ((who, found, entries, passages, bounds),) = await self._database.statement(
            _RECHECK, parameters, is_repeatable=True
        )
        return Snapshot(who, found, entries, {row[0]: PassageRow(*row) for row in passages}, bounds)

    async def holds_chunks(self, tenant: TenantId, base: SearchedBase) -> bool:
        """Whether the generation that is searched has any passage."""
        held = select(Chunk.id).where(Chunk.tenant_id == tenant, Chunk.generation == base.generation)
        async with self._database.transaction(tenant) as session:
            return bool(await session.scalar(select(held.exists())))


# A list costs the driver as much as the rest of the statement: terms, which hold no space, and ids travel
# as one text each.
_OPEN = """
    SELECT subject, base, entries, classes, chunks_by_language, document_frequencies, gateway,
           eai.cache_bounds((subject->>'tenant')::uuid, (base->>'id')::uuid)
      FROM eai.open_query(%(key_id)s, %(macs)b, %(base)s, %(alias)s,
                          string_to_array(%(terms)s, ' '), %(most)s)"""
_RECHECK = """
    SELECT subject, base, entries, passages, eai.cache_bounds_now(%(tenant)s, %(base)s)
      FROM eai.recheck(%(tenant)s, %(api_key)s, %(base)s, %(generation)s, %(points)s::uuid[],
                       %(wants_metadata)s)"""
