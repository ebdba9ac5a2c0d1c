"""Whether the very next question honours that a right ended: of a key, in a base, through a group."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx2
import psycopg

from benchmarks.library import Library
from benchmarks.load import connected, raw_request
from benchmarks.prober import Landmark, query_requests
from benchmarks.product import Json, Product, made, put
from benchmarks.prose import Prose
from benchmarks.rounds import note

_OK, _DENIED = b"200", {b"200", b"401", b"404"}
Bodied = tuple[str, str, Json | None]
"""Method, path and body."""


@dataclass
class Revocation:
    """Milliseconds of each change, and how often the question after it was answered as before."""

    name: str
    took: list[float] = field(default_factory=list)
    stale: int = 0


@dataclass(frozen=True)
class Person:
    """Somebody who is given a right and loses it, over and over, and the document that it is about.

    It is read by one group alone.
    """

    principal: str
    key: str
    landmark: Landmark
    group: str
    others: list[Json]
    """The access list of the base without this person."""


class Trials:
    """What every trial needs."""

    def __init__(self, product: Product, base: str, admin: httpx2.AsyncClient, person: Person) -> None:
        self._product = product
        self._base = base
        self._admin = admin
        self._person = person

    async def connect(self) -> None:
        self._asker, self._changer = await connected(self._product.port), await connected(self._product.port)

    def close(self) -> None:
        for connection in (self._asker, self._changer):
            connection.close()

    async def of(
        self, name: str, give: Callable[[], Awaitable[tuple[str, Bodied]]], times: int
    ) -> Revocation:
        """`give` gives the right, and tells the key to ask with and what takes the right away."""
        revocation = Revocation(name)
        for _ in range(times):
            key, change = await give()
            (question,) = query_requests(self._base, key, [self._person.landmark.question])
            if not await self._shows(question):
                raise RuntimeError(f"{name}: the document is not shown to somebody who may see it")
            revocation.took.append(await self._changed(change))
            revocation.stale += await self._shows(question)
        note(f"{name}: {revocation.stale} of {times} stale")
        return revocation

    async def key(self) -> tuple[str, Bodied]:
        await self._join()
        made_key = await made(self._admin, "/v1/api-keys", {"principal_id": self._person.principal})
        return made_key["api_key"], ("DELETE", f"/v1/api-keys/{made_key['id']}", None)

    async def entry(self) -> tuple[str, Bodied]:
        await self._join()
        path = f"/v1/knowledge-bases/{self._base}/acl"
        entry = {"principal": f"user:{self._person.principal}", "permission": "read"}
        await put(self._admin, path, {"entries": [*self._person.others, entry]})
        return self._person.key, ("PUT", path, {"entries": self._person.others})

    async def membership(self) -> tuple[str, Bodied]:
        await self._join()
        return self._person.key, ("PUT", f"/v1/groups/{self._person.group}/members", {"members": []})

    async def _join(self) -> None:
        await put(
            self._admin, f"/v1/groups/{self._person.group}/members", {"members": [self._person.principal]}
        )

    async def _changed(self, change: Bodied) -> float:
        method, path, body = change
        headers = {"Authorization": f"Bearer {self._product.admin_key}"}
        seconds, answer = await self._changer.ask(raw_request(method, path, headers, body).encode())
        if not answer[9:10] == b"2":
            raise RuntimeError(f"{method} {path} was answered with {answer.decode()}")
        return 1000 * seconds

    async def _shows(self, question: str) -> bool:
        _, answer = await self._asker.ask(question.encode())
        if answer[9:12] not in _DENIED:
            raise RuntimeError(f"a question was answered with {answer.decode()}")
        return answer[9:12] == _OK and self._person.landmark.document.encode() in answer


async def revocations(product: Product, library: Library, asking: str, times: int) -> list[Revocation]:
    """So many trials of each kind. `asking` is the key of somebody who asks all the while."""
    async with product.client(product.admin_key) as admin:
        trials = Trials(product, str(library.base), admin, await _person(product, library, admin, asking))
        await trials.connect()
        found = [
            await trials.of("API key revoked", trials.key, times),
            await trials.of("membership of a group ended", trials.membership, times),
            await trials.of("entry of the base's access list removed", trials.entry, times),
        ]
        trials.close()
        await put(admin, f"/v1/knowledge-bases/{library.base}/acl", {"entries": _EVERYBODY})
        return found


async def _person(product: Product, library: Library, admin: httpx2.AsyncClient, asking: str) -> Person:
    async with product.client(asking) as client:
        other = (await client.get("/v1/me")).json()["principal"]["id"]
    body = {"kind": "user", "name": "Comes and goes", "clearance": "confidential", "roles": ["member"]}
    principal = (await made(admin, "/v1/principals", body))["id"]
    key = (await made(admin, "/v1/api-keys", {"principal_id": principal}))["api_key"]
    # Of a group that nobody is in.
    numbers = sorted({number for reader in library.readers.values() for number in reader.classes})
    async with await psycopg.AsyncConnection.connect(product.postgres.admin_url) as connection:
        rows = await connection.execute(_HIDDEN, {"base": library.base, "seen": numbers})
        row = await rows.fetchone()
    if row is None:
        raise RuntimeError("every document is seen by somebody")
    content, document, readers = row
    landmark = Landmark(Prose().question(content), str(document))
    others = [{"principal": f"user:{other}", "permission": "read"}]
    return Person(principal, key, landmark, readers[0].removeprefix("group:"), others)


_EVERYBODY = [{"principal": "tenant:*", "permission": "read"}]
_HIDDEN = """
    SELECT c.content, c.document_id, d.readers FROM eai.kb_chunks c
      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
     WHERE c.base_id = %(base)s AND d.readers IS NOT NULL AND NOT c.class_number = ANY(%(seen)s)
     ORDER BY c.id LIMIT 1"""
