"""A tenant's library for tests of the query path: rows in PostgreSQL and points in the index, alike."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import insert, text

from eai.access.acl import Entry, Permission
from eai.access.classification import Classification
from eai.access.rights_class import generation_key, rights_key
from eai.access.scopes import Role
from eai.access.subject import Subject
from eai.audit.service import Audit
from eai.connectors.models import SourceConnector
from eai.dlp.ports import Scanner
from eai.dlp.scanner import PatternScanner
from eai.finops.reservations import Reservations
from eai.gateway.attempts import Attempts
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.controls import Controls
from eai.gateway.dispatch import Dispatch
from eai.gateway.egress import EgressGuard
from eai.gateway.facts_rows import FactsRows
from eai.gateway.ledger import Ledger
from eai.gateway.open_calls import OpenCalls
from eai.gateway.provider_keys import ProviderKeys
from eai.gateway.service import Gateway, RegisteredModel, space_of
from eai.identity.credentials import Credential, Peppers
from eai.identity.models import ApiKey, Group, GroupMember, Principal
from eai.integrations.cedar import CedarEngine
from eai.integrations.local_models import HashEmbedder
from eai.integrations.local_models.hashing import hash_vector
from eai.kernel.ids import BaseId, DocumentId, GenerationId, PointId, TenantId, VersionId, chunk_id, point_id
from eai.knowledge.chunks.rights_classes import rights_class_number
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.models import (
    Chunk,
    DocumentVersion,
    Generation,
    KnowledgeBase,
    KnowledgeBaseEntry,
    KnowledgeDocument,
    LanguageStatistic,
    TermStatistic,
)
from eai.knowledge.ports import Point, Vectors
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey
from eai.platform.outbound import Outbound
from eai.policies.rule_sets import RuleSets
from eai.policies.service import Policies
from eai.retrieval.schemas import QueryRequest
from eai.retrieval.service import QueryAnswer, Retrieval

MASTER = MasterKey(bytes(range(32)))
PEPPERS = Peppers(MASTER)
SPACE = space_of(LOCAL_HASH_256)
MODEL = LOCAL_HASH_256.name
AVERAGE_LENGTH = 10.0
Readers = Collection[str] | None


def local_gateway(database: Database, audit: Audit) -> Gateway:
    """The gateway with the model that needs no weights."""
    models = {MODEL: RegisteredModel(LOCAL_HASH_256, HashEmbedder())}
    return gateway_of(database, audit, models)


def gateway_of(
    database: Database,
    audit: Audit,
    models: Mapping[str, RegisteredModel],
    *,
    default: str | None = MODEL,
    batch_size: int = 64,
    scanner: Scanner | None = None,
) -> Gateway:
    """A gateway as the product composes it, with these models in the process."""
    cedar, outbound = CedarEngine(), Outbound()
    return Gateway(
        models,
        FactsRows(database),
        Controls(
            scanner or PatternScanner(),
            Policies(cedar, RuleSets(database, cedar), None),
            EgressGuard(outbound),
            is_production=False,
        ),
        Ledger(Reservations(database), audit, OpenCalls(100)),
        Dispatch({}, Attempts(), ProviderKeys(Keyring(MASTER, database))),
        default_model=default,
        batch_size=batch_size,
    )


@dataclass(frozen=True, slots=True)
class Asker:
    """A principal with a key."""

    id: UUID
    api_key: UUID
    credential: str
    reference: str


@dataclass(frozen=True, slots=True)
class Shelf:
    """A base."""

    id: BaseId
    generation: GenerationId
    alias: str


@dataclass(frozen=True, slots=True)
class Text:
    """A passage to be stored, with what guards it beyond its document."""

    content: str
    readers: Readers = None
    level: Classification | None = None


@dataclass(frozen=True, slots=True)
class Book:
    """A stored document."""

    id: DocumentId
    version: VersionId
    points: tuple[PointId, ...]
    chunks: tuple[UUID, ...] = field(default=())


def admitted(_subject: Subject) -> None:
    """An entrance that lets everybody in."""


async def ask(
    retrieval: Retrieval, asker: Asker, shelf: Shelf, query: str = "refund for customers", **options: object
) -> QueryAnswer:
    request = QueryRequest.model_validate({"query": query, **options})
    return await retrieval.query(asker.credential, str(shelf.id), request, admitted)


def contents(answer: QueryAnswer) -> list[str]:
    return [result["content"] for result in answer.results]


class Library:
    """Everything a test needs of one tenant."""

    def __init__(self, database: Database, vectors: Vectors, tenant: TenantId) -> None:
        self.database = database
        self.vectors = vectors
        self.tenant = tenant

    async def principal(
        self,
        *,
        clearance: Classification = Classification.INTERNAL,
        roles: Sequence[Role] = (Role.MEMBER,),
        kind: str = "user",
        key_clearance: Classification | None = None,
        scopes: Sequence[str] | None = None,
    ) -> Asker:
        """A principal and its key."""
        who, key, credential = uuid4(), uuid4(), Credential.generate()
        await self._insert(
            Principal, id=who, kind=kind, name=f"{kind} {who}", clearance=clearance.rank, roles=[*roles]
        )
        await self._insert(
            ApiKey,
            id=key,
            principal_id=who,
            key_id=credential.key_id,
            secret_mac=PEPPERS.seal(credential),
            clearance=None if key_clearance is None else key_clearance.rank,
            scopes=scopes,
        )
        return Asker(who, key, credential.text, f"{kind}:{who}")

    async def group(self, *members: Asker) -> str:
        """A group; returns its reference."""
        group = uuid4()
        await self._insert(Group, id=group, name=str(group))
        for member in members:
            await self.join(f"group:{group}", member)
        return f"group:{group}"

    async def join(self, group: str, member: Asker) -> None:
        await self._insert(GroupMember, group_id=UUID(group.partition(":")[2]), principal_id=member.id)

    async def leave(self, group: str, member: Asker) -> None:
        await self.execute(
            "DELETE FROM eai.group_members WHERE group_id = :group AND principal_id = :who",
            group=UUID(group.partition(":")[2]),
            who=member.id,
        )

    async def base(
        self, *entries: Entry, classification: Classification = Classification.INTERNAL, model: str = MODEL
    ) -> Shelf:
        """A base whose access list is `entries`; without any, everybody of the tenant reads it."""
        base, generation = BaseId(uuid4()), GenerationId(uuid4())
        alias = f"kb_{base.hex[:12]}"
        shared = {"embedding_model": model, "dimensions": SPACE.dimensions}
        await self._insert(
            KnowledgeBase,
            id=base,
            alias=alias,
            name=alias,
            classification=classification.rank,
            chunk_size=800,
            chunk_overlap=100,
            vector_generation=generation,
            vector_collection=SPACE.name,
            **shared,
        )
        await self._insert(
            Generation,
            id=generation,
            base_id=base,
            state="serving",
            collection=SPACE.name,
            average_length=AVERAGE_LENGTH,
            **shared,
        )
        for position, entry in enumerate(entries or (Entry("tenant:*", Permission.READ),)):
            await self._insert(
                KnowledgeBaseEntry,
                base_id=base,
                position=position,
                principal=entry.principal,
                permission=entry.permission,
                effect=entry.effect,
            )
        await self.vectors.ensure_space(SPACE)
        return Shelf(base, generation, alias)

    async def document(
        self,
        shelf: Shelf,
        *texts: str | Text,
        readers: Readers = None,
        level: Classification | None = None,
        title: str = "A document",
        connector: str = "direct",
        metadata: Mapping[str, Any] | None = None,
        is_projected: bool = True,
    ) -> Book:
        """A served document of these passages."""
        document = DocumentId(uuid4())
        await self._insert(
            KnowledgeDocument,
            id=document,
            base_id=shelf.id,
            title=title,
            source_uri=f"https://example.com/{document}",
            source_connector=connector,
            classification=None if level is None else level.rank,
            readers=None if readers is None else [*readers],
            metadata_=dict(metadata or {}),
        )
        return await self.version(
            shelf,
            document,
            *texts,
            readers=readers,
            level=level,
            connector=connector,
            is_projected=is_projected,
        )

    async def connector(self, *, is_enabled: bool = True) -> str:
        """The name of a new source connector."""
        name = f"c-{uuid4().hex[:12]}"
        await self._insert(SourceConnector, id=uuid4(), name=name, kind="test", is_enabled=is_enabled)
        return name

    async def switch(self, connector: str, *, is_enabled: bool) -> None:
        """Switch a source connector on or off."""
        await self.execute(
            "UPDATE eai.source_connectors SET is_enabled = :is_enabled WHERE name = :name",
            is_enabled=is_enabled,
            name=connector,
        )

    async def version(
        self,
        shelf: Shelf,
        document: DocumentId,
        *texts: str | Text,
        number: int = 1,
        readers: Readers = None,
        level: Classification | None = None,
        connector: str = "direct",
        is_serving: bool = True,
        is_projected: bool = True,
    ) -> Book:
        """One text of a document, with points written before rows, as ingestion does."""
        version = VersionId(uuid4())
        rows, points = [], []
        start = 0
        numbers: dict[Text, int] = {}
        for ordinal, given in enumerate(texts):
            passage = Text(given) if isinstance(given, str) else given
            guarded = Text("", passage.readers and tuple(passage.readers), passage.level)
            if guarded not in numbers:
                numbers[guarded] = await self._class(shelf, readers, level, passage, connector)
            number_of_class = numbers[guarded]
            row, point = _chunk(
                self.tenant,
                shelf,
                document,
                version,
                ordinal=ordinal,
                start=start,
                passage=passage,
                class_number=number_of_class,
            )
            rows.append(row)
            points.append(point)
            start = row["end_offset"]
        if is_projected:
            await self.vectors.upsert(SPACE, points)
        await self._insert(
            DocumentVersion,
            id=version,
            document_id=document,
            number=number,
            status="ready",
            content_type="text/plain",
            source_hash=bytes(32),
        )
        async with self.database.transaction(self.tenant) as session:
            await session.execute(insert(Chunk), [{"tenant_id": self.tenant, **row} for row in rows])
        if is_serving:
            await self.execute(
                "UPDATE eai.kb_documents SET serving_version_id = :version WHERE id = :id",
                version=version,
                id=document,
            )
        return Book(document, version, tuple(p.id for p in points), tuple(row["chunk_id"] for row in rows))

    async def statistics(self, shelf: Shelf, frequencies: Mapping[str, int], chunks: int) -> None:
        """Term statistics as class 1 of the base has them, in English."""
        await self._insert(
            LanguageStatistic,
            generation=shelf.generation,
            language="en",
            class_number=1,
            chunks=chunks,
            tokens=10 * chunks,
        )
        for term, frequency in frequencies.items():
            await self._insert(
                TermStatistic,
                generation=shelf.generation,
                term=term,
                class_number=1,
                document_frequency=frequency,
            )

    async def execute(self, statement: str, **parameters: Any) -> None:
        """A change of this tenant's rows that the product would make."""
        async with self.database.transaction(self.tenant) as session:
            await session.execute(text(statement), parameters)

    async def _class(
        self, shelf: Shelf, readers: Readers, level: Classification | None, passage: Text, connector: str
    ) -> int:
        async with self.database.transaction(self.tenant) as session:
            return await rights_class_number(
                session,
                self.tenant,
                shelf.id,
                readers=readers,
                chunk_readers=passage.readers,
                classification=level,
                chunk_classification=passage.level,
                connector=connector,
            )

    async def _insert(self, model: type[Any], **values: Any) -> None:
        async with self.database.transaction(self.tenant) as session:
            await session.execute(insert(model).values(tenant_id=self.tenant, **values))


