"""How fast passages are embedded in batches through the gateway, beside the same model without it.

What ingestion does between splitting and writing: all controls, the reservation, the call, its evidence on
disk. The same batches go to the same model, in one process, in turns.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np

from benchmarks.loopback_provider import DIMENSIONS, MODEL, Loopback
from benchmarks.product import Product
from benchmarks.prose import Prose
from benchmarks.rounds import note, turns
from eai.access.classification import Classification
from eai.audit.entries import Actor
from eai.bootstrap import Platform, build
from eai.gateway.calls import Caller, EmbeddingCall, Operation
from eai.gateway.catalogue import LOCAL_USE_512
from eai.gateway.ports import EmbeddingRole, Target
from eai.gateway.registry import Capability, Endpoint, EndpointKind, Model, Retention
from eai.gateway.service import RegisteredModel
from eai.identity.schemas import Me
from eai.integrations.local_models import SentenceEmbedder
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.kernel.ids import PrincipalId, TenantId
from eai.platform.outbound import Outbound

BATCHES = 2
"""Of one document: the evidence of the first is on disk before the second is sent."""
RAW, THROUGH = "raw", "gateway"

Embed = Callable[[Sequence[str]], Awaitable[object]]


@dataclass
class Side:
    """Passages per second, and milliseconds of this process for a batch, by round."""

    per_second: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)


Sides = dict[str, Side]


@dataclass(frozen=True)
class Source:
    """A model to measure with: its name in the product, the way to it without the gateway, the work."""

    name: str
    raw: Embed
    documents: int
    sides: Sides = field(default_factory=lambda: {RAW: Side(), THROUGH: Side()})


async def measured(
    product: Product,
    providers: Mapping[str, Loopback],
    *,
    documents: int,
    local_documents: int,
    clients: int,
    rounds: int,
) -> dict[str, Sides]:
    """Both sides, by model. `providers` are the registered models' own, by their names."""
    local = SentenceEmbedder()
    here = {LOCAL_USE_512.name: RegisteredModel(LOCAL_USE_512, local)} if local.is_available() else {}
    async with AsyncExitStack() as stack:
        platform = await stack.enter_async_context(build(product.settings, models=here))
        outbound = Outbound(product.settings.egress.allow)
        stack.push_async_callback(outbound.close)
        ways = OpenAiCompatible(outbound)
        sources = [Source(name, _raw_provider(ways, at.url), documents) for name, at in providers.items()]
        if here and local_documents:
            sources.append(Source(LOCAL_USE_512.name, _raw_local(local), local_documents))
        caller = await _caller(product)
        for source in sources:
            await _one_source(source, _governed(platform, caller, source.name), platform, clients, rounds)
    return {source.name: source.sides for source in sources}


async def _one_source(source: Source, through: Embed, platform: Platform, clients: int, rounds: int) -> None:
    prose, size = Prose(), platform.settings.models.embeddings_batch_size
    ways: dict[str, Embed] = {RAW: _in_batches(source.raw, size), THROUGH: through}
    for embed in ways.values():
        await embed(prose.passages(size))
    for number, order in turns(list(ways), rounds):
        documents = [prose.passages(BATCHES * size) for _ in range(source.documents)]
        for name in order:
            await _one_side(source.sides[name], ways[name], documents, clients)
        rates = ", ".join(f"{name} {side.per_second[-1]:.0f}/s" for name, side in source.sides.items())
        note(f"batches with {source.name}, round {number + 1}: {rates}")


async def _one_side(side: Side, embed: Embed, documents: Sequence[Sequence[str]], clients: int) -> None:
    coming = iter(documents)

    async def client() -> None:
        for passages in coming:
            await embed(passages)

    start, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(client() for _ in range(clients)))
    side.per_second.append(sum(map(len, documents)) / (time.perf_counter() - start))
    side.cpu_ms.append(1000 * (time.process_time() - used) / (BATCHES * len(documents)))


def _in_batches(embed: Embed, size: int) -> Embed:
    async def every(passages: Sequence[str]) -> None:
        for start in range(0, len(passages), size):
            await embed(passages[start : start + size])

    return every


def _governed(platform: Platform, caller: Caller, model: str) -> Embed:
    """As `ingestion.components.EmbedPassages` calls it."""

    async def embed(passages: Sequence[str]) -> None:
        call = EmbeddingCall(
            caller=caller,
            model=model,
            inputs=passages,
            role=EmbeddingRole.DOCUMENT,
            operation=Operation.INGEST,
            level=Classification.INTERNAL,
        )
        answer = await platform.gateway.embed(call)
        await platform.audit.flush(answer.evidence)

    return embed


def _raw_local(embedder: SentenceEmbedder) -> Embed:
    async def embed(passages: Sequence[str]) -> object:
        return await embedder.embed(passages, EmbeddingRole.DOCUMENT)

    return embed


def _raw_provider(ways: OpenAiCompatible, url: str) -> Embed:
    """The gateway's own client, and nothing of the gateway."""
    bounds = {"classification_ceiling": Classification.SECRET, "region": "eu", "retention": Retention(0)}
    endpoint = Endpoint(uuid4(), MODEL, EndpointKind.OPENAI, url, **bounds)
    model = Model(
        name=MODEL,
        capability=Capability.EMBEDDINGS,
        provider=MODEL,
        provider_model=MODEL,
        endpoint=endpoint,
        dimensions=(DIMENSIONS,),
        **bounds,
    )
    target = Target(model, endpoint, None, 60.0)

    async def embed(passages: Sequence[str]) -> object:
        answer = await ways.embed(target, passages, EmbeddingRole.DOCUMENT, None)
        # What is to be written to a store, as a local model gives it.
        return np.asarray([vector for _, vector in answer.items], dtype=np.float32)

    return embed


async def _caller(product: Product) -> Caller:
    async with product.client(product.admin_key) as admin:
        me = Me.model_validate((await admin.get("/v1/me")).json())
    actor = Actor(str(me.principal.kind), PrincipalId(me.principal.id))
    return Caller(TenantId(me.tenant.id), actor, roles=tuple(me.principal.roles), clearance=me.clearance)
