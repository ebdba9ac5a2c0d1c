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
    PHONE = "phone"
    SIREN = "siren"
    SIRET = "siret"
    VAT = "vat"
    PASSPORT = "passport"
    IDENTITY_CARD = "identity_card"


class DlpAction(StrEnum):
    """What follows from an entity that was found, the mildest first."""

    RECORD = "record"
    RAISE = "raise"
    REDACT = "redact"
    QUARANTINE = "quarantine"
    BLOCK = "block"
