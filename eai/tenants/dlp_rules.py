"""What a tenant may say about what is found in its texts. The finding itself is `eai.dlp`'s."""

from enum import StrEnum


class DlpEntity(StrEnum):
    """What texts are searched for."""

    PAYMENT_CARD = "payment_card"
    IBAN = "iban"
    NIR = "nir"
    PRIVATE_KEY = "private_key"
    API_KEY = "api_key"
    EMAIL = "email"


class DlpAction(StrEnum):
    """What follows from an entity that was found, the mildest first."""

    RECORD = "record"
    RAISE = "raise"
    REDACT = "redact"
    BLOCK = "block"
