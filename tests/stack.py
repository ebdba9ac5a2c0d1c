"""The whole product in one test process: a real database, a real engine process, the API on loopback."""

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
from pydantic import SecretStr

from eai.api.app import create_app
from eai.bootstrap import Models, Platform, build, first_start, job_handlers
from eai.knowledge.ports import Vectors
from eai.platform.jobs import Pace
from eai.platform.settings import (
    AuditSettings,
    DatabaseSettings,
    EgressSettings,
    Environment,
    KeySettings,
    ModelSettings,
    Settings,
)
from eai.platform.worker import Worker
from tests.declared import hold_to_promises
from tests.engine import Engine
from tests.provider.process import ProviderProcess, running_provider
from tests.serving import served

Json = dict[str, Any]


class Caller(httpx2.AsyncClient):
    """A client of the API that holds one key; answers are checked by whoever asks."""

    def __init__(self, base_url: str, key: str | None, **headers: str) -> None:
        credentials = {} if key is None else {"authorization": f"Bearer {key}"}
        super().__init__(
            base_url=base_url,
            headers=credentials | headers,
            trust_env=False,
            # Nothing here speaks TLS, and reading the certificates of all the world takes 30 ms a client.
            verify=False,
            timeout=60,
            follow_redirects=False,
        )
        self.key = key

    async def made(self, path: str, body: Mapping[str, Any], *, status: int = 201) -> Json:
        """What a POST answered, which must be `status`."""
        answer = await self.post(path, json=dict(body))
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    async def got(self, path: str, **parameters: Any) -> Json:
        """What a GET answered, which must be 200."""
        answer = await self.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@dataclass(frozen=True)
class Person:
    """A principal of a tenant, and a client that acts for it."""

    id: str
    reference: str
    api: Caller


class Company:
    """One tenant over HTTP, with its bootstrap administrator."""

    def __init__(self, stack: "Stack", answer: Json) -> None:
        self._stack = stack
        self.id: str = answer["id"]
        self.admin = stack.caller(answer["admin_api_key"])
        self._me: str | None = None

    async def group(self, *members: Person) -> str:
        """The reference of a new group with these members."""
        group = await self.admin.made("/v1/groups", {"name": f"group {uuid4().hex[:8]}"})
        body = {"members": [member.id for member in members]}
        answer = await self.admin.put(f"/v1/groups/{group['id']}/members", json=body)
        assert answer.status_code == 200, answer.text
        return f"group:{group['id']}"

    async def person(
        self,
        *roles: str,
        clearance: str = "internal",
        kind: str = "user",
        key: Mapping[str, Any] | None = None,
        by: Caller | None = None,
    ) -> Person:
        """A principal with a key of its own; `key` narrows it. The administrator makes it, or `by`."""
        maker = by or self.admin
        principal = await maker.made(
            "/v1/principals",
            {"kind": kind, "name": f"{kind} {uuid4().hex[:8]}", "clearance": clearance, "roles": list(roles)},
        )
        made = await maker.made("/v1/api-keys", {"principal_id": principal["id"], **(key or {})})
        reference = f"{kind}:{principal['id']}"
        return Person(principal["id"], reference, self._stack.caller(made["api_key"]))

    async def base(self, *readers: str, **fields: Any) -> str:
        """The id of a new base that `readers` may read and the administrator may read and manage."""
        if self._me is None:
            self._me = f"user:{(await self.admin.got('/v1/me'))['principal']['id']}"
        entries = [{"principal": self._me, "permission": "manage", "effect": "allow"}]
        entries += [{"principal": r, "permission": "read", "effect": "allow"} for r in readers]
        body = {"name": f"base {uuid4().hex[:8]}", "embedding_model": "local-hash-256", "acl": entries}
        return str((await self.admin.made("/v1/knowledge-bases", {**body, **fields}))["id"])

    async def endpoint(self, **fields: Any) -> Json:
        """A new provider endpoint that serves this tenant alone; nobody answers there."""
        body = {
            "name": f"e-{uuid4().hex[:12]}",
            "kind": "openai",
            "url": "https://models.example/v1",
            "region": "eu",
            "retention": "none",
            "classification_ceiling": "secret",
            "tenants": [self.id],
        }
        return await self._stack.operator.made("/v1/provider-endpoints", {**body, **fields})

    async def answering(self, **fields: Any) -> str:
        """The name of a new endpoint of this tenant at the test provider, which answers well unless told."""
        provider = await self._stack.provider()
        return str((await self.endpoint(url=provider.url, **fields))["name"])

    async def connector(self, **fields: Any) -> Json:
        """A new source connector."""
        body = {"name": f"s-{uuid4().hex[:12]}", "kind": "wiki", **fields}
        return await self.admin.made("/v1/source-connectors", body)

    async def switch(self, connector: str, **fields: Any) -> Json:
        """Change a source connector."""
        answer = await self.admin.patch(f"/v1/source-connectors/{connector}", json=fields)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def model(self, endpoint: str, **fields: Any) -> str:
        """The name of a new model on the endpoint of this name."""
        body = {"name": f"m-{uuid4().hex[:12]}", "endpoint": endpoint, "capability": "rerank", **fields}
        return str((await self.admin.made("/v1/models", body))["name"])

    async def document(self, base: str, content: str, **fields: Any) -> str:
        """The id of a new document that is ready to be found."""
        body = {"title": "A document", "content": content, **fields}
        made = await self.admin.made(f"/v1/knowledge-bases/{base}/documents", body)
        assert made["status"] == "ready", made
        return str(made["id"])


