"""The same calls in OpenAI's own form: its official clients work with this base URL and an API key."""

from typing import Annotated

from fastapi import Depends
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import Request
from starlette.responses import Response

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services, Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency.records import Replay, replay
from eai.api.intake import JSON, accepts
from eai.api.model_calls import completed, embedded, streamed
from eai.api.openai_errors import ERROR_RESPONSE
from eai.api.requirement import require
from eai.api.v1.gateway import STREAMS
from eai.gateway import wire
from eai.gateway.answer_schemas import CompletionOut, EmbeddingsOut, ListedModelOut, ModelListOut
from eai.gateway.openai_schemas import OpenAIChatRequest, OpenAIEmbeddingRequest
from eai.gateway.registry_schemas import ModelOut
from eai.gateway.schemas import MAX_BODY_BYTES
from eai.kernel.paging import MAX_PAGE_SIZE, PageRequest

router = GovernedRouter(prefix="/v1/openai", tags=["openai"], responses={"default": ERROR_RESPONSE})

Invoker = Annotated[Subject, Depends(require(Scope.GATEWAY_INVOKE))]


@router.post("/embeddings", response_model=EmbeddingsOut)
@replay(Replay.ONCE)
@accepts(JSON, max_bytes=MAX_BODY_BYTES)
async def create_openai_embeddings(
    caller: Invoker, services: Services, asked: OpenAIEmbeddingRequest
) -> Response:
    """Embed texts. `classification`, `labels` and `role` are this gateway's own fields; `user` is ignored.

    Texts come as text: token numbers are refused, because nothing could be found in them.
    """
    answer = await embedded(services, asked.call(caller))
    body = wire.embeddings(asked.model, answer, is_base64=asked.encoding_format == "base64")
    return Response(body, media_type=JSON)


@router.post("/chat/completions", response_model=CompletionOut, responses=STREAMS)
@replay(Replay.ONCE)
@accepts(JSON, max_bytes=MAX_BODY_BYTES)
async def create_openai_chat_completion(
    caller: Invoker, services: Services, request: Request, asked: OpenAIChatRequest
) -> Response:
    """Continue a conversation, whole or with `stream` in pieces. `user` is ignored.

    `classification` and `labels` are this gateway's own fields. Parameters of OpenAI that are not listed here
    would change the answer, and are refused rather than ignored.
    """
    call = asked.call(caller)
    if asked.stream:
        return streamed(request, services, call, tells_usage=asked.tells_usage)
    return Response(wire.completion(asked.model, await completed(services, call)), media_type=JSON)


@router.get("/models")
async def list_openai_models(caller: Invoker, services: Services, session: Transaction) -> ModelListOut:
    """Every model that can be called, by name."""
    found = await _registered(services, session, caller)
    return ModelListOut(data=[_listed(model) for model in found if model.enabled])


@router.get("/models/{name}")
async def get_openai_model(
    caller: Invoker, services: Services, session: Transaction, name: str
) -> ListedModelOut:
    """One model."""
    return _listed(await services.model_registry.get(session, caller, name))


async def _registered(services: Services, session: AsyncSession, caller: Subject) -> list[ModelOut]:
    """All of them: this form of a list has no pages."""
    found: list[ModelOut] = []
    after: tuple[str, ...] | None = None
    while True:
        page = await services.model_registry.page(session, caller, PageRequest(MAX_PAGE_SIZE, after))
        found += page.items
        if page.next_key is None:
            return found
        after = page.next_key


def _listed(model: ModelOut) -> ListedModelOut:
    """Shipped models have no date."""
    created = 0 if model.created_at is None else int(model.created_at.timestamp())
    return ListedModelOut(id=model.name, created=created, owned_by=model.provider)
