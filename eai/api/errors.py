"""Outcomes that only HTTP knows: how a request was sent, not what it asked for."""

from collections.abc import Iterable, Sequence

from eai.kernel.errors import BadRequest, Conflict, EaiError, Forbidden, Unavailable


class AmbiguousCredentials(BadRequest):
    """More than one credential was presented; guessing which one counts would be a hole."""

    code = "ambiguous_credentials"


class MalformedJson(BadRequest):
    """The body is not JSON, or JSON that two readers could understand differently.

    `reason`: syntax, encoding, duplicate_key, not_a_number, number_out_of_range, too_deep, too_many_values.
    """

    code = "malformed_json"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class TenantRequired(Forbidden):
    """A platform operator called an operation on a tenant's content."""

    code = "tenant_required"


class MethodNotAllowed(EaiError):
    """The path exists, the method does not; `Allow` lists those that do."""

    code, status = "method_not_allowed", 405

    def __init__(self, methods: Iterable[str]) -> None:
        super().__init__(allowed=sorted(methods))


class LengthRequired(EaiError):
    """The body comes in chunks of undeclared total length."""

    code, status = "length_required", 411


class PayloadTooLarge(EaiError):
    """The body is larger than the operation accepts."""

    code, status = "payload_too_large", 413

    def __init__(self, *, limit_bytes: int) -> None:
        super().__init__(limit_bytes=limit_bytes)


class UnsupportedMediaType(EaiError):
    """The body's content type is not one that the operation reads."""

    code, status = "unsupported_media_type", 415

    def __init__(self, accepted: Sequence[str]) -> None:
        super().__init__(accepted=list(accepted))


class ContentEncodingUnsupported(EaiError):
    """The body is compressed; its real size would be known only after the cost of unpacking it."""

    code, status = "content_encoding_unsupported", 415


class HostNotAllowed(EaiError):
    """The `Host` header names no host that this server answers for."""

    code, status = "host_not_allowed", 421


class Overloaded(Unavailable):
    """As many are served as can be; the request was not looked at, or came to nothing."""

    code = "overloaded"


class StorageFull(EaiError):
    """The disk that the request needs for a moment has no room; nothing of it was kept."""

    code, status, retryable = "storage_full", 507, True

    def __init__(self) -> None:
        super().__init__(retry_after_s=60)


class IdempotencyKeyReused(EaiError):
    """The key belongs to another request of the same caller and operation."""

    code, status = "idempotency_key_reused", 422


class IdempotencyInProgress(Conflict):
    """The first request with this key has not ended yet."""

    code, retryable = "idempotency_in_progress", True


class IdempotencyAnswerErased(Conflict):
    """The request was done; its answer held a secret or a model's words, and is no longer kept."""

    code = "idempotency_answer_erased"


class InternalError(EaiError):
    """Something that nobody foresaw; the request id leads to it in the logs."""

    code, status, retryable = "internal_error", 500, True
