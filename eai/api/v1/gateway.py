"""Calls of models: whatever is asked passes every control first, and is measured after."""

from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency.records import Replay, replay
from eai.api.intake import JSON, accepts
from eai.api.model_calls import completed, embedded, ranked, streamed
from eai.api.requirement import require
from eai.gateway import wire
from eai.gateway.answer_schemas import CompletionOut, EmbeddingsOut, RankingOut
from eai.gateway.schemas import MAX_BODY_BYTES, ChatRequest, EmbeddingRequest, RerankRequest

router = GovernedRouter(tags=["gateway"])

Invoker = Annotated[Subject, Depends(require(Scope.GATEWAY_INVOKE))]
STREAMS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
}


@router.post("/gateway/embeddings", response_model=EmbeddingsOut)
@replay(Replay.ONCE)
@accepts(JSON, max_bytes=MAX_BODY_BYTES)
async def create_embeddings(caller: Invoker, services: Services, asked: EmbeddingRequest) -> Response:
    """Embed texts with a registered model.

    403 `clearance_exceeded` for a `classification` above your own clearance. Each control that refuses has a
    code of its own; the model's provider has then received nothing.
    """
    answer = await embedded(services, asked.call(caller))
    return Response(wire.embeddings(asked.model, answer), media_type=JSON)


@router.post("/gateway/rerank", response_model=RankingOut)
@replay(Replay.ONCE)
@accepts(JSON, max_bytes=MAX_BODY_BYTES)
async def rerank_documents(caller: Invoker, services: Services, asked: RerankRequest) -> Response:
    """Put documents in the order in which they answer a query. Refusals are those of embeddings."""
    answer = await ranked(services, asked.call(caller))
    documents = asked.documents if asked.return_documents else None
    return Response(wire.ranking(asked.model, answer, asked.top_n, documents), media_type=JSON)


@router.post("/gateway/chat/completions", response_model=CompletionOut, responses=STREAMS)
@replay(Replay.ONCE)
@accepts(JSON, max_bytes=MAX_BODY_BYTES)
async def create_chat_completion(
    caller: Invoker, services: Services, request: Request, asked: ChatRequest
) -> Response:
    """Continue a conversation. Refusals are those of embeddings.

    With `stream` the answer comes as server-sent events, each a piece of it; the last but one tells what it
    took, and `[DONE]` says that all is on record. What fails after the first piece is an event `error` with
    the problem document as its data. The model stops when you close the connection, and what it said until
    then is charged. A stream takes no `Idempotency-Key`; 429 `rate_limited` when your tenant has too many
    open.
    """
    call = asked.call(caller)
    if asked.stream:
        return streamed(request, services, call, tells_usage=True)
    return Response(wire.completion(asked.model, await completed(services, call)), media_type=JSON)
