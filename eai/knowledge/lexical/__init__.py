"""The keyword leg's text processing: from words to the term weights that the index compares.

A term is a stem with its language in front (`fr:rembours`). Pure functions; nothing here reads a
database or an index. `analyse_document` and `document_weights` serve ingestion, `analyse_query` and
`query_weights` a query.
"""

from eai.knowledge.lexical.bm25 import (
    TYPICAL_LENGTH,
    QueryWeights,
    document_weights,
    query_weights,
    term_number,
)
from eai.knowledge.lexical.language import Language, detect_language, language_of
from eai.knowledge.lexical.terms import analyse_document, analyse_query
from eai.knowledge.lexical.words import fold, words

__all__ = [
    "TYPICAL_LENGTH",
    "Language",
    "QueryWeights",
    "analyse_document",
    "analyse_query",
    "detect_language",
    "document_weights",
    "fold",
    "language_of",
    "query_weights",
    "term_number",
    "words",
]
