"""What every place of cached entries promises."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from eai.cache.ports import CacheStore, CacheUnavailable
from eai.integrations.cache import MemoryStore, connect
from eai.integrations.cache.redis import AWAY_FOR_S, RedisStore
from eai.platform.settings import CacheSettings

NAME, OTHER = b"n" * 32, b"o" * 32
ANY_BYTES = bytes(range(256))


class CacheStoreContract:
    """Every implementation of the port inherits these."""

    @pytest.fixture
    def store(self) -> CacheStore:
        raise NotImplementedError

    async def test_what_was_never_put_is_not_there(self, store: CacheStore) -> None:
        assert await store.get(NAME) is None

    async def test_what_was_put_is_got_byte_for_byte(self, store: CacheStore) -> None:
        await store.put(NAME, ANY_BYTES, 60)
        assert await store.get(NAME) == ANY_BYTES
        assert await store.get(OTHER) is None

    async def test_a_name_may_be_any_bytes(self, store: CacheStore) -> None:
        await store.put(ANY_BYTES, b"value", 60)
        assert await store.get(ANY_BYTES) == b"value"

    async def test_what_is_put_again_is_replaced(self, store: CacheStore) -> None:
        await store.put(NAME, b"old", 60)
        await store.put(NAME, b"new", 60)
        assert await store.get(NAME) == b"new"

    async def test_what_was_dropped_is_gone_and_dropping_it_again_is_harmless(
        self, store: CacheStore
    ) -> None:
        await store.put(NAME, b"value", 60)
        await store.put(OTHER, b"value", 60)
        await store.drop(NAME)
        await store.drop(NAME)
        assert await store.get(NAME) is None
        assert await store.get(OTHER) == b"value"

    async def test_what_is_over_is_forgotten(self, store: CacheStore) -> None:
        await store.put(NAME, b"value", 1)
        async with asyncio.timeout(5):
            while await store.get(NAME) is not None:
                pass

    async def test_many_at_once_do_not_mix(self, store: CacheStore) -> None:
        names = [number.to_bytes(32) for number in range(50)]
        await asyncio.gather(*(store.put(name, name, 60) for name in names))
        assert await asyncio.gather(*map(store.get, names)) == names

    async def test_it_says_that_it_answers(self, store: CacheStore) -> None:
        await store.check()


class TestMemoryStore(CacheStoreContract):
    @pytest.fixture
    def store(self) -> CacheStore:  # type: ignore[override]
        return connect(CacheSettings())

    async def test_the_oldest_go_when_it_is_full(self) -> None:
        store = MemoryStore(3_000)
        names = [number.to_bytes(32) for number in range(10)]
        for name in names:
            await store.put(name, bytes(768), 60)  # a thousand bytes with name and entry
        assert [name for name in names if await store.get(name)] == names[-3:]

    async def test_what_alone_is_too_large_is_not_kept(self) -> None:
        store = MemoryStore(1_000)
        await store.put(NAME, bytes(1_000), 60)
        assert await store.get(NAME) is None

    async def test_what_is_over_takes_no_room_even_if_nobody_asks_for_it(self) -> None:
        now = 0.0
        store = MemoryStore(10**9, clock=lambda: now)
        for number in range(100):
            await store.put(number.to_bytes(32), bytes(1_000), 900)
        now = 900.0
        await store.put(NAME, b"value", 900)
        assert (store._bytes, len(store._entries)) == (237, 1)


class Redis:
    """A real server of its own, on a socket."""

    def __init__(self, home: Path) -> None:
        self.socket = home / "redis.sock"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    async def start(self, *options: str) -> None:
        """Return when it answers."""
        self._process = await asyncio.create_subprocess_exec(
            *("redis-server", "--port", "0", "--unixsocket", str(self.socket)),
            *("--save", "", "--appendonly", "no", *options),
            stdout=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(20):
            while True:
                store = RedisStore(self.url)
                try:
                    await store.check()
                except CacheUnavailable:
                    await asyncio.sleep(0.02)
                else:
                    return
                finally:
                    await store.close()

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[Redis]:
    server = Redis(tmp_path)
    await server.start()
    yield server
    await server.stop()


@pytest.mark.needs("redis")
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="there is no redis-server")
class TestRedisStore(CacheStoreContract):
    @pytest.fixture
    async def store(self, redis: Redis) -> AsyncIterator[CacheStore]:  # type: ignore[override]
        store = RedisStore(redis.url, answers_within_s=10)
        yield store
        await store.close()

    async def test_it_is_chosen_where_a_url_is_named(self, redis: Redis) -> None:
        chosen = connect(CacheSettings(redis_url=SecretStr(redis.url)))
        assert isinstance(chosen, RedisStore)
        await chosen.close()

    async def test_two_processes_share_what_is_in_it(self, store: CacheStore, redis: Redis) -> None:
        other = RedisStore(redis.url)
        await store.put(NAME, b"value", 60)
        assert await other.get(NAME) == b"value"
        await other.close()

    async def test_a_server_that_was_started_anew_is_found_again(
        self, store: CacheStore, redis: Redis
    ) -> None:
        await store.put(NAME, b"value", 60)
        await redis.stop()
        await redis.start()
        assert await store.get(NAME) is None
        await store.put(NAME, b"value", 60)
        assert await store.get(NAME) == b"value"

    async def test_one_that_is_full_refuses_and_goes_on_answering(self, tmp_path: Path) -> None:
        full = Redis(tmp_path / "full")
        (tmp_path / "full").mkdir()
        await full.start("--maxmemory", "1", "--maxmemory-policy", "noeviction")
        store = RedisStore(full.url)
        with pytest.raises(CacheUnavailable):
            await store.put(NAME, b"value", 60)
        assert await store.get(NAME) is None
        await store.close()
        await full.stop()

    async def test_one_that_hangs_costs_a_moment_once(self, redis: Redis) -> None:
        now = 0.0
        store = RedisStore(redis.url, clock=lambda: now)
        await store.put(NAME, b"value", 60)
        redis.signal(signal.SIGSTOP)
        try:
            async with asyncio.timeout(2):
                with pytest.raises(CacheUnavailable):
                    await store.get(NAME)
            async with asyncio.timeout(0.05):
                with pytest.raises(CacheUnavailable):
                    await store.get(NAME)
        finally:
            redis.signal(signal.SIGCONT)
        now = AWAY_FOR_S
        assert await store.get(NAME) == b"value"
        await store.close()


async def test_without_a_server_redis_is_unavailable(tmp_path: Path) -> None:
    store = RedisStore(f"unix://{tmp_path}/nobody.sock")
    for ask in (store.get(NAME), store.put(NAME, b"value", 60), store.drop(NAME), store.check()):
        with pytest.raises(CacheUnavailable):
            await ask
    await store.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "answer",
    [
        b"$abc\r\n",
        b"*x\r\n",
        b"$-5\r\n",
        b":5\r\n",
        b"*1\r\n:1\r\n",
        b"#t\r\n",
        b",1.5\r\n",
        b"HTTP/1.1 400\r\n\r\n",
    ],
)
async def test_what_answers_as_no_redis_does_holds_nothing(tmp_path: Path, answer: bytes) -> None:
    """Attack list, fault 37: a cache that is not what it should be is a miss, and never an error."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client says several things at once, and each has one answer.
        while said := await reader.read(65_536):
            writer.write(answer * max(1, said.count(b"*")))
        writer.close()

    path = tmp_path / "odd.sock"
    server = await asyncio.start_unix_server(talk, path)
    # One that has failed is left alone for a while: whoever writes has not asked before.
    reading, writing = RedisStore(f"unix://{path}"), RedisStore(f"unix://{path}")
    try:
        with suppress(CacheUnavailable):
            assert await reading.get(NAME) is None
        with suppress(CacheUnavailable):
            await writing.put(NAME, b"value", 60)
    finally:
        await reading.close()
        await writing.close()
        server.close()
