"""Passages put together for a model."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency.records import Replay, replay
from eai.api.requirement import require
from eai.assembly.schemas import AssembleRequest, ContextContract

router = GovernedRouter(tags=["query"])

Asker = Annotated[Subject, Depends(require(Scope.RAG_QUERY))]


@router.post("/context/assemble")
@replay(Replay.IGNORED)
async def assemble_context(caller: Asker, services: Services, asked: AssembleRequest) -> ContextContract:
    """Put results of questions together as a text for a model, within a budget of characters or tokens.

    Each passage is read anew under the rights of a query: what you may not read by now is left out, like
    what is not there. Passages come in the order you name them; one that does not fit is left out, and a
    shorter one after it may be in. `left_out` says which, and why. Nothing is sent to a model.
    """
    return await services.assembly.assemble(caller, asked)
