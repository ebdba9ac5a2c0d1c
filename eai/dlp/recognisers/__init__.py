"""One file for each kind of entity, or for kinds found alike. What all of them read is normalised."""

from eai.dlp.recognisers.api_key import ApiKeys
from eai.dlp.recognisers.company import CompanyNumbers, EstablishmentNumbers
from eai.dlp.recognisers.email import Emails
from eai.dlp.recognisers.iban import Ibans
from eai.dlp.recognisers.identity_document import IdentityCards, Passports
from eai.dlp.recognisers.nir import SocialSecurityNumbers
from eai.dlp.recognisers.payment_card import PaymentCards
from eai.dlp.recognisers.phone import PhoneNumbers
from eai.dlp.recognisers.private_key import PrivateKeys, holds_bare_key, with_following_lines
from eai.dlp.recognisers.vat import VatNumbers

__all__ = [
    "ApiKeys", "CompanyNumbers", "Emails", "EstablishmentNumbers", "Ibans", "IdentityCards", "Passports",
    "PaymentCards", "PhoneNumbers", "PrivateKeys", "SocialSecurityNumbers", "VatNumbers", "holds_bare_key",
    "with_following_lines",
]  # fmt: skip
