"""Whether a question may be put, decided from what one statement read."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from eai.access.acl import BaseRights, Entry, Permission, base_rights
from eai.access.classification import LEVELS
from eai.access.rights_class import MAX_FILTER_CLASSES, generation_key, rights_keys
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.gateway.facts import Facts
from eai.identity.authentication import subject_from_row
from eai.kernel.errors import Forbidden, NotFound, Unauthenticated
from eai.kernel.ids import BaseId, GenerationId
from eai.knowledge.errors import PermissionMissing
from eai.knowledge.lexical import query_weights
from eai.knowledge.ports import SearchFilter, SpaceId
from eai.retrieval.repository import QueryRows
from eai.retrieval.rows import EntryRows, OpenedRow
from eai.retrieval.values import Bounds, Opening, SearchedBase

Admit = Callable[[Subject], None]
"""What the entry point does once it is known who asks: remember it, or refuse by raising."""

ReadFacts = Callable[[Mapping[str, Any], str], Facts]
"""What the gateway makes of the rows about a model."""


async def open_question(
    rows: QueryRows,
    credential: str,
    reference: str,
    terms: Mapping[str, int],
    *,
    read: ReadFacts,
    admit: Admit,
) -> Opening:
    """Raises Unauthenticated, what `admit` raises, NotFound and PermissionMissing, in this order."""
    opened = await rows.open(credential, reference, list(terms))
    if opened is None:
        raise Unauthenticated
    subject = subject_from_row(opened.subject)
    admit(subject)
    reader_rights(subject, opened.entries, is_there=opened.base is not None)
    base = _searched(opened)
    return Opening(
        subject,
        base,
        _scope(subject, base, opened),
        query_weights(terms, opened.document_frequencies or {}, opened.chunks_by_language or {}),
        read(opened.gateway or {}, base.embedding_model),
        Bounds.read(opened.bounds) if opened.bounds else None,
    )


def reader_rights(subject: Subject, entries: EntryRows, *, is_there: bool) -> BaseRights:
    """What `subject` may do with the base, if it may read passages there at all.

    Raises Forbidden without the scope, NotFound for a base that is not there or not to be known of, and
    PermissionMissing for one that is managed but not read.
    """
    if Scope.RAG_QUERY not in subject.scopes:
        raise Forbidden
    # Worked out for a base that is not there, too: the time it takes must not tell.
    rights = base_rights(subject, [_entry(*entry) for entry in entries])
    if not (is_there and rights.can_see):
        raise NotFound
    if not rights.can_read_passages:
        raise PermissionMissing(permission=Permission.READ.value)
    return rights


def _entry(principal: str, permission: str, effect: str) -> Entry:
    return Entry(principal, Permission(permission), "allow" if effect == "allow" else "deny")


def _searched(opened: OpenedRow) -> SearchedBase:
    row = opened.base
    assert row is not None
    return SearchedBase(
        id=BaseId(UUID(row["id"])),
        classification=LEVELS[row["classification"]],
        embedding_model=row["embedding_model"],
        space=SpaceId(row["collection"], row["dimensions"]),
        generation=GenerationId(UUID(row["generation"])),
    )


def _scope(subject: Subject, base: SearchedBase, opened: OpenedRow) -> SearchFilter:
    classes = opened.classes or ()
    return SearchFilter(
        generation_key(subject.tenant, base.generation),
        None if len(classes) > MAX_FILTER_CLASSES else rights_keys(subject.tenant, base.generation, classes),
    )