def _chunk(
    tenant: TenantId,
    shelf: Shelf,
    document: DocumentId,
    version: VersionId,
    *,
    ordinal: int,
    start: int,
    passage: Text,
    class_number: int,
) -> tuple[dict[str, Any], Point]:
    end = start + len(passage.content)
    chunk = chunk_id(document, version, start, end)
    terms = analyse_document(passage.content, Language.ENGLISH)
    vector = hash_vector(passage.content)
    point = Point(
        id=point_id(chunk, shelf.generation),
        dense=vector,
        sparse=document_weights(terms, AVERAGE_LENGTH),
        rights_key=rights_key(tenant, shelf.generation, class_number),
        generation_key=generation_key(tenant, shelf.generation),
        document=document,
        version=version,
    )
    row = {
        "id": point.id,
        "chunk_id": chunk,
        "base_id": shelf.id,
        "generation": shelf.generation,
        "document_id": document,
        "version_id": version,
        "ordinal": ordinal,
        "start_offset": start,
        "end_offset": end,
        "content": passage.content,
        "readers": None if passage.readers is None else [*passage.readers],
        "classification": None if passage.level is None else passage.level.rank,
        "class_number": class_number,
        "language": "en",
        "token_count": sum(terms.values()),
        "dimensions": len(vector),
        "embedding": np.asarray(vector, "<f4").tobytes(),
    }
    return row, point
