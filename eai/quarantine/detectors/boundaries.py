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
_SPEAKER_TAG = r"(?:system|assistant|system[_-]?prompt|system[_-]?message|developer[_-]?message)"
_ORDER = r"(?:override|prompt|message|instructions?|directive|command|note|update|notice|alert|consignes?)"

_END_AND_SPEAKER = (
    rf"{_LOOSE_END}(?i:{_OF}(?:{_ANY_PART}|{_MEANT_FOR_MODELS})\b[^\n]{{0,20}}\s{{1,6}}[^\w\n]{{0,8}}"
    rf"{_SPEAKER}[ \t*_\])]{{0,4}}:)"
)
_TAGS_FOR_MODELS = (
    r"(?:retrieved[\w-]{0,20}|search[_-]results?|untrusted[\w-]{0,20}|user[_-](?:input|query)|context[_-]\w{1,20}"
    r"|rag[\w-]{0,20})"
)


def _at_line(written: str) -> str:
    """At the start of a line. A line break is what is searched fast."""
    return rf"\n(?P<said>{written})"


_CHAT_TEMPLATES = (
    r"<\|[ \t]?[A-Za-z_▁]{2,40}[ \t]?\|>",
    r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]",
    r"<</?SYS>>|<(?:start|end)_of_turn>|<(?:bos|eos)>",
    r"\[(?:BOS|EOS)\]",
)
_LABELS = (
    r"[SARD](?:YSTEM|DMIN|OOT|EVELOPER)[ _-]OVERRIDE\b",
    rf"</{_SPEAKER_TAG}>",
    _at_line(rf"[ \t>*#\[(_-]{{0,12}}(?i:{_SPEAKER}[ _-]{_ORDER})[\])*_ \t]{{0,6}}:"),
    _at_line(r"[ \t>*_-]{0,8}[\[(<]{1,2}(?i:system|systeme|assistant|developer)[\])>]{1,2}[ \t]{0,3}:?"),
    _at_line(rf"[ \t>*_-]{{0,8}}<{_SPEAKER_TAG}>"),
)
_PERHAPS_LABELS = (
    _at_line(r"[ \t>*#_-]{0,8}(?:SYSTEM|System|Systeme|SYSTEME)[*_ \t]{0,4}:"),
    _at_line(r"#{2,4} ?(?:System|Instruction|Human|Assistant|User|Response):"),
)
_NAMES = (_at_line(r"[ \t>*_-]{0,8}(?:Human|Assistant|User|USER|ASSISTANT|HUMAN)[*_ \t]{0,4}:"),)
_TOOL_MESSAGES = (
    r"\"role\"\s{0,5}:\s{0,5}\"(?:system|assistant|tool|developer)\"",
    r"</?(?:tool|function)_(?:calls?|results?|responses?|outputs?)>",
    r"<(?:\w{1,20}:)?invoke name=",
)
_ENDS = (
    rf"</{_TAGS_FOR_MODELS}>",
    rf"{_EDGE}{_OF}{_MEANT_FOR_MODELS}\b",
    rf"{_RULE}(?i:{_EDGE}{_OF}{_MEANT_FOR_MODELS})\b",
    _END_AND_SPEAKER,
)
_PERHAPS_ENDS = (r"</(?:documents?|context|passages?|chunks?|content|instructions?)>",)
_ANY_ENDS = (rf"{_EDGE}{_OF}{_ANY_PART}\b",)

_PATTERNS: Sequence[tuple[Reason, Severity, Sequence[str]]] = (
    (Reason.CHAT_TEMPLATE, Severity.HIGH, _CHAT_TEMPLATES),
    (Reason.ROLE_LABEL, Severity.HIGH, _LABELS),
    (Reason.ROLE_LABEL, Severity.MEDIUM, _PERHAPS_LABELS),
    (Reason.ROLE_LABEL, Severity.LOW, _NAMES),
    (Reason.TOOL_MESSAGE, Severity.HIGH, _TOOL_MESSAGES),
    (Reason.DOCUMENT_BOUNDARY, Severity.HIGH, _ENDS),
    (Reason.DOCUMENT_BOUNDARY, Severity.MEDIUM, _PERHAPS_ENDS),
    (Reason.DOCUMENT_BOUNDARY, Severity.LOW, _ANY_ENDS),
)


class Boundaries:
    """Finds chat templates, labels of speakers, messages of tools and ends of documents."""

    name = "boundaries"
    version = 1

    def __init__(self) -> None:
        self._patterns = [
            (reason, severity, re.compile(written))
            for reason, severity, alike in _PATTERNS
            for written in alike
        ]

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Every such mark, also where its letters are disguised."""
        folded = specimen.readings[0].folded
        # The first line starts like all others.
        text = f"\n{folded.text}"
        for reason, severity, pattern in self._patterns:
            for match in pattern.finditer(text):
                start, end = match.span("said" if "said" in pattern.groupindex else 0)
                yield Mark(reason, severity, *folded.origin(start - 1, end - 1))


BOUNDARIES = Boundaries()
