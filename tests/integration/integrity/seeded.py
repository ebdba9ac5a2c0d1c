"""A tenant in which every feature has left its rows, and ways to spoil it and to put it back."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from eai.access.rights_class import generation_key, rights_key
from eai.bootstrap import Platform, job_handlers
from eai.integrity.mending import FOLLOWING
from eai.integrity.mending_rows import MendingRows
from eai.integrity.service import Examination
from eai.kernel.ids import DocumentId, GenerationId, JobId, PointId, TenantId, VersionId
from eai.knowledge.ports import Point, Selector, SpaceId, SparseVector, Vectors
from eai.platform.worker import Worker
from tests.stack import Company, Stack

TEXTS = (
    "Refunds are paid within seven days after the parcel has come back to us.",
    "Le remboursement est versé dans les sept jours après le retour du colis.",
    "Invoices are kept for ten years, and shown to whoever has to audit them.",
)


@dataclass(frozen=True)
class Seeded:
    """The tenant, its base, and PostgreSQL as its superuser."""

    stack: Stack
    admin: psycopg.AsyncConnection
    company: Company
    base: str
    documents: tuple[str, ...]
    deleted: str
    names: dict[str, Any]
    worker: Worker

    @classmethod
    async def over(cls, stack: Stack, admin: psycopg.AsyncConnection) -> "Seeded":
        company = await stack.company()
        reader = await company.person("member")
        base = await company.base(reader.reference, name="Kept")
        quota = {"owner": "tenant", "metric": "tokens", "window": "month", "limit": 10_000_000}
        assert (await company.admin.put("/v1/finops/quotas", json=quota)).status_code == 200
        documents = [await company.document(base, text, title=f"Page {text[:9]}") for text in TEXTS]
        documents.append(
            await company.document(base, f"Only for one. {TEXTS[0]}", readers=[reader.reference], title="Own")
        )
        documents.append(await company.document(base, "Parcels are sent by rail.\n\n" * 60, title="Long"))
        second = await company.base(reader.reference, name="Second")
        await company.document(second, "Another base has its own generation.", title="Second")
        deleted = await company.document(base, "What is to go.", title="Goes")
        assert (await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{deleted}")).is_success
        await company.admin.made(f"/v1/knowledge-bases/{base}/query", {"query": "refund"}, status=200)
        told = {"kind": "elsewhere", "unit": "tokens", "quantity": 7, "tokens": 7}
        usage = await company.admin.made("/v1/finops/usage", told)
        embedder = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
        await company.admin.made("/v1/gateway/embeddings", {"model": embedder, "input": "text"}, status=200)
        worker = Worker(stack.platform.database, stack.platform.jobs, job_handlers(stack.platform))
        made = cls(
            stack,
            admin,
            company,
            base,
            tuple(documents),
            deleted,
            {"usage": usage["id"], "second": second},
            worker,
        )
        await made.learn()
        await made.work()
        assert await stack.platform.store_ownership.take_own()
        return made

    @property
    def platform(self) -> Platform:
        return self.stack.platform

    @property
    def vectors(self) -> Vectors:
        return self.platform.vectors

    @property
    def tenant(self) -> TenantId:
        return TenantId(UUID(self.company.id))

    @property
    def generation(self) -> GenerationId:
        return GenerationId(self.names["generation"])

    @property
    def key(self) -> str:
        return generation_key(self.tenant, self.generation)

    @property
    def space(self) -> SpaceId:
        return SpaceId(self.names["collection"], self.names["dimensions"])

    def rights(self, number: int) -> str:
        return rights_key(self.tenant, self.generation, number)

    async def learn(self) -> None:
        """What the rows call things."""
        (generation,) = await self.rows(_GENERATION_OF, of=self.base)
        (second,) = await self.rows(_GENERATION_OF, of=self.names["second"])
        self.names["second_generation"] = second["id"]
        self.names.update(
            generation=generation["id"],
            collection=generation["collection"],
            dimensions=generation["dimensions"],
        )
        chunks = await self.rows(
            "SELECT id, document_id, version_id, class_number FROM eai.kb_chunks "
            "WHERE generation = %(generation)s ORDER BY document_id = %(first)s DESC, document_id, ordinal",
            first=self.documents[0],
        )
        self.names.update(chunks=chunks, point=PointId(chunks[0]["id"]), document=chunks[0]["document_id"])
        self.names.update(version=chunks[0]["version_id"], other=chunks[-1]["document_id"])

    async def rows(self, statement: str, **parameters: object) -> list[dict[str, Any]]:
        """What a statement of the superuser answers, on whom no trigger and no foreign key is a check."""
        cursor = self.admin.cursor(row_factory=dict_row)
        given = {"tenant": self.tenant, "base": self.base, **self.given, **parameters}
        await cursor.execute(statement, given)  # type: ignore[arg-type]
        return await cursor.fetchall() if cursor.description else []

    @property
    def given(self) -> dict[str, Any]:
        """What every statement may name."""
        plain = (
            "second",
            "second_generation",
            "generation",
            "point",
            "document",
            "version",
            "other",
            "usage",
        )
        known = {name: self.names[name] for name in plain if name in self.names}
        return {**known, "deleted": self.deleted, "new": uuid4()}

    @asynccontextmanager
    async def kept(self, *tables: str) -> AsyncIterator[None]:
        """Have these tables be afterwards what they are now."""
        for table in tables:
            await self.rows(f"CREATE TABLE public.kept_{table} AS SELECT * FROM eai.{table}")
        try:
            yield
        finally:
            for table in tables:
                columns = await self._columns(table)
                await self.rows(f"DELETE FROM eai.{table}")
                await self.rows(
                    f"INSERT INTO eai.{table} ({columns}) SELECT {columns} FROM public.kept_{table}"
                )
                await self.rows(f"DROP TABLE public.kept_{table}")

    async def _columns(self, table: str) -> str:
        rows = await self.rows(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'eai' "
            "AND table_name = %(table)s AND is_generated = 'NEVER'",
            table=table,
        )
        return ", ".join(sql.Identifier(row["column_name"]).as_string() for row in rows)

    async def examine(self, *, is_deep: bool = False, tenant: TenantId | None = None) -> Examination:
        return await self.platform.integrity.examine(tenant or self.tenant, is_deep=is_deep)

    async def kinds(self, *, is_deep: bool = False, tenant: TenantId | None = None) -> set[str]:
        """What an examination finds."""
        examination = await self.examine(is_deep=is_deep, tenant=tenant)
        return {str(finding.kind) for finding in examination.report.findings}

    async def repair(self, *, is_deep: bool = False, tenant: TenantId | None = None) -> dict[str, int]:
        """What a repair mended, with the jobs that it leaves done."""
        whose = tenant or self.tenant
        job = await self.platform.integrity_jobs.queue_repair(whose, is_deep=is_deep)
        assert job is not None
        await self.worker.run_one(whose, job)
        async with self.platform.database.transaction(whose) as session:
            rows = MendingRows(session, whose)
            assert await rows.state_of(job) == "completed"
            report = await rows.last_report()
        await self.follow(whose)
        assert report is not None
        return dict(report.mended)

    async def work(self) -> None:
        """Do every job that waits."""
        queued = "SELECT id FROM eai.jobs WHERE tenant_id = %(tenant)s AND state = 'queued'"
        for job in await self.rows(queued):
            await self.worker.run_one(self.tenant, JobId(job["id"]))

    async def follow(self, tenant: TenantId) -> None:
        """Do the jobs that a repair left."""
        async with self.platform.database.transaction(tenant) as session:
            waiting = await MendingRows(session, tenant).jobs_waiting(FOLLOWING)
        for job in waiting:
            await self.worker.run_one(tenant, JobId(job))

    async def events(self, action: str) -> Sequence[dict[str, Any]]:
        return await self.rows(
            "SELECT seq FROM eai.audit_events WHERE tenant_id = %(tenant)s AND action = %(action)s",
            action=action,
        )

    def selector(self, *points: UUID) -> Selector:
        return Selector(self.key, ids=tuple(PointId(point) for point in points))


_GENERATION_OF = "SELECT * FROM eai.kb_generations WHERE base_id = %(of)s"


def stray_point(seeded: Seeded, generation: GenerationId) -> Point:
    """A point of no chunk there is."""
    return Point(
        id=PointId(uuid4()),
        dense=np.eye(1, seeded.space.dimensions, dtype=np.float32)[0],
        sparse=SparseVector(np.array([7], np.uint32), np.array([1.0], np.float32)),
        rights_key=rights_key(seeded.tenant, generation, 0),
        generation_key=generation_key(seeded.tenant, generation),
        document=DocumentId(uuid4()),
        version=VersionId(uuid4()),
    )