@dataclass(frozen=True)
class Stack:
    """The running product."""

    url: str
    platform: Platform
    engine: Engine
    operator: Caller
    callers: AsyncExitStack
    providers: list[ProviderProcess] = field(default_factory=list)

    def caller(self, key: str | None, **headers: str) -> Caller:
        """A client with this key, closed with the stack."""
        made = Caller(self.url, key, **headers)
        self.callers.push_async_callback(made.aclose)
        return made

    async def provider(self) -> ProviderProcess:
        """The one provider of models that can be reached: a process of its own, from when it is needed."""
        if not self.providers:
            self.providers.append(await self.callers.enter_async_context(running_provider()))
        return self.providers[0]

    async def company(self) -> Company:
        """A fresh tenant."""
        slug = f"t{uuid4().hex[:12]}"
        return Company(self, await self.operator.made("/v1/tenants", {"name": "Test", "slug": slug}))


def settings(database_url: str, home: Path, **parts: Any) -> Settings:
    """Settings of a test environment, made directly."""
    return Settings(
        environment=Environment.TEST,
        home=home,
        database=DatabaseSettings(url=SecretStr(database_url)),
        keys=KeySettings(master_key=SecretStr(base64.b64encode(secrets.token_bytes(32)).decode())),
        audit=AuditSettings(anchor_path=home / "anchor.jsonl"),
        models=ModelSettings(rag_embedding_model="local-hash-256"),
        **{"egress": EgressSettings(allow=("127.0.0.1",)), **parts},
    )


@asynccontextmanager
async def running_stack(
    chosen: Settings,
    *,
    models: Models | None = None,
    vectors: Vectors | None = None,
    pace: Pace | None = None,
    is_working: bool = True,
) -> AsyncIterator[Stack]:
    """API and worker over an engine process in the settings' home; `is_working` false: no worker."""
    chosen.engine_socket.parent.mkdir(parents=True, exist_ok=True)
    engine = Engine(chosen.engine_folder, chosen.engine_socket)
    async with (
        _running(engine),
        build(chosen, models=models, vectors=vectors, pace=pace) as platform,
        _serving(platform) as url,
        _working(platform) if is_working else nullcontext(),
        AsyncExitStack() as callers,
    ):
        hold_to_promises(platform.audit)
        keys = await first_start(platform)
        assert keys is not None
        operator = await callers.enter_async_context(Caller(url, keys.operator.text))
        yield Stack(url, platform, engine, operator, callers)


@asynccontextmanager
async def _running(engine: Engine) -> AsyncIterator[None]:
    await engine.start()
    yield
    await engine.stop()


@asynccontextmanager
async def _serving(platform: Platform) -> AsyncIterator[str]:
    async with served(create_app(platform)) as port:
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def _working(platform: Platform) -> AsyncIterator[None]:
    worker = Worker(platform.database, platform.jobs, job_handlers(platform))
    task = asyncio.create_task(worker.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
