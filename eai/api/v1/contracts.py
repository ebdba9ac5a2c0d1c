"""The forms that are promised, and whether something has one."""

import asyncio
from typing import Annotated, Any

from fastapi import Body, Depends

from eai.access.subject import Subject
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency.records import Replay, replay
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import authenticated
from eai.contracts.catalogue import CONTRACTS
from eai.contracts.schemas import ContractOut, VerdictOut
from eai.contracts.validation import judge, schema_of
from eai.kernel.paging import Page

router = GovernedRouter(tags=["contracts"])

Anybody = Annotated[Subject, Depends(authenticated())]


@router.get("/contracts")
async def list_contracts(caller: Anybody, page: PageQuery) -> Listing[ContractOut]:
    """The forms that are promised within `/v1`, by name."""
    del caller
    after = page.request.after[0] if page.request.after else ""
    found = [
        ContractOut(name=each.name, id=each.id, title=each.title, description=each.description)
        for each in CONTRACTS
        if each.name > after
    ]
    part = found[: page.request.limit]
    return page.answer(Page(part, (part[-1].name,) if len(found) > len(part) else None))


@router.get("/contracts/{contract}")
async def get_contract(caller: Anybody, contract: str) -> dict[str, Any]:
    """One form as JSON Schema 2020-12, as it stands in `contracts/v1`; it refers to nothing outside."""
    del caller
    return dict(schema_of(contract))


@router.post("/contracts/{contract}/validate")
@replay(Replay.IGNORED)
async def validate_contract(
    caller: Anybody, contract: str, value: Annotated[Any, Body(description="Any JSON value but null.")]
) -> VerdictOut:
    """Whether a value has the form of a contract, and if not, where and why.

    Nothing is stored, made or looked up: a valid form may still be refused for what it names. 400
    `malformed_json` for what is nested more than 64 deep.
    """
    del caller
    return await asyncio.to_thread(judge, contract, value)
