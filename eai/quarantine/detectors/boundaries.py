"""Marks that pretend that the document has ended and that somebody else is speaking now."""

import re
from collections.abc import Iterator, Sequence

from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_RULE = r"(?:[-=#*_~<\[|]{2,10}[ \t]{0,3})"
# What may not stand before the first letter is said behind it: a first letter is what is searched fast.
_EDGE = r"[EBSCFD](?<!\w\w)(?:(?<=E)ND|(?<=B)EGIN|(?<=S)TART|(?<=S)TOP|(?<=C)LOSE|(?<=F)IN|(?<=D)EBUT)"
_LOOSE_END = r"[EeFf](?<!\w\w)(?i:(?<=E)ND|(?<=F)IN)"
_OF = r"(?:[ _-](?:OF|THE|DE|DU|DES|LA|LE|LES|L'|NEW|ALL)){0,3}[ _-]"
_MEANT_FOR_MODELS = (
    r"(?:(?:RETRIEVED|UNTRUSTED|EXTERNAL|SEARCH|TOOL)[ _-][A-Z]{4,12}"
    r"|(?:SYSTEM|USER|DEVELOPER|ASSISTANT)[ _-]"
    r"(?:PROMPT|MESSAGE|INPUT|INSTRUCTIONS?|QUERY|TURN|REQUEST)|PROMPT|CONTEXTE?|INSTRUCTIONS?|CONSIGNES?"
    r"|CONVERSATION|SYSTEME?)"
)
_ANY_PART = r"(?:DOCUMENTS?|CONTENT|CONTENU|TEXTE?|DATA|DONNEES|INPUT|MESSAGE|FILE|PAGE|ARTICLE|PASSAGE)"
_SPEAKER = r"(?:system|systeme|assistant|user|utilisateur|human|developer|developpeur|admin|administrator)"
_ORDER = r"(?:override|prompt|message|instructions?|directive|command|note|update|notice|alert|consignes?)"

_END_AND_SPEAKER = (
    rf"{_LOOSE_END}(?i:{_OF}(?:{_ANY_PART}|{_MEANT_FOR_MODELS})\b[^\n]{{0,20}}\s{{1,6}}[^\w\n]{{0,8}}"
    rf"{_SPEAKER}[ \t*_\])]{{0,4}}:)"
)
_PATTERNS: Sequence[tuple[Reason, Severity, str]] = (
    (Reason.CHAT_TEMPLATE, Severity.HIGH, r"<\|[ \t]?[A-Za-z_▁]{2,40}[ \t]?\|>"),
    (
        Reason.CHAT_TEMPLATE,
        Severity.HIGH,
        r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]",
    ),
    (Reason.CHAT_TEMPLATE, Severity.HIGH, r"<</?SYS>>|<(?:start|end)_of_turn>|<(?:bos|eos)>|\[(?:BOS|EOS)\]"),
    (
        Reason.ROLE_LABEL,
        Severity.HIGH,
        rf"(?im)^[ \t>*#\[(_-]{{0,12}}{_SPEAKER}[ _-]{_ORDER}[\])*_ \t]{{0,6}}:",
    ),
    (
        Reason.ROLE_LABEL,
        Severity.HIGH,
        r"(?im)^[ \t>*_-]{0,8}[\[(<]{1,2}(?:system|systeme|assistant|developer)[\])>]{1,2}[ \t]{0,3}:?",
    ),
    (
        Reason.ROLE_LABEL,
        Severity.MEDIUM,
        r"(?m)^[ \t>*#_-]{0,8}(?:SYSTEM|System|Systeme|SYSTEME)[*_ \t]{0,4}:",
    ),
    (
        Reason.ROLE_LABEL,
        Severity.MEDIUM,
        r"(?m)^#{2,4} ?(?:System|Instruction|Human|Assistant|User|Response):",
    ),
    (
        Reason.ROLE_LABEL,
        Severity.LOW,
        r"(?m)^[ \t>*_-]{0,8}(?:Human|Assistant|User|USER|ASSISTANT|HUMAN)[*_ \t]{0,4}:",
    ),
    (
        Reason.ROLE_LABEL,
        Severity.HIGH,
        r"</?(?:system|assistant|system[_-]?prompt|system[_-]?message|developer[_-]?message)>",
    ),
    (Reason.TOOL_MESSAGE, Severity.HIGH, r"\"role\"\s{0,5}:\s{0,5}\"(?:system|assistant|tool|developer)\""),
    (
        Reason.TOOL_MESSAGE,
        Severity.HIGH,
        r"</?(?:tool|function)_(?:calls?|results?|responses?|outputs?)>|<(?:\w{1,20}:)?invoke name=",
    ),
    (
        Reason.DOCUMENT_BOUNDARY,
        Severity.HIGH,
        r"</(?:retrieved[\w-]{0,20}|search[_-]results?|untrusted[\w-]{0,20}|user[_-](?:input|query)|context[_-]\w{1,20}|rag[\w-]{0,20})>",
    ),
    (
        Reason.DOCUMENT_BOUNDARY,
        Severity.MEDIUM,
        r"</(?:documents?|context|passages?|chunks?|content|instructions?)>",
    ),
    (Reason.DOCUMENT_BOUNDARY, Severity.HIGH, rf"{_EDGE}{_OF}{_MEANT_FOR_MODELS}\b"),
    (Reason.DOCUMENT_BOUNDARY, Severity.HIGH, rf"(?i){_RULE}{_EDGE}{_OF}{_MEANT_FOR_MODELS}\b"),
    (Reason.DOCUMENT_BOUNDARY, Severity.LOW, rf"{_EDGE}{_OF}{_ANY_PART}\b"),
    # The end, and at once somebody speaks.
    (
        Reason.DOCUMENT_BOUNDARY,
        Severity.HIGH,
        _END_AND_SPEAKER,
    ),
)


class Boundaries:
    """Finds chat templates, labels of speakers, messages of tools and ends of documents."""

    name = "boundaries"
    version = 1

    def __init__(self) -> None:
        self._patterns = [(reason, severity, re.compile(written)) for reason, severity, written in _PATTERNS]

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Every such mark, also where its letters are disguised."""
        folded = specimen.readings[0].folded
        for reason, severity, pattern in self._patterns:
            for match in pattern.finditer(folded.text):
                yield Mark(reason, severity, *folded.origin(*match.span()))


BOUNDARIES = Boundaries()
