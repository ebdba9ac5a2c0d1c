"""A provider in OpenAI's form that costs next to nothing, so that what stands before it is what is measured.

Its vectors are made once and are the same for every text. `--wait-ms` answers later, as a model would. Asked
by GET it says how much has reached it.
"""

import argparse
import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx2
import numpy as np
import orjson
import uvloop

from benchmarks.product import Product, free_port, made, running_python, until_answered

DIMENSIONS = 1024
MODEL = "loopback"
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass(frozen=True)
class Taken:
    """What has reached a provider: calls, and the tokens it counts in them, which are words."""

    calls: int
    tokens: int


@dataclass(frozen=True)
class Loopback:
    """The running process."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        """What an OpenAI client calls its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def taken(self) -> Taken:
        """What has reached it until now."""
        async with httpx2.AsyncClient(trust_env=False) as client:
            return Taken(**(await client.get(self.url)).json())


@asynccontextmanager
async def running_loopback(home: Path, *, wait_ms: float = 0.0) -> AsyncIterator[Loopback]:
    """The provider in a process of its own, until the block ends."""
    port = free_port()
    call = ("-m", "benchmarks.loopback_provider", "--port", str(port), "--wait-ms", str(wait_ms))
    async with running_python(home / f"provider-{port}.log", {}, *call) as (pid, _):
        await until_answered(f"http://127.0.0.1:{port}/")
        yield Loopback(port, pid)


async def registered(product: Product, name: str, provider: Loopback) -> None:
    """Approve the provider, and register its model under the same name."""
    endpoint = {"name": name, "kind": "openai", "url": provider.url, "region": "eu"}
    bounds = {"retention": "none", "classification_ceiling": "secret"}
    model = {"name": name, "endpoint": name, "provider_model": MODEL, "dimensions": [DIMENSIONS]}
    async with product.client(product.operator_key) as operator, product.client(product.admin_key) as admin:
        await made(operator, "/v1/provider-endpoints", endpoint | bounds)
        await made(admin, "/v1/models", {"capability": "embeddings", **model})


class _Vectors:
    """Answers by the number of texts; all but the heading is written once."""

    def __init__(self) -> None:
        drawn = np.random.default_rng(7).standard_normal(DIMENSIONS)
        vector = (drawn / np.linalg.norm(drawn)).astype(np.float32)
        numbers = orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY)
        packed = orjson.dumps(base64.b64encode(vector.tobytes()).decode())
        self._vectors = {"float": numbers, "base64": packed}
        self._lists: dict[tuple[int, str], bytes] = {}
        self._calls = self._tokens = 0

    def taken(self) -> bytes:
        return orjson.dumps(Taken(self._calls, self._tokens))

    def answer(self, request: dict[str, Any]) -> bytes:
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        tokens = sum(len(text.split()) for text in texts)
        self._calls += 1
        self._tokens += tokens
        rest = {"model": request["model"], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
        vectors = self._list(len(texts), request.get("encoding_format", "float"))
        return b'{"object":"list","data":[%b],%b' % (vectors, orjson.dumps(rest)[1:])

    def _list(self, count: int, form: str) -> bytes:
        if (count, form) not in self._lists:
            self._lists[count, form] = b",".join(
                b'{"object":"embedding","index":%d,"embedding":%b}' % (index, self._vectors[form])
                for index in range(count)
            )
        return self._lists[count, form]


class _Connection(asyncio.Protocol):
    """One request after the other."""

    def __init__(self, vectors: _Vectors, wait_s: float) -> None:
        self._vectors = vectors
        self._wait_s = wait_s
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(_END)
        if end < 0:
            return
        whole = end + len(_END) + _length(bytes(self._received[:end]).lower())
        if len(self._received) < whole:
            return
        body = bytes(self._received[end + len(_END) : whole])
        del self._received[:whole]
        answer = self._vectors.answer(orjson.loads(body)) if body else self._vectors.taken()
        if body and self._wait_s:
            asyncio.get_running_loop().call_later(self._wait_s, self._write, answer)
        else:
            self._write(answer)

    def _write(self, body: bytes) -> None:
        assert self._transport is not None
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        self._transport.write(head + body)


def _length(head: bytes) -> int:
    at = head.find(_LENGTH)
    return 0 if at < 0 else int(head[at + len(_LENGTH) :].split(b"\r", 1)[0])


async def _serve(port: int, wait_s: float) -> None:
    vectors = _Vectors()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(vectors, wait_s), "127.0.0.1", port)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--wait-ms", type=float, default=0.0)
    arguments = parser.parse_args()
    uvloop.run(_serve(arguments.port, arguments.wait_ms / 1000))


if __name__ == "__main__":
    main()
