"""Keys of well-known services, and of this product, by the marks their issuers gave them."""

import re
from collections.abc import Iterator

from eai.dlp.passage import Passage
from eai.dlp.recognisers.numerals import Span
from eai.tenants.dlp_rules import DlpEntity

_LETTER = "[A-Za-z0-9]"
_SIGN = "[A-Za-z0-9_-]"
_FORTY_SIGNS = "[^A-Za-z0-9/+]{1,24}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"
"""A secret of AWS behind its name or its id, with what settings, literals, tables and markup have between."""
_NAMED = (
    r"(?i:aws[_.\x20-]?secret[_.\x20-]?(?:access[_.\x20-]?)?key|secret[_.\x20-]?access[_.\x20-]?key)"
    f"{_FORTY_SIGNS}"
)
_ID = f"[A-Z2-7]{{16}}(?![A-Z0-9])(?:{_FORTY_SIGNS})?+"

_FORMS = {
    "AKIA": f"AKIA{_ID}",
    "ASIA": f"ASIA{_ID}",
    "ecret": _NAMED,
    "ECRET": _NAMED,
    "AccountKey=": "AccountKey=[A-Za-z0-9+/]{86}==",
    "AIza": f"AIza{_SIGN}{{35}}",
    "ya29.": f"ya29[.]{_SIGN}{{20,}}+",
    "ghp_": f"ghp_{_LETTER}{{36,}}+",
    "gho_": f"gho_{_LETTER}{{36,}}+",
    "ghu_": f"ghu_{_LETTER}{{36,}}+",
    "ghs_": f"ghs_{_LETTER}{{36,}}+",
    "ghr_": f"ghr_{_LETTER}{{36,}}+",
    "github_pat_": "github_pat_[A-Za-z0-9_]{60,}+",
    "glpat-": f"glpat-{_SIGN}{{20,}}+",
    "xox": "xox[abeoprs]-[A-Za-z0-9-]{20,}+",
    "xapp-": "xapp-[A-Za-z0-9-]{20,}+",
    "hooks.slack.com/services/": "hooks[.]slack[.]com/services/[A-Za-z0-9/]{30,}+",
    "sk_live_": f"sk_live_{_LETTER}{{16,}}+",
    "sk_test_": f"sk_test_{_LETTER}{{16,}}+",
    "rk_live_": f"rk_live_{_LETTER}{{16,}}+",
    "whsec_": "whsec_[A-Za-z0-9+/=]{24,}+",
    "sk-": f"sk-(?:(?:proj|svcacct|admin|ant-[a-z0-9]{{1,12}}|or-v1)-{_SIGN}{{20,}}+|{_LETTER}{{32,}}+)",
    "hf_": "hf_[A-Za-z]{30,}+",
    "gsk_": f"gsk_{_LETTER}{{40,}}+",
    "r8_": f"r8_{_LETTER}{{37}}",
    "npm_": f"npm_{_LETTER}{{36}}",
    "pypi-": f"pypi-AgE{_SIGN}{{50,}}+",
    "dop_v1_": "dop_v1_[0-9a-f]{64}",
    "SG.": f"SG[.]{_SIGN}{{22}}[.]{_SIGN}{{43}}",
    "eai_": "eai_[0-9a-f]{16}_[0-9a-f]{64}",
}
"""By a part that every key of its form holds as it is."""

_SHORTEST = 20
"""Every form has so many signs in a row."""

_PATTERNS = {mark: re.compile(rf"(?<![A-Za-z0-9]){form}") for mark, form in _FORMS.items()}


class ApiKeys:
    """Finds keys that open something at a known service."""

    entity = DlpEntity.API_KEY
    reach = 256

    def may_hold(self, passage: Passage) -> bool:
        return passage.has_token(_SHORTEST)

    def find(self, passage: Passage) -> Iterator[Span]:
        """The keys."""
        text = passage.text
        for mark, pattern in _PATTERNS.items():
            if mark in text:
                for match in pattern.finditer(text):
                    yield match.span()
