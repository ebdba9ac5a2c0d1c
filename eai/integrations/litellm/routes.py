"""Which providers LiteLLM may be asked to speak to, and how each is told where and as whom.

Only those are here whose every byte was seen to pass through the exchange they are given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType

from eai.gateway.registry import Capability
from eai.gateway.templates import ProviderTemplate, template_of

_EMBED, _CHAT, _RERANK = Capability.EMBEDDINGS, Capability.CHAT, Capability.RERANK


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How one provider is spoken to.

    Only models whose name begins with `family` are reached. `paths` says what is asked for where, below the
    endpoint's URL; the library adds the rest. `accepts` names the type in which it declares the provider's
    parameters, and `spelling` its own names for some of them. `names_model` and `counts` say whether these
    are the provider's answer and not the library's guess. `extra` goes with every embedding: among it, that
    what is too long is refused and not cut. `mistakes_files` is true where a text may be
    taken for the address of a file.
    """

    speaks_as: str
    family: str = ""
    paths: Mapping[Capability, str]
    accepts: str
    spelling: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str | bool] = field(default_factory=dict)
    is_openai: bool = False
    names_model: bool = False
    counts: bool = True
    mistakes_files: bool = False
    is_one_by_one: bool = False

    def accepted(self) -> frozenset[str]:
        """The parameters of the provider as the installed library lists them."""
        module, _, name = self.accepts.partition(":")
        declared = getattr(import_module(module), name).__annotations__
        return frozenset(self.spelling.get(each, each) for each in declared)

    def requests(self, texts: int) -> int:
        """How many requests one call takes."""
        return texts if self.is_one_by_one else 1


def _openai_form(speaks_as: str, path: str = "", *, names_model: bool) -> Route:
    return Route(
        speaks_as=speaks_as,
        paths={_EMBED: path, _CHAT: path},
        accepts="openai.types.embedding_create_params:EmbeddingCreateParams",
        extra={"encoding_format": "float"},
        is_openai=True,
        names_model=names_model,
    )


ROUTES: Mapping[str, Route] = MappingProxyType(
    {
        "openai": _openai_form("openai", names_model=True),
        # Azure's own form has its version in a query, and its key in a header of its own. It also speaks
        # OpenAI's, where a deployment stands in place of a model.
        "azure": _openai_form("openai", "/openai/v1", names_model=False),
        "mistral": _openai_form("mistral", names_model=True),
        "ollama": Route(
            speaks_as="ollama",
            paths={_EMBED: ""},
            accepts="openai.types.embedding_create_params:EmbeddingCreateParams",
            extra={"truncate": False},
        ),
        "cohere": Route(
            speaks_as="cohere",
            paths={_EMBED: "/v2/embed", _RERANK: "/v2/rerank"},
            accepts="litellm.types.llms.bedrock:CohereEmbeddingRequest",
            extra={"truncate": "NONE"},
            mistakes_files=True,
        ),
        "gemini": Route(
            speaks_as="gemini",
            paths={_EMBED: "/v1beta"},
            accepts="litellm.types.llms.vertex_ai:EmbedContentRequest",
            spelling={"taskType": "task_type"},
            counts=False,
            mistakes_files=True,
        ),
        "bedrock": Route(
            speaks_as="bedrock",
            paths={_EMBED: ""},
            # Its other families have parameters of their own.
            family="amazon.titan-embed-text-v2",
            accepts="litellm.types.llms.bedrock:AmazonTitanV2EmbeddingRequest",
            extra={"aws_region_name": "us-east-1"},
            is_one_by_one=True,
        ),
    }
)
"""Vertex is not among them: its tokens would be fetched by another library, past our way out."""


_UPWARDS = frozenset({".", ".."})


def route_of(provider_model: str, capability: Capability) -> tuple[Route, ProviderTemplate] | None:
    """How a model is reached, or None where it may not be through this library."""
    template = template_of(provider_model)
    route = ROUTES.get(template.route) if template is not None else None
    if template is None or route is None or capability not in route.paths:
        return None
    # Some providers take the model in the path, where such a part leads to what is no model at all.
    if not _UPWARDS.isdisjoint(provider_model.split("/")):
        return None
    is_known = provider_model.removeprefix(f"{template.route}/").startswith(route.family)
    return (route, template) if is_known else None
