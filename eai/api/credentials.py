"""The one credential of a request. Cookies are never credentials."""

from starlette.types import Scope

from eai.api.errors import AmbiguousCredentials
from eai.kernel.errors import Unauthenticated

_LONGEST = 512
_SCHEME = "bearer "
_VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))


def presented_credential(scope: Scope) -> str:
    """The key in `Authorization: Bearer` or in `X-API-Key`.

    Raises Unauthenticated when there is none or it could not be one, AmbiguousCredentials when there
    are two, even if they are equal.
    """
    values = [value for name, value in scope["headers"] if name in {b"authorization", b"x-api-key"}]
    if not values:
        raise Unauthenticated
    if len(values) > 1:
        raise AmbiguousCredentials
    is_bearer = any(name == b"authorization" for name, _ in scope["headers"])
    text = values[0].decode("latin-1").strip() if len(values[0]) <= _LONGEST else ""
    if is_bearer:
        text = text[len(_SCHEME) :].strip() if text[: len(_SCHEME)].lower() == _SCHEME else ""
    if not text or not _VISIBLE.issuperset(text):
        raise Unauthenticated
    return text
