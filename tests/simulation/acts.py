"""What clients do in a schedule, through the same services as the API's routes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from eai.access.classification import Classification
from eai.ingestion.schemas import ReplacementFields
from eai.ingestion.submission import Revision, Text
from eai.kernel.ids import DocumentId, JobId
from eai.knowledge.documents.schemas import DocumentAcl
from eai.platform.database import Database
from eai.reindex.schemas import ReindexRequest
from eai.retrieval.schemas import QueryRequest
from tests.factories.retrieval import admitted
from tests.simulation.checker import Checker
from tests.simulation.outside import ONE, OTHER
from tests.simulation.processes import Process
from tests.simulation.templates import Tenant
from tests.simulation.world import submission_of, text_of

Theme = tuple[tuple[Callable[[], "Act"], ...], ...]
Body = Callable[[int, Process], Awaitable[Any]]


@dataclass(frozen=True)
class Act:
    """What one client does; `body` is told its number among the actors and its process."""

    name: str
    body: Body


@dataclass
class Acts:
    """Draws acts on one tenant. Everything is drawn when an act is made, nothing while it runs."""

    rng: Random
    tenant: Tenant
    database: Database
    checker: Checker
    new_id: Callable[[], UUID]
    drawn: int = 0
    focus: DocumentId | None = None

    def draw(self) -> list[Act]:
        """A question, and changes that belong together."""
        theme = self.rng.choice(self._themes())
        self.focus = self.rng.choice(self.tenant.documents) if self.rng.random() < 0.7 else None
        changes = [self.rng.choice(kinds)() for kinds in theme]
        acts = [*changes, self.query(self.rng.choice(("admin", "ann", "ben")))]
        self.rng.shuffle(acts)
        return acts

    def _themes(self) -> list[Theme]:
        writes = (self.ingest, self.replace, self.replace, self.delete, self.set_acl, self.set_acl)
        anything = (*writes, self.reindex, self._ask)
        again = (self.roll_back, self.roll_back, self.cancel, self.drop_retired)
        themes: list[Theme] = [
            ((self.replace,), (self.replace, self.set_acl)),
            ((self.replace,), (self.replace, self.delete)),
            ((self.set_acl, self.replace), (self.set_acl,)),
            ((self.ingest,), writes),
            ((self.delete,), writes),
            ((self.reindex,), writes),
            ((self.reindex,), (self.replace, self.ingest, self.set_acl), writes),
            ((self.reindex,), (self.cancel, self.reindex), writes),
            (anything, anything, anything),
        ]
        if self.tenant.reindex:
            themes = [
                ((self.roll_back,), again),
                ((self.roll_back,), (self.drop_retired,), writes),
                ((self.roll_back,), writes),
                ((self.roll_back, self.drop_retired), (self.reindex,), writes),
                (again, anything, anything),
            ]
        return themes

    def _ask(self) -> Act:
        return self.query(self.rng.choice(("ann", "ben")))

    def query(self, name: str, *, mode: str | None = None) -> Act:
        person = self.tenant.people[name]
        wanted = mode or self.rng.choice(("hybrid", "hybrid", "vector", "keyword"))
        question = "refund claim of customers"
        request = QueryRequest.model_validate({"query": question, "top_k": 50, "mode": wanted})

        async def body(number: int, process: Process) -> Any:
            self.checker.asks(number, person, question)
            try:
                answer = await process.platform.retrieval.query(
                    person.credential, str(self.tenant.base), request, admitted
                )
                self.checker.answered(number, answer.results, misses=bool(answer.warnings))
            finally:
                self.checker.asking.pop(number, None)
            return len(answer.results)

        return Act(f"{name} asks ({wanted})", body)

    def ingest(self) -> Act:
        document, waits = DocumentId(self.new_id()), self.rng.random() < 0.6
        fields = self._rights() if self.rng.random() < 0.4 else {}
        submission = submission_of(document, self._marker(), sentences=self.rng.choice((1, 3)), **fields)

        async def body(_: int, process: Process) -> Any:
            await process.platform.ingestion.ingest(
                self.tenant.admin, str(self.tenant.base), submission, waits=waits
            )

        return Act(f"ingests {document.hex[:4]}{' waiting' if waits else ''}", body)

    def replace(self) -> Act:
        document = self._document()
        given: dict[str, Any] = {"chunk_readers": []}
        if self.rng.random() < 0.5:
            given |= self._rights()
        if self.rng.random() < 0.5:
            given |= {"title": f"title {self.drawn}"}
        text = Text(text_of(self._marker(), self.rng.choice((1, 3))).encode(), "text/plain")
        fields = ReplacementFields.model_validate(given | {"language": "en", "reason": "as drawn"})
        revision = Revision(self.new_id(), fields, text, frozenset({*given, "language", "reason"}))

        async def body(_: int, process: Process) -> Any:
            await process.platform.ingestion.replace(
                self.tenant.admin, str(self.tenant.base), str(document), revision
            )

        return Act(f"replaces {document.hex[-4:]} with {sorted(given)}", body)

    def delete(self) -> Act:
        document = self._document()

        async def body(_: int, process: Process) -> Any:
            await process.platform.deletions.delete(
                self.tenant.admin, str(self.tenant.base), str(document), None
            )

        return Act(f"deletes {document.hex[-4:]}", body)

    def set_acl(self) -> Act:
        document, given = self._document(), self._rights() | {"reason": "as drawn"}
        acl = DocumentAcl.model_validate(given)

        async def body(_: int, process: Process) -> Any:
            async with self.database.transaction(self.tenant.id) as session:
                await process.platform.documents.set_acl(
                    session, self.tenant.admin, str(self.tenant.base), str(document), acl, revision=None
                )

        return Act(f"gives {document.hex[-4:]} {given}", body)

    def reindex(self) -> Act:
        wanted = self.rng.choice(
            [{}, {"embedding_model": OTHER.name}, {"embedding_model": ONE.name}, {"chunk_size": 160}]
        )
        job = JobId(self.new_id())
        request = ReindexRequest.model_validate(wanted)

        async def body(_: int, process: Process) -> Any:
            async with self.database.transaction(self.tenant.id) as session:
                await process.platform.reindexes.request(
                    session, self.tenant.admin, str(self.tenant.base), job, request
                )

        return Act(f"reindexes {wanted}", body)

    def cancel(self) -> Act:
        async def body(_: int, process: Process) -> Any:
            async with self.database.transaction(self.tenant.id) as session:
                await process.platform.reindexes.cancel(
                    session, self.tenant.admin, str(self.tenant.base), await self._newest_reindex(session)
                )

        return Act("cancels the reindex", body)

    def roll_back(self) -> Act:
        job = JobId(self.new_id())

        async def body(_: int, process: Process) -> Any:
            async with self.database.transaction(self.tenant.id) as session:
                await process.platform.reindexes.roll_back(
                    session,
                    self.tenant.admin,
                    str(self.tenant.base),
                    await self._newest_reindex(session),
                    job,
                )

        return Act("rolls the reindex back", body)

    def drop_retired(self) -> Act:
        async def body(_: int, process: Process) -> Any:
            await process.platform.generation_dropping.drop_retired(self.tenant.id)

        return Act("drops what is retired", body)

    async def _newest_reindex(self, session: Any) -> str:
        from eai.kernel.paging import PageRequest  # noqa: PLC0415
        from eai.reindex.repository import ReindexRows  # noqa: PLC0415

        rows = await ReindexRows(session, self.tenant.id).page(self.tenant.base, PageRequest(limit=50))
        return str(rows[-1].id) if rows else str(self.tenant.base)

    def _document(self) -> DocumentId:
        return self.focus or self.rng.choice(self.tenant.documents)

    def _marker(self) -> str:
        self.drawn += 1
        return f"drawn{self.drawn}"

    def _rights(self) -> dict[str, Any]:
        ann, ben = (self.tenant.people[name].reference for name in ("ann", "ben"))
        readers = self.rng.choice([None, [ann], [ben], [ann, ben], []])
        if self.rng.random() < 0.3:
            return {"classification": self.rng.choice([*Classification][1:5]).value}
        return {"readers": readers}
