"""The one tree of errors that users may see.

EaiError
├── BadRequest             400
├── Unauthenticated        401
├── Forbidden              403
├── NotFound               404
├── Conflict               409
├── PreconditionFailed     412
├── InvalidInput           422
├── RateLimited            429
├── BadGateway             502
└── Unavailable            503

A slice subclasses the branch whose status fits and gives its own `code`. The words live in the
message catalogues of `eai.platform.i18n`, keyed by code; an error carries only the values that a
catalogue message names in braces, and these values are also the `details` of the answer.
"""

from typing import ClassVar

Detail = str | int | float | bool | list[str] | list[dict[str, str]] | None


class EaiError(Exception):
    """An outcome that the caller is told about: a stable code, a status, and typed details."""

    code: ClassVar[str]
    status: ClassVar[int]
    retryable: ClassVar[bool] = False
    noted: ClassVar[tuple[str, ...]] = ()
    """Details that the audit of a refusal keeps: names of things and enumerations."""

    def __init__(self, *, retry_after_s: int | None = None, **details: Detail) -> None:
        super().__init__(self.code)
        self.details = details
        self.retry_after_s = retry_after_s


class BadRequest(EaiError):
    """The request cannot be read at all."""

    code, status = "bad_request", 400


class Unauthenticated(EaiError):
    """No credential, or one that opens nothing. Never says which."""

    code, status = "unauthenticated", 401


class Forbidden(EaiError):
    """The caller is known and may not do this."""

    code, status = "forbidden", 403


class NotFound(EaiError):
    """The object does not exist, or not for this caller; the two are never told apart."""

    code, status = "not_found", 404


class Conflict(EaiError):
    """The request contradicts the present state."""

    code, status = "conflict", 409


class PreconditionFailed(EaiError):
    """`If-Match` named a version that is no longer the current one."""

    code, status = "precondition_failed", 412


class InvalidInput(EaiError):
    """Input refused whole. `fields` lists `{path, code, message}` for each fault found."""

    code, status = "invalid_input", 422

    def __init__(self, *fields: dict[str, str]) -> None:
        super().__init__(fields=list(fields))

    @classmethod
    def field(cls, path: str, code: str, message: str) -> "InvalidInput":
        """One fault at one place, `path` in dotted form (`acl.0.principal`)."""
        return cls({"path": path, "code": code, "message": message})


class RateLimited(EaiError):
    """Too many requests for now; `retry_after_s` says when to come back."""

    code, status, retryable = "rate_limited", 429, True


class BadGateway(EaiError):
    """A system behind the platform answered something that cannot be used."""

    code, status = "bad_gateway", 502


class Unavailable(EaiError):
    """A part the request needs does not answer; nothing was half done."""

    code, status, retryable = "unavailable", 503, True

    def __init__(self, *, retry_after_s: int | None = 5, **details: Detail) -> None:
        super().__init__(retry_after_s=retry_after_s, **details)
