"""API keys as text: how they look, how they are made, and what is stored instead of them.

A key reads `eai_<id>_<secret>`, both parts lower-case hexadecimal: no letter has two forms and the
separators are the only underscores. What is stored is a MAC under a pepper that never enters the
database, over id and secret together, so that a MAC copied to another row opens nothing.
"""

import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from eai.kernel.errors import Unauthenticated
from eai.platform.keys import MasterKey

KEY_ID_BYTES = 8
SECRET_BYTES = 32
_FORM = re.compile(rf"eai_([0-9a-f]{{{2 * KEY_ID_BYTES}}})_([0-9a-f]{{{2 * SECRET_BYTES}}})")
_LENGTH = len("eai__") + 2 * (KEY_ID_BYTES + SECRET_BYTES)


@dataclass(frozen=True, slots=True)
class Credential:
    """The two parts of an API key. Only `text` gives the secret away; printing the value does not."""

    key_id: str
    secret: str = field(repr=False)

    @classmethod
    def generate(cls) -> "Credential":
        """A new key of 64 random bits of id and 256 of secret, drawn independently."""
        return cls(secrets.token_hex(KEY_ID_BYTES), secrets.token_hex(SECRET_BYTES))

    @classmethod
    def renew(cls, key_id: str) -> "Credential":
        """A new secret under an id that stays."""
        return cls(key_id, secrets.token_hex(SECRET_BYTES))

    @classmethod
    def parse(cls, text: str) -> "Credential":
        """The parts of `text`. Raises Unauthenticated unless it has the exact form of a key."""
        match = _FORM.fullmatch(text) if len(text) == _LENGTH else None
        if match is None:
            raise Unauthenticated
        return cls(*match.groups())

    @property
    def text(self) -> str:
        """The key as its holder sends it."""
        return f"eai_{self.key_id}_{self.secret}"


class Peppers:
    """Turns credentials into what is stored. The newest pepper seals; every one still opens."""

    def __init__(self, master: MasterKey, *, versions: Sequence[int] = (1,)) -> None:
        self._peppers = [master.derive(f"pepper.{version}") for version in sorted(versions, reverse=True)]

    def seal(self, credential: Credential) -> bytes:
        """The MAC to store for `credential`."""
        return _mac(self._peppers[0], credential)

    def candidates(self, credential: Credential) -> list[bytes]:
        """Every MAC under which `credential` may be stored, the newest pepper's first."""
        return [_mac(pepper, credential) for pepper in self._peppers]


def _mac(pepper: bytes, credential: Credential) -> bytes:
    return hmac.digest(pepper, f"{credential.key_id}.{credential.secret}".encode(), sha256)
