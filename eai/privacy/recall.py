"""How much of what it looks for the search finds, as it was measured."""

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

from eai.privacy.schemas import RecallOut

_Z = 1.959964


class Measured(NamedTuple):
    """Occurrences that were made up, how many were found, and how many of them DLP detects by itself."""

    tried: int
    found: int
    detected: int


MEASURED: Mapping[str, Measured] = {
    "payment_card": Measured(560, 480, 480),
    "iban": Measured(560, 480, 480),
    "nir": Measured(560, 480, 480),
    "email": Measured(440, 360, 360),
    "phone": Measured(640, 480, 280),
    "siren": Measured(560, 440, 0),
    "siret": Measured(560, 480, 0),
    "vat": Measured(560, 480, 440),
    "passport": Measured(560, 200, 0),
    "identity_card": Measured(560, 480, 0),
    "": Measured(480, 370, 0),
}
"""By entity, over spellings in English and French sentences: `tests/unit/privacy/spellings.py`.

Under no name stand people's names. Numbers that DLP knows by the words beside them alone are written without.
A test measures anew and compares.
"""


def recall_of(entity: str | None) -> RecallOut:
    """What was measured for an entity."""
    measured = MEASURED.get(entity or "")
    if measured is None:
        return RecallOut(entity=entity, tried=None, found=None, detected=None, low=None, high=None)
    low, high = interval(measured.found, measured.tried)
    return RecallOut(
        entity=entity,
        tried=measured.tried,
        found=measured.found,
        detected=measured.detected,
        low=round(low, 4),
        high=round(high, 4),
    )


def interval(found: int, tried: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for the share `found` of `tried`."""
    share, z = found / tried, _Z * _Z / tried
    middle = share + z / 2
    spread = _Z * sqrt(share * (1 - share) / tried + z / (4 * tried))
    return max(0.0, (middle - spread) / (1 + z)), min(1.0, (middle + spread) / (1 + z))
