"""What the two forms of the gateway's API have in common: nothing is answered before it is on record."""

from typing import TYPE_CHECKING

from starlette.requests import Request

from eai.api.event_stream import EventStream, Write
from eai.api.idempotency.service import CLAIM
from eai.api.problems import problem_body
from eai.gateway.calls import ChatCall, Completion, EmbeddingCall, Embeddings, Ranking, RerankCall
from eai.gateway.choice import wanted_dimensions
from eai.gateway.wire import DONE, Pieces, event
from eai.kernel.errors import EaiError, InvalidInput

if TYPE_CHECKING:
    from eai.bootstrap import Platform


async def embedded(services: "Platform", call: EmbeddingCall) -> Embeddings:
    """The vectors, on record. Raises InvalidInput for dimensions that the model does not have."""
    if call.dimensions is not None:
        model = (await services.gateway.facts(call.caller.tenant, call.model)).model
        # What is no embedding model is refused by the gateway itself, with a better reason.
        if model is not None and model.dimensions:
            wanted_dimensions(model, call.dimensions)
    answer = await services.gateway.embed(call)
    await services.audit.flush(answer.evidence)
    return answer


async def ranked(services: "Platform", call: RerankCall) -> Ranking:
    """The order of the documents, on record."""
    answer = await services.gateway.rerank(call)
    await services.audit.flush(answer.evidence)
    return answer


async def completed(services: "Platform", call: ChatCall) -> Completion:
    """The whole answer, on record."""
    answer = await services.gateway.chat(call)
    await services.audit.flush(answer.evidence)
    return answer


def streamed(request: Request, services: "Platform", call: ChatCall, *, tells_usage: bool) -> EventStream:
    """The answer in pieces: none leaves before its intent is on record, and the last says all was recorded.

    Raises InvalidInput under an idempotency key: what was streamed is not kept.
    """
    if CLAIM in request.scope:
        raise InvalidInput.field("Idempotency-Key", "idempotency_key_streamed", "")

    async def produce(write: Write) -> None:
        pieces = Pieces(call.model)
        async with services.gateway.stream_chat(call) as stream:
            async for words in stream:
                await write(pieces.piece(words, stream.warnings))
        await write(pieces.end(stream.finish_reason or "stop"))
        if tells_usage:
            await write(pieces.usage(stream.usage))
        await write(DONE)

    def tell(error: EaiError) -> bytes:
        return event(problem_body(error, request.scope), "error")

    return EventStream(produce, tell)
