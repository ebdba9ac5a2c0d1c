"""Providers' keys at rest: sealed under the master key, each for its own endpoint."""

from uuid import UUID

from eai.platform.keys import Keyring


def key_context(endpoint: UUID) -> str:
    """What a sealed provider key is bound to, so that it opens for no other endpoint."""
    return f"provider:{endpoint}"


class ProviderKeys:
    """Seals keys; whoever makes a call opens them."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def seal(self, endpoint: UUID, key: str | None) -> bytes | None:
        """`key` as the endpoint's row keeps it; nothing for none."""
        return None if key is None else self._keyring.wrap(key.encode(), key_context(endpoint))

    def open(self, endpoint: UUID, sealed: bytes | None) -> str | None:
        """What `seal` was given. Raises SealBroken."""
        return None if sealed is None else self._keyring.unwrap(sealed, key_context(endpoint)).decode()
