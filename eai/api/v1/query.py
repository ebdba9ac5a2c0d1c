"""Questions to a knowledge base."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services
from eai.api.governed_route import GovernedRouter
from eai.api.intake import JSON
from eai.api.requirement import remember_subject, require
from eai.retrieval.schemas import QueryAnswerOut, QueryRequest

router = GovernedRouter(tags=["query"])

_ASKING = require(Scope.RAG_QUERY, deferred=True)


@router.post("/knowledge-bases/{base}/query", response_model=QueryAnswerOut)
async def query_knowledge_base(
    base: str,
    question: QueryRequest,
    request: Request,
    credential: Annotated[str, Depends(_ASKING)],
    services: Services,
) -> Response:
    """Find the passages of a base that answer a question, among those that you may read.

    Results come best first, each with its scores and with the document version, the source and the
    place in the text that it is from. `warnings` tells what an answer lacks: `partial_results`, when
    your filter left fewer passages than you asked for and there may be more further down;
    `reranker_not_configured`, when you asked for reranking and the order is that of retrieval.
    """

    def admit(subject: Subject) -> None:
        remember_subject(request, subject)
        _ASKING.check(subject)

    answer = await services.retrieval.query(credential, base, question, admit)
    return Response(answer.body, media_type=JSON)
