"""The parts of a platform that HTTP touches, in memory: for tests of the plumbing alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import httpx2
from fastapi import APIRouter, FastAPI

from eai.access.classification import Classification
from eai.access.scopes import Scope
from eai.access.subject import PrincipalKind, Subject
from eai.api.app import create_app
from eai.audit.entries import AuditEntry, Evidence
from eai.kernel.errors import Unauthenticated
from eai.kernel.ids import PLATFORM_TENANT, ApiKeyId, PrincipalId, TenantId
from eai.platform.database import Database, DatabaseUnavailable
from eai.platform.keys import Keyring, MasterKey
from eai.platform.settings import HttpSettings, Settings


def subject(*scopes: Scope, tenant: TenantId | None = None) -> Subject:
    """A user with these scopes."""
    return Subject(
        tenant=tenant or TenantId(uuid4()),
        principal=PrincipalId(uuid4()),
        kind=PrincipalKind.USER,
        name="somebody",
        roles=(),
        groups=frozenset(),
        scopes=frozenset(scopes),
        clearance=Classification.INTERNAL,
        api_key=ApiKeyId(uuid4()),
    )


def operator() -> Subject:
    """A platform operator."""
    return subject(Scope.PLATFORM_ADMIN, tenant=PLATFORM_TENANT)


@dataclass
class Keys:
    """Who presents which key."""

    known: dict[str, Subject] = field(default_factory=dict)
    asked: int = 0

    async def authenticate(self, credential: str) -> Subject:
        self.asked += 1
        if credential not in self.known:
            raise Unauthenticated
        return self.known[credential]

    def key_of(self, who: Subject) -> str:
        key = f"eai_{uuid4().hex[:16]}_{uuid4().hex * 2}"
        self.known[key] = who
        return key


@dataclass
class Ledger:
    """What was flushed."""

    entries: list[AuditEntry] = field(default_factory=list)

    async def flush(self, evidence: Evidence) -> None:
        self.entries.extend(evidence.entries)


@dataclass
class Transactions:
    """How each transaction ended: `committed`, `rolled back`, or unavailable when told so."""

    ended: list[str] = field(default_factory=list)
    fails_at_commit: bool = False
    working: dict[str, int] = field(default_factory=dict)

    @asynccontextmanager
    async def transaction(self, tenant: TenantId) -> AsyncIterator[str]:
        try:
            yield f"session of {tenant}"
        except BaseException:
            self.ended.append("rolled back")
            raise
        if self.fails_at_commit:
            raise DatabaseUnavailable
        self.ended.append("committed")

    async def check(self) -> None:
        if self.fails_at_commit:
            raise DatabaseUnavailable

    async def statement(self, query: str, parameters: object, **_: object) -> list[tuple[str, int]]:
        """How many processes take which jobs: nothing else is asked here in one statement."""
        await self.check()
        return list(self.working.items())


@dataclass
class Failures:
    """Why credentials were refused."""

    reasons: list[str] = field(default_factory=list)
    reported: int = 0

    def count(self, reason: str) -> None:
        self.reasons.append(reason)

    async def report(self) -> None:
        self.reported += 1


@dataclass
class Limits:
    """Each tenant's own limit."""

    per_minute: int | None = None

    async def get(self, session: object, who: Subject) -> SimpleNamespace:
        return SimpleNamespace(rate_limits=SimpleNamespace(requests_per_minute=self.per_minute))


class Plumbing:
    """An application over these parts with the routes of one test."""

    def __init__(
        self,
        *routers: APIRouter,
        http: HttpSettings | None = None,
        database: Database | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        self.keys = Keys()
        self.audit = Ledger()
        self.database = Transactions()
        self.limits = Limits()
        self.vectors = Transactions()
        self.failures = Failures()
        parts = SimpleNamespace(
            settings=Settings(environment="test", home=Path("home"), http=http or HttpSettings()),
            identity=self.keys,
            audit=self.audit,
            database=database or self.database,
            tenant_settings=self.limits,
            vectors=self.vectors,
            failures=self.failures,
            keyring=keyring or SimpleNamespace(master=MasterKey(b"m" * 32)),
        )
        self.app: FastAPI = create_app(parts, routers)  # type: ignore[arg-type]

    def client(self, who: Subject | None = None, *, address: str = "192.0.2.7") -> httpx2.AsyncClient:
        """A client that presents a key of `who`, or none."""
        headers = {"authorization": f"Bearer {self.keys.key_of(who)}"} if who else {}
        transport = httpx2.ASGITransport(app=self.app, client=(address, 4711), raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)
