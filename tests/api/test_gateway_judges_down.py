"""Fault 35: who judges a call is down, slow or broken. Then it is refused, and no byte leaves."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from eai.platform.settings import PolicySettings
from tests.conftest import DatabaseUrls, fresh_database
from tests.provider.process import ProviderProcess
from tests.stack import Company, Stack, running_stack, settings

ALLOWED = b'HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\n{"result":{"allow":true}}'
BUSY = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n"
HALF = b'HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\n{"result":'
WORDS = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nmaybe"
NOTHING = b""


@dataclass
class Opa:
    """An engine beside the product that answers `says` to whatever it is asked; nothing: it hangs."""

    says: bytes = ALLOWED
    port: int = 0
    clients: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.add(writer)
        while await reader.read(65_536):
            writer.write(self.says)
            if self.says in {BUSY, HALF}:
                break
        writer.close()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Answer until the block ends; afterwards connections are refused."""
        server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        yield
        server.close()
        for client in self.clients:
            client.transport.abort()


@dataclass(frozen=True)
class Scene:
    """A base whose passages and order come from models of the test provider."""

    company: Company
    provider: ProviderProcess
    embedder: str
    reranker: str
    base: str

    @classmethod
    async def of(cls, stack: Stack, company: Company) -> "Scene":
        endpoint = await company.answering()
        embedder = await company.model(endpoint, capability="embeddings", dimensions=[8])
        base = await company.base(embedding_model=embedder)
        await company.document(base, "Refunds take five days.")
        reranker = await company.model(endpoint, capability="rerank")
        made = cls(company, await stack.provider(), embedder, reranker, base)
        await made.provider.forget()
        return made

    async def outcomes(self) -> list[str]:
        """What calls come to: a client's, a document's, a question's, and one for another order."""
        path = f"/v1/knowledge-bases/{self.base}"
        ask = {"query": "refunds", "mode": "vector"}
        order = {"query": "refunds", "mode": "keyword", "rerank": True, "rerank_model": self.reranker}
        answers = [
            await self.company.admin.post(way, json=body)
            for way, body in (
                ("/v1/gateway/embeddings", {"model": self.embedder, "input": "refunds"}),
                (f"{path}/documents", {"title": "A text", "content": "Parcels take a week."}),
                (f"{path}/query", ask),
                (f"{path}/query", order),
            )
        ]
        codes = [answer.json()["error"]["code"] if answer.is_error else "done" for answer in answers[:3]]
        return [*codes, *answers[3].json()["warnings"], *(str(answer.status_code) for answer in answers)]

    async def titles(self) -> list[str]:
        listed = await self.company.admin.got(f"/v1/knowledge-bases/{self.base}/documents")
        return [document["title"] for document in listed["data"]]


DONE = ["done", "done", "done", "200", "201", "200", "200"]


def refused(code: str, status: int, warning: str) -> list[str]:
    return [code, code, code, warning, *[str(status)] * 3, "200"]


class Broken:
    """A recogniser that meets what nobody foresaw."""

    entity = "broken"

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


async def test_a_text_that_cannot_be_searched_is_sent_to_nobody(
    stack: Stack, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = await Scene.of(stack, company)
    recognisers: Sequence[Broken] = (Broken(),)
    with monkeypatch.context() as patched:
        # One scanner searches what goes to models, and documents before they are stored.
        patched.setattr(stack.platform.scans._scanner, "_recognisers", recognisers)
        assert await scene.outcomes() == refused("dlp_unavailable", 503, "reranker_unavailable")
    assert await scene.provider.received() == (0, 0)
    assert await scene.titles() == ["A document"]
    assert await scene.outcomes() == DONE


@pytest.fixture(scope="module")
def own_urls() -> Iterator[DatabaseUrls]:
    with fresh_database() as urls:
        yield urls


@pytest.fixture
async def judged(
    own_urls: DatabaseUrls, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Stack, Opa]]:
    """A product that asks an engine beside it before each call."""
    opa = Opa()
    async with opa.listening():
        pass
    policies = PolicySettings(opa_url=f"http://127.0.0.1:{opa.port}")
    chosen = settings(own_urls.app, tmp_path_factory.mktemp("judged"), policies=policies)
    async with running_stack(chosen, is_working=False) as running:
        yield running, opa


async def test_without_the_policy_engines_word_nothing_is_sent(judged: tuple[Stack, Opa]) -> None:
    stack, opa = judged
    async with opa.listening():
        scene = await Scene.of(stack, await stack.company())
        away = refused("policy_unavailable", 503, "reranker_unavailable")
        failed = refused("policy_error", 403, "rerank_refused")
        for says, expected in ((BUSY, away), (NOTHING, away), (HALF, away), (WORDS, failed)):
            opa.says = says
            assert await scene.outcomes() == expected, says
        opa.says = ALLOWED
    assert await scene.outcomes() == away
    assert await scene.provider.received() == (0, 0)
    assert await scene.titles() == ["A document"]
    async with opa.listening():
        assert await scene.outcomes() == DONE
