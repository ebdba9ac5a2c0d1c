"""The visibility rules as SQL clauses, for lists and counts.

The decision about a single object is `eai.access`, over its raw rows; tests hold the two equal.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    ARRAY,
    TEXT,
    ColumnElement,
    SQLColumnExpression,
    and_,
    any_,
    cast,
    exists,
    func,
    literal,
    not_,
    or_,
)
from sqlalchemy.sql import true

from eai.access.acl import BaseRights
from eai.access.classification import Classification
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.connectors.repository import is_shown
from eai.knowledge.models import Chunk, DocumentVersion, KnowledgeBase, KnowledgeBaseEntry, KnowledgeDocument

_TEXTS: Any = ARRAY(TEXT)


def visible_bases(subject: Subject) -> ColumnElement[bool]:
    """Live bases of which `subject` may know: some entry allows a rung, and none denies `read`."""
    is_live = KnowledgeBase.deleting_since.is_(None)
    if Scope.KB_ADMIN in subject.scopes:
        return is_live
    mine = and_(
        KnowledgeBaseEntry.tenant_id == KnowledgeBase.tenant_id,
        KnowledgeBaseEntry.base_id == KnowledgeBase.id,
        KnowledgeBaseEntry.principal == any_(text_array(subject.references)),
    )
    allows = exists().where(mine, KnowledgeBaseEntry.effect == "allow")
    denies = exists().where(
        mine, KnowledgeBaseEntry.effect == "deny", KnowledgeBaseEntry.permission == "read"
    )
    return and_(is_live, allows, not_(denies))


def visible_documents(subject: Subject, rights: BaseRights, default: Classification) -> ColumnElement[bool]:
    """Live documents of one base whose metadata `subject` may see; `default` is the base's level.

    Whoever manages the base sees all that its clearance covers; readers see what they may read. Those of a
    source that is switched off, and those of which no text has come to answer, are seen by all who may write
    in the base: they are told why. What a title says that was held with its text is told to nobody else.
    """
    return and_(
        KnowledgeDocument.deleting_since.is_(None),
        document_level(literal(default.rank)) <= subject.clearance.rank,
        true() if rights.can_manage else named_in(KnowledgeDocument.readers, subject),
        true() if rights.can_write else and_(source_is_shown(), has_answered()),
    )


def has_answered() -> ColumnElement[bool]:
    """Whether a text of the document has come to answer."""
    return KnowledgeDocument.serving_version_id.is_not(None)


def readable_documents(subject: Subject, rights: BaseRights, default: Classification) -> ColumnElement[bool]:
    """Live documents of one base that `subject` may read, as far as the document itself decides."""
    visible = visible_documents(subject, rights, default)
    return and_(
        visible,
        literal(rights.can_read_passages),
        named_in(KnowledgeDocument.readers, subject),
        source_is_shown(),
    )


def readable_chunks(subject: Subject) -> ColumnElement[bool]:
    """Serving chunks that add nothing that would hide them from a reader of their document."""
    return and_(
        Chunk.version_id == KnowledgeDocument.serving_version_id,
        source_is_shown(),
        func.coalesce(Chunk.classification, 0) <= subject.clearance.rank,
        named_in(Chunk.readers, subject),
    )


def source_is_shown() -> ColumnElement[bool]:
    """Whether passages of the document's source may be shown."""
    return is_shown(KnowledgeDocument.tenant_id, KnowledgeDocument.source_connector)


def wholly_readable(subject: Subject) -> ColumnElement[bool]:
    """Whether a reader of the document may read all of its text.

    For a document joined with one of its versions. Of one that does not answer yet, no part may be
    stricter: it has no passages whose rights could be compared.
    """
    hidden = exists().where(
        Chunk.tenant_id == KnowledgeDocument.tenant_id,
        Chunk.document_id == KnowledgeDocument.id,
        Chunk.version_id == KnowledgeDocument.serving_version_id,
        not_(readable_chunks(subject)),
    )
    answers = KnowledgeDocument.serving_version_id == DocumentVersion.id
    return and_(
        not_(hidden),
        or_(
            func.coalesce(answers, literal(value=False)),
            func.jsonb_array_length(DocumentVersion.chunk_rights) == 0,
        ),
    )


def document_level(default: SQLColumnExpression[int]) -> ColumnElement[int]:
    """The rank of a document's effective level; `default` is that of its base."""
    own = func.coalesce(KnowledgeDocument.classification, default)
    return func.greatest(own, KnowledgeDocument.text_level, KnowledgeDocument.field_level)


def named_in(readers: SQLColumnExpression[list[str] | None], subject: Subject) -> ColumnElement[bool]:
    """Whether a readers column is null or holds one of the subject's references."""
    return or_(readers.is_(None), overlaps(readers, subject.references))


def overlaps(left: SQLColumnExpression[Any], right: Collection[str]) -> ColumnElement[bool]:
    """Whether a text array holds one of `right`; null when the array is."""
    return cast(left, _TEXTS).bool_op("&&")(text_array(right))


def text_array(values: Collection[str]) -> ColumnElement[list[str]]:
    """`values` as one bound text array."""
    return cast(literal(sorted(values), _TEXTS), _TEXTS)
