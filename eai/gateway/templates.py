"""The embedding providers that are known by name: their usual model, and how each tells a search's sides.

A template is a proposal: what a registration says wins. A role is sent only where the provider's own list
of parameters has a name for it; that list comes from whoever speaks to the provider, and a test holds what
is proposed here to it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from eai.gateway.ports import EmbeddingRole

TEXT_PREFIX = "text_prefix"
"""The role parameter that is never sent: its value stands before each text instead."""

Roles = Mapping[EmbeddingRole, Mapping[str, str]]


def _sides(parameter: str, document: str, query: str) -> Roles:
    return MappingProxyType(
        {EmbeddingRole.DOCUMENT: {parameter: document}, EmbeddingRole.QUERY: {parameter: query}}
    )


ROLE_PARAMETERS: Mapping[str, Roles] = MappingProxyType(
    {
        "task_type": _sides("task_type", "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"),
        "input_type": _sides("input_type", "search_document", "search_query"),
    }
)
"""The names that providers have for the side of a search, and what they call the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTemplate:
    """A provider: `route` is how a provider model begins that goes there, `url` where it answers.

    `url` is None where it is the customer's own. `dimensions` begins with the default and lists what else
    `default_model` can be asked for. `told_by` is the provider's own parameter for the side of a search,
    None where it has none; `prefixes` is for a model that is told it in its text. `is_behind_proxy` is true
    where a LiteLLM proxy at `url` speaks to the provider.
    """

    name: str
    route: str
    default_model: str
    url: str | None
    dimensions: tuple[int, ...]
    context_tokens: int
    needs_key: bool = True
    told_by: str | None = None
    is_behind_proxy: bool = False
    prefixes: Roles = field(default_factory=dict)

    @property
    def provider_model(self) -> str:
        """What a model row holds for the default model."""
        return f"{self.route}/{self.default_model}"


TEMPLATES: Mapping[str, ProviderTemplate] = MappingProxyType(
    {
        template.name: template
        for template in (
            ProviderTemplate(
                name="openai",
                route="openai",
                default_model="text-embedding-3-small",
                url="https://api.openai.com/v1",
                dimensions=(1536, 256, 512, 1024),
                context_tokens=8191,
            ),
            ProviderTemplate(
                name="azure-openai",
                route="azure",
                default_model="text-embedding-3-small",
                url=None,
                dimensions=(1536, 256, 512, 1024),
                context_tokens=8191,
            ),
            ProviderTemplate(
                name="ollama",
                route="ollama",
                default_model="nomic-embed-text",
                url="http://localhost:11434",
                dimensions=(768,),
                context_tokens=2048,
                needs_key=False,
            ),
            ProviderTemplate(
                name="mistral",
                route="mistral",
                default_model="mistral-embed",
                url="https://api.mistral.ai/v1",
                dimensions=(1024,),
                context_tokens=8192,
            ),
            ProviderTemplate(
                name="bedrock",
                route="bedrock",
                default_model="amazon.titan-embed-text-v2:0",
                url="https://bedrock-runtime.us-east-1.amazonaws.com",
                dimensions=(1024, 256, 512),
                context_tokens=8192,
            ),
            ProviderTemplate(
                name="cohere",
                route="cohere",
                default_model="embed-english-v3.0",
                url="https://api.cohere.com",
                dimensions=(1024,),
                context_tokens=512,
                told_by="input_type",
            ),
            ProviderTemplate(
                name="gemini",
                route="gemini",
                default_model="gemini-embedding-2",
                url="https://generativelanguage.googleapis.com",
                dimensions=(3072, 128, 256, 512, 768, 1536),
                context_tokens=8192,
                told_by="task_type",
                prefixes=_sides(TEXT_PREFIX, "title: none | text: ", "task: search result | query: "),
            ),
            ProviderTemplate(
                name="vertex",
                route="vertex_ai",
                default_model="text-embedding-005",
                # Its tokens would be fetched by another library, past our way out.
                url=None,
                dimensions=(768, 128, 256, 512),
                context_tokens=2048,
                needs_key=False,
                told_by="task_type",
                is_behind_proxy=True,
            ),
        )
    }
)
"""The eight providers, each with its default model."""


def template_of(provider_model: str) -> ProviderTemplate | None:
    """The template of the provider that a model goes to, or None."""
    route, found, _ = provider_model.partition("/")
    return next((each for each in TEMPLATES.values() if found and each.route == route), None)


def proposed_roles(template: ProviderTemplate, provider_model: str, registered: Roles) -> Roles:
    """What a registration on the template's endpoint says of the two sides, and what it leaves open."""
    return applied_roles(provider_model, registered, () if template.told_by is None else (template.told_by,))


def applied_roles(provider_model: str, registered: Roles, accepted: Collection[str]) -> Roles:
    """What goes along with each side of a search. `accepted` is the provider's own list of parameters.

    A pinned task that is not retrieval goes with both sides, and no role with either: a base built under it
    keeps its geometry. Pinning a retrieval task says no more than the role does, and changes nothing.
    """
    own = {side: _own(registered.get(side, {})) for side in EmbeddingRole}
    prefixes = _prefixes(provider_model)
    if prefixes:
        return {side: {**own[side], **prefixes[side]} for side in EmbeddingRole}
    tasks = [_task(name, registered) for name in ROLE_PARAMETERS if name in accepted]
    return {side: {**own[side], **_merged(task[side] for task in tasks)} for side in EmbeddingRole}


def _own(registered: Mapping[str, str]) -> Mapping[str, str]:
    """Of what was registered, besides tasks: no other field of a request is ever taken from a model row."""
    return {name: text for name, text in registered.items() if name == TEXT_PREFIX}


def _prefixes(provider_model: str) -> Roles:
    """What stands before a text where the model is told its side in it, and by no parameter."""
    template = template_of(provider_model)
    is_told = template is not None and provider_model == template.provider_model
    return template.prefixes if template is not None and is_told else {}


def _task(name: str, registered: Roles) -> Roles:
    """The sides of a search under this name, or the task that was pinned for both."""
    sides = ROLE_PARAMETERS[name]
    retrieval = {text.casefold() for side in sides.values() for text in side.values()}
    given = (registered.get(side, {}).get(name) for side in EmbeddingRole)
    pinned = next((text for text in given if text is not None and text.casefold() not in retrieval), None)
    return sides if pinned is None else {side: {name: pinned} for side in EmbeddingRole}


def _merged(parts: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    return {name: text for part in parts for name, text in part.items()}
