"""One file for each kind of entity. What all of them read is normalised."""

from eai.dlp.recognisers.api_key import ApiKeys
from eai.dlp.recognisers.email import Emails
from eai.dlp.recognisers.iban import Ibans
from eai.dlp.recognisers.nir import SocialSecurityNumbers
from eai.dlp.recognisers.payment_card import PaymentCards
from eai.dlp.recognisers.private_key import PrivateKeys, holds_bare_key

__all__ = [
    "ApiKeys", "Emails", "Ibans", "PaymentCards", "PrivateKeys", "SocialSecurityNumbers", "holds_bare_key",
]  # fmt: skip
