"""The detectors that every text goes through before anything else reads it, and its passages after that."""

from collections.abc import Sequence

from eai.quarantine.detectors.bidi import BIDI
from eai.quarantine.detectors.boundaries import BOUNDARIES
from eai.quarantine.detectors.drift import DRIFT
from eai.quarantine.detectors.encoded import ENCODED
from eai.quarantine.detectors.hidden_markup import HIDDEN_MARKUP
from eai.quarantine.detectors.homoglyphs import HOMOGLYPHS
from eai.quarantine.detectors.hubs import HUBS
from eai.quarantine.detectors.markdown_hiding import MARKDOWN_HIDING
from eai.quarantine.detectors.outliers import OUTLIERS
from eai.quarantine.detectors.tags import TAGS
from eai.quarantine.detectors.variation_selectors import VARIATION_SELECTORS
from eai.quarantine.detectors.zero_width import ZERO_WIDTH
from eai.quarantine.instructions import PHRASE_DETECTORS
from eai.quarantine.ports import Detector, PassageDetector

DETECTORS: Sequence[Detector] = (
    *PHRASE_DETECTORS, BOUNDARIES, ZERO_WIDTH, BIDI, TAGS, VARIATION_SELECTORS, HOMOGLYPHS, ENCODED,
    HIDDEN_MARKUP, MARKDOWN_HIDING, DRIFT,
)  # fmt: skip
"""Each has a file and figures of its own. Whoever changes what one finds counts its version up."""

PASSAGE_DETECTORS: Sequence[PassageDetector] = (HUBS, OUTLIERS)
"""The same for those that compare its passages, once a model has made vectors of them."""
