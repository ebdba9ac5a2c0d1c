"""Lists by age, a page at a time: the oldest first, ids break ties."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Select, tuple_

from eai.kernel.errors import BadRequest
from eai.kernel.paging import PageRequest
from eai.platform.schema import TenantRow

Statement = TypeVar("Statement", bound=Select[*tuple[Any, ...]])


def part(statement: Statement, model: type[TenantRow], request: PageRequest) -> Statement:
    """`statement` cut to the page that `request` wants, and one row more to tell whether more follow."""
    if request.after is not None:
        statement = statement.where(tuple_(model.created_at, model.id) > tuple_(*_key(request.after)))
    return statement.order_by(model.created_at, model.id).limit(request.limit + 1)


def next_key(found: Sequence[TenantRow], request: PageRequest) -> tuple[str, ...] | None:
    """The sort key of the page's last row when more rows were found than fit."""
    if len(found) <= request.limit:
        return None
    last = found[request.limit - 1]
    return (last.created_at.isoformat(), str(last.id))


def _key(after: tuple[str, ...]) -> tuple[datetime, UUID]:
    try:
        instant, row = after
        return datetime.fromisoformat(instant), UUID(row)
    except ValueError as error:
        raise BadRequest from error
