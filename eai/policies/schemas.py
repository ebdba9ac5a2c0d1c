"""Policies as clients write and read them."""

import re
from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from eai.tenants.schemas import Schema

LONGEST_TEXT = 16_384
"""Characters of one policy's text."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
PolicyName = Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$")]


class PolicyText(Schema):
    """What a policy says, in Cedar: one statement or several."""

    cedar: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT)]


class PolicyOut(Schema):
    """A policy in force. `version` counts changes of all the tenant's policies: this text is that one."""

    name: str
    cedar: str
    version: str
    created_at: datetime
    updated_at: datetime
    revision: int = Field(exclude=True)
