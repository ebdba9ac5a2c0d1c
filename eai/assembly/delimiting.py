"""Marks around passages that no author of one could know, so that no passage can end before it ends. Pure."""

from collections.abc import Iterable
from secrets import token_hex

from eai.assembly.schemas import Delimiter

NONCE_BYTES = 16


def fresh_nonce(contents: Iterable[str]) -> str:
    """128 random bits, spelled so that no content holds them."""
    texts = [content.casefold() for content in contents]
    nonce = token_hex(NONCE_BYTES)
    while any(nonce in text for text in texts):
        nonce = token_hex(NONCE_BYTES)
    return nonce


def delimiter(nonce: str, number: int) -> Delimiter:
    """What stands around the passage of this number. Nothing in it was written by an author."""
    return Delimiter(open=f"<passage-{nonce} {number}>\n", close=f"\n</passage-{nonce} {number}>\n")
