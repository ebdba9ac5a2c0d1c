"""Contracts and verdicts as clients read them."""

from eai.platform.i18n import Language
from eai.tenants.schemas import Schema


class ContractOut(Schema):
    """A form that is promised. `id` is what its schema calls itself."""

    name: str
    id: str
    title: str
    description: str


class ContractFault(Schema):
    """What does not fit.

    `path` is a JSON Pointer (RFC 6901) into the value, empty for the value itself; beyond 1,000 characters it
    is cut. `code` is one of those under which the operations refuse fields.
    """

    path: str
    code: str
    message_i18n: dict[Language, str]


class VerdictOut(Schema):
    """Whether a value has the form of a contract; at most 100 errors are told.

    `errors_truncated`: there are more. Whether ids and names refer to anything, whether fields go together,
    and whether you may, is known to the operations alone.
    """

    valid: bool
    errors: list[ContractFault]
    errors_truncated: bool
