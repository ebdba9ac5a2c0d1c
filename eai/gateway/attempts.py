"""One attempt at a provider, and when there is another (under construction by its owner)."""


class ProviderFailure(Exception):
    """An attempt that failed. `retry_after_s` is the provider's own wish, where it had one."""

    def __init__(self, *, is_retryable: bool, status: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(status)
        self.is_retryable = is_retryable
        self.status = status
        self.retry_after_s = retry_after_s
