"""Which forms are promised, each made of the models that the operations themselves read and write."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from eai.assembly.schemas import ContextContract
from eai.connectors.schemas import NewConnector
from eai.contracts.ways import Way
from eai.finops.schemas import NewQuota
from eai.gateway.registry_schemas import NewModel
from eai.ingestion.schemas import DocumentSubmission
from eai.knowledge.bases.schemas import EntriesIn, NewBase
from eai.manifests.schemas import Manifest
from eai.policies.schemas import PolicyText

DIALECT = GenerateJsonSchema.schema_dialect


class _Form(GenerateJsonSchema):
    """As the library makes it, but that members with another name than they may have are refused.

    It writes `patternProperties`, which says nothing of members whose names do not match.
    """

    def dict_schema(self, schema: core_schema.DictSchema) -> dict[str, Any]:
        """A dictionary, by the form of its members and of their names."""
        made = super().dict_schema(schema)
        for pattern, form in made.pop("patternProperties", {}).items():
            made["additionalProperties"] = form
            made["propertyNames"] = {"pattern": pattern, **made.get("propertyNames", {})}
        return made


@dataclass(frozen=True)
class Contract:
    """One form that is promised: what clients send, or what they are answered."""

    name: str
    title: str
    description: str
    form: Any
    way: Way = Way.SENT

    @property
    def file_name(self) -> str:
        """Its file in `contracts/v1`."""
        return f"{self.name}.schema.json"

    @property
    def id(self) -> str:
        """What it is called by whoever refers to it; it is no address."""
        return f"urn:eai:contract:v1:{self.name}"

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """It as JSON Schema 2020-12, closed in itself."""
        mode: Any = "validation" if self.way is Way.SENT else "serialization"
        made = TypeAdapter(self.form).json_schema(mode=mode, schema_generator=_Form)
        if self.way is Way.ANSWERED:
            made = _opened(made)
        head = {"$schema": DIALECT, "$id": self.id, "title": self.title, "description": self.description}
        return {**head, **{name: value for name, value in made.items() if name not in head}}


def _opened(form: Any) -> Any:
    """The form without a word against members that it does not name: answers may come to hold more."""
    if isinstance(form, dict):
        return {
            name: _opened(part)
            for name, part in form.items()
            if (name, part) != ("additionalProperties", False)
        }
    return [_opened(part) for part in form] if isinstance(form, list) else form


CONTRACTS = (
    Contract(
        "acl",
        "Access list",
        "Who may read, write and manage a knowledge base: the body of `PUT /v1/knowledge-bases/{base}/acl`.",
        EntriesIn,
    ),
    Contract(
        "context-contract",
        "Context contract",
        "Passages for a model, each with where it is from, what it may be shown to, and the marks around it: "
        "the answer of `POST /v1/context/assemble`.",
        ContextContract,
        Way.ANSWERED,
    ),
    Contract(
        "document",
        "Document",
        "A document given as text: the JSON body of `POST /v1/knowledge-bases/{base}/documents`.",
        DocumentSubmission,
    ),
    Contract(
        "knowledge-base",
        "Knowledge base",
        "A knowledge base to be made: the body of `POST /v1/knowledge-bases`.",
        NewBase,
    ),
    Contract(
        "manifest",
        "Manifest",
        "One object as it shall be, of one of the kinds that the other contracts describe.",
        Manifest,
    ),
    Contract(
        "model",
        "Model",
        "A model to be registered: the body of `POST /v1/models`.",
        NewModel,
    ),
    Contract(
        "policy",
        "Policy",
        "What a policy says: the body of `PUT /v1/policies/{policy}`.",
        PolicyText,
    ),
    Contract(
        "quota",
        "Quota",
        "A quota to be set: the body of `PUT /v1/finops/quotas`.",
        NewQuota,
    ),
    Contract(
        "source-connector",
        "Source connector",
        "A source of documents to be registered: the body of `POST /v1/source-connectors`.",
        NewConnector,
    ),
)
