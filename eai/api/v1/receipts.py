"""Receipts of deletions."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.requirement import require
from eai.knowledge.documents.schemas import ReceiptOut
from eai.knowledge.receipts.service import get_receipt

router = GovernedRouter(tags=["documents"])

Reader = Annotated[Subject, Depends(require(Scope.KB_READ, Scope.AUDIT_READ, any_of=True))]


@router.get("/deletion-receipts/{receipt}")
async def get_deletion_receipt(caller: Reader, session: Transaction, receipt: str) -> ReceiptOut:
    """What became of a deleted document or knowledge base, by its id."""
    return await get_receipt(session, caller, receipt)
