"""Manifests as clients write them: one object each, in the words of the operation that makes it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from eai.connectors.schemas import NewConnector
from eai.finops.schemas import NewQuota
from eai.gateway.registry_schemas import NewModel
from eai.ingestion.schemas import DocumentSubmission, Name
from eai.knowledge.bases.schemas import EntriesIn, NewBase
from eai.policies.schemas import PolicyName, PolicyText
from eai.tenants.schemas import Schema

MAX_LABELS = 20

LabelName = Annotated[str, Field(pattern=r"^[a-z0-9](?:[a-z0-9./-]{0,61}[a-z0-9])?$")]
LabelValue = Annotated[str, Field(max_length=128, pattern=r"^[\w.:/@-]*$")]
BaseReference = Annotated[str, Field(min_length=1, max_length=100)]
"""The id or the alias of a knowledge base."""

_KNOWLEDGE_BASE = Field(description="The knowledge base, by id or alias.")


class ManifestMetadata(Schema):
    """What is said about an object beside itself: labels, by which objects that belong together are found."""

    labels: Annotated[dict[LabelName, LabelValue], Field(max_length=MAX_LABELS)] = Field(default={})


class DocumentSpec(DocumentSubmission):
    """A document in a base. It is known again by its external id."""

    knowledge_base: Annotated[BaseReference, _KNOWLEDGE_BASE]
    external_id: Name


class AclSpec(EntriesIn):
    """The whole access list of a base."""

    knowledge_base: Annotated[BaseReference, _KNOWLEDGE_BASE]


class PolicySpec(PolicyText):
    """A policy under its name."""

    name: PolicyName


class _Manifest(Schema):
    api_version: Annotated[Literal["eai/v1"], Field(alias="apiVersion")]
    metadata: ManifestMetadata = ManifestMetadata()


class KnowledgeBaseManifest(_Manifest):
    """A knowledge base."""

    kind: Literal["KnowledgeBase"]
    spec: NewBase


class DocumentManifest(_Manifest):
    """A document given as text."""

    kind: Literal["Document"]
    spec: DocumentSpec


class AclManifest(_Manifest):
    """An access list."""

    kind: Literal["Acl"]
    spec: AclSpec


class ModelManifest(_Manifest):
    """A model on an endpoint that serves the tenant."""

    kind: Literal["Model"]
    spec: NewModel


class SourceConnectorManifest(_Manifest):
    """A source of documents."""

    kind: Literal["SourceConnector"]
    spec: NewConnector


class PolicyManifest(_Manifest):
    """A policy."""

    kind: Literal["Policy"]
    spec: PolicySpec


class QuotaManifest(_Manifest):
    """A quota."""

    kind: Literal["Quota"]
    spec: NewQuota


Manifest: Any = Annotated[
    KnowledgeBaseManifest
    | DocumentManifest
    | AclManifest
    | ModelManifest
    | SourceConnectorManifest
    | PolicyManifest
    | QuotaManifest,
    Field(discriminator="kind"),
]
"""One object; `kind` says which."""
