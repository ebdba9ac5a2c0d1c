import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from uuid import UUID

import orjson
import pytest
from haystack_integrations.document_stores.qdrant.converters import convert_id

from eai.integrations.qdrant import connect
from eai.integrations.qdrant.client import EngineVectors
from eai.integrations.qdrant.server import QdrantVectors
from eai.knowledge.ports import SearchFilter, SearchRequest, Selector, SpaceId, VectorStoreUnavailable
from tests.factories.vectors import DOCUMENT_1, EAST, GENERATION, MINE, identity, point, sparse

SPACE = SpaceId("space_a", 3)
SEARCH = SearchRequest(SearchFilter(MINE, (f"{MINE}:1",)), 10, dense=EAST, sparse=sparse({7: 1.0}))

Answer = Callable[[str, str], tuple[int, object]]


class Server:
    """An HTTP server on loopback that answers as `answer` says and remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, object]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := (await reader.readline()).decode():
            method, target, _ = line.split()
            length = 0
            while (header := (await reader.readline()).decode().strip()) != "":
                name, _, value = header.partition(":")
                length = int(value) if name.lower() == "content-length" else length
            body = await reader.readexactly(length)
            self.asked.append((method, target, orjson.loads(body) if body else None))
            status, result = self.answer(method, target)
            content = orjson.dumps({"result": result, "status": "ok", "time": 0.0})
            head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
            writer.write(f"{head}\r\n\r\n".encode() + content)
        writer.close()


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Server]:
    server = Server(answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    yield server
    listening.close()


async def every_call(vectors: QdrantVectors) -> list[object]:
    calls = (
        vectors.ensure_space(SPACE),
        vectors.upsert(SPACE, [point(1)]),
        vectors.search(SPACE, SEARCH),
        vectors.set_rights(SPACE, GENERATION, f"{MINE}:2"),
        vectors.set_sparse(SPACE, {identity(1): sparse({1: 1.0})}),
        vectors.delete(SPACE, GENERATION),
        vectors.count(SPACE, GENERATION),
        vectors.owner(),
        vectors.take("one"),
        vectors.check(),
    )
    return [type(outcome) for outcome in await asyncio.gather(*calls, return_exceptions=True)]


def completed(_: str, target: str) -> tuple[int, object]:
    if target.endswith("/exists"):
        return 200, {"exists": True}
    if target.endswith("/points"):
        return 200, [{"id": str(UUID(convert_id(str(identity(1)))))}]
    return 200, {"operation_id": 1, "status": "completed"}


async def test_a_server_that_refuses_connections_is_an_outage() -> None:
    vectors = QdrantVectors("http://127.0.0.1:9")
    assert await every_call(vectors) == [VectorStoreUnavailable] * 10
    await vectors.close()


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_every_error_of_the_server_is_an_outage(status: int) -> None:
    async with serving(lambda *_: (status, None)) as server:
        vectors = QdrantVectors(server.url)
        assert await every_call(vectors) == [VectorStoreUnavailable] * 10
        await vectors.close()


async def test_an_answer_that_makes_no_sense_is_an_outage() -> None:
    async with serving(lambda *_: (200, "surprise")) as server:
        vectors = QdrantVectors(server.url)
        assert await every_call(vectors) == [VectorStoreUnavailable] * 10
        await vectors.close()


async def test_a_server_that_never_answers_is_an_outage_at_the_deadline() -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            pass
        writer.close()

    listening = await asyncio.start_server(swallow, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    vectors = QdrantVectors(f"http://127.0.0.1:{port}", deadline_s=0.2)
    started = monotonic()
    assert await every_call(vectors) == [VectorStoreUnavailable] * 10
    assert monotonic() - started < 2
    await vectors.close()
    listening.close()


async def test_every_write_waits_until_it_is_applied() -> None:
    async with serving(completed) as server:
        vectors = QdrantVectors(server.url)
        await vectors.upsert(SPACE, [point(1)])
        await vectors.set_rights(SPACE, Selector(MINE, document=DOCUMENT_1), f"{MINE}:2")
        await vectors.set_sparse(SPACE, {identity(1): sparse({1: 1.0}), identity(2): sparse({1: 1.0})})
        await vectors.delete(SPACE, GENERATION)
        await vectors.close()
        writes = [(method, target) for method, target, _ in server.asked if "?" in target]
        assert writes == [
            ("PUT", "/collections/space_a/points?wait=true"),
            ("POST", "/collections/space_a/points/payload?wait=true"),
            ("PUT", "/collections/space_a/points/vectors?wait=true"),
            ("POST", "/collections/space_a/points/delete?wait=true"),
        ]


async def test_both_legs_go_in_one_call_under_one_single_field_filter() -> None:
    async with serving(lambda *_: (200, [{"points": []}, {"points": []}])) as server:
        vectors = QdrantVectors(server.url)
        await vectors.search(SPACE, SEARCH)
        await vectors.close()
        ((method, target, body),) = server.asked
        assert (method, target) == ("POST", "/collections/space_a/points/query/batch")
        assert isinstance(body, dict)
        assert [search["using"] for search in body["searches"]] == ["text-dense", "text-sparse"]
        for search in body["searches"]:
            assert search["filter"] == {"must": [{"key": "meta.k", "match": {"any": [f"{MINE}:1"]}}]}


def test_a_url_chooses_the_server_and_its_absence_the_engine(tmp_path) -> None:
    assert isinstance(connect("https://qdrant.example", "key", tmp_path / "s"), QdrantVectors)
    assert isinstance(connect(None, None, tmp_path / "s"), EngineVectors)
