"""Knowledge bases and their access lists."""

from typing import Annotated

from fastapi import Depends, Query
from starlette.responses import Response

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.kernel.ids import BaseId
from eai.knowledge.bases.schemas import AccessOut, BaseOut, BasePatch, EntriesIn, EntriesOut, NewBase
from eai.knowledge.documents.schemas import ReceiptOut

router = GovernedRouter(tags=["knowledge bases"])

Reader = Annotated[Subject, Depends(require(Scope.KB_READ))]
Creator = Annotated[Subject, Depends(require(Scope.KB_WRITE))]
Manager = Annotated[Subject, Depends(require(Scope.KB_WRITE, base=Permission.MANAGE))]


@router.post("/knowledge-bases", status_code=201)
async def create_knowledge_base(
    caller: Creator, services: Services, session: Transaction, new_id: NewId, tags: ETag, new: NewBase
) -> BaseOut:
    """Make a knowledge base. Without `acl`, its creator alone manages and reads it.

    The embedding model is fixed until a reindex. 403 `classification_exceeded` when the model may not
    see the base's level, 409 `name_taken` when a base that you see has the same alias.
    """
    made = await services.bases.create(session, caller, BaseId(new_id), new)
    return tags.show(made, made.revision)


@router.get("/knowledge-bases")
async def list_knowledge_bases(
    caller: Reader, services: Services, session: Transaction, page: PageQuery
) -> Listing[BaseOut]:
    """The knowledge bases that you see, oldest first."""
    return page.answer(await services.bases.page(session, caller, page.request))


@router.get("/knowledge-bases/{base}")
async def get_knowledge_base(
    caller: Reader, services: Services, session: Transaction, tags: ETag, base: str
) -> BaseOut:
    """One knowledge base, by its id or alias. Its counts are null unless you manage it."""
    found = await services.bases.get(session, caller, base)
    return tags.show(found, found.revision)


@router.patch("/knowledge-bases/{base}")
async def update_knowledge_base(
    caller: Manager, services: Services, session: Transaction, tags: ETag, base: str, patch: BasePatch
) -> BaseOut:
    """Change name, description or level. The alias stays; lowering the level wants a `reason`."""
    changed = await services.bases.update(session, caller, base, patch, tags.expected)
    return tags.show(changed, changed.revision)


@router.delete("/knowledge-bases/{base}", status_code=202)
async def delete_knowledge_base(
    caller: Manager, services: Services, session: Transaction, response: Response, tags: ETag, base: str
) -> ReceiptOut:
    """Delete a knowledge base with all its documents: out of sight at once, purged by a worker.

    The receipt says when nothing is left.
    """
    receipt = await services.base_deletions.begin(session, caller, base, tags.expected)
    response.headers["location"] = f"/v1/deletion-receipts/{receipt.id}"
    response.headers["retry-after"] = "1"
    return receipt


@router.get("/knowledge-bases/{base}/acl")
async def get_knowledge_base_acl(
    caller: Reader, services: Services, session: Transaction, tags: ETag, base: str
) -> EntriesOut:
    """The access list, for those who manage the base."""
    entries = await services.access_lists.get(session, caller, base)
    return tags.show(entries, entries.revision)


@router.put("/knowledge-bases/{base}/acl")
async def set_knowledge_base_acl(
    caller: Manager, services: Services, session: Transaction, tags: ETag, base: str, acl: EntriesIn
) -> EntriesOut:
    """Replace the access list whole; it binds for the next query.

    409 `would_lock_out` when nobody could manage the base afterwards.
    """
    entries = [entry.entry() for entry in acl.entries]
    replaced = await services.access_lists.replace(session, caller, base, entries, tags.expected)
    return tags.show(replaced, replaced.revision)


@router.get("/knowledge-bases/{base}/access")
async def explain_knowledge_base_access(
    caller: Reader,
    services: Services,
    session: Transaction,
    base: str,
    principal: Annotated[
        str, Query(max_length=100, description="`user:<id>`, `group:<id>`, `tenant:*` or a bare id.")
    ],
) -> AccessOut:
    """What somebody may do with a base that you manage, and the entry that decides it."""
    return await services.access_lists.explain(session, caller, base, principal)
