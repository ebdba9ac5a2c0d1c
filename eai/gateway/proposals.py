"""What the template of a provider gives to the registrations that leave it open."""

from typing import Any

from eai.gateway.ports import EmbeddingRole
from eai.gateway.registry import Capability, EndpointKind
from eai.gateway.registry_schemas import ModelRoles, NewEndpoint, NewModel, ProviderTemplateOut
from eai.gateway.templates import TEMPLATES, ProviderTemplate, Roles, proposed_roles
from eai.kernel.errors import InvalidInput


def listed_templates() -> list[ProviderTemplateOut]:
    """Every provider that is known by name."""
    return [
        ProviderTemplateOut(
            name=template.name,
            url=template.url,
            needs_api_key=template.needs_key,
            is_behind_proxy=template.is_behind_proxy,
            default_model=template.provider_model,
            dimensions=template.dimensions,
            context_tokens=template.context_tokens,
            roles=ModelRoles.model_validate(stored_roles(template, template.provider_model, None)),
        )
        for _, template in sorted(TEMPLATES.items())
    ]


def way_of(new: NewEndpoint) -> tuple[EndpointKind, ProviderTemplate | None]:
    """How a new endpoint is spoken to, which is said by its kind or by a template. Raises InvalidInput."""
    if new.template is None:
        if new.kind is None:
            raise InvalidInput.field("kind", "missing", "is required without a template")
        return new.kind, None
    if new.kind is not None:
        raise InvalidInput.field("kind", "kind_of_template", "is said by the template")
    template = TEMPLATES.get(new.template)
    if template is None:
        raise InvalidInput.field("template", "template_unknown", "names no template")
    return EndpointKind.LITELLM, template


def require_key(template: ProviderTemplate | None, *, has_key: bool) -> None:
    """Raise InvalidInput where a provider would be asked without the key that it needs."""
    if template is not None and template.needs_key and not has_key:
        raise InvalidInput.field("api_key", "missing", "is required by this provider")


def completed(new: NewModel, template_name: str | None) -> NewModel:
    """The registration with what it leaves open. Raises InvalidInput for another provider's model."""
    template = TEMPLATES.get(template_name or "")
    if template is None:
        return new
    if new.capability is not Capability.EMBEDDINGS:
        require_own(template_name, new.provider_model or new.name)
        return new
    provider_model = new.provider_model or template.provider_model
    require_own(template_name, provider_model)
    registered = None if new.roles is None else new.roles.model_dump(exclude_none=True)
    proposed: dict[str, Any] = {
        "provider_model": provider_model,
        "roles": ModelRoles.model_validate(stored_roles(template, provider_model, registered)),
    }
    if provider_model == template.provider_model:
        proposed["dimensions"] = new.dimensions or template.dimensions
        proposed["context_tokens"] = new.context_tokens or template.context_tokens
    return new.model_copy(update=proposed)


def require_own(template_name: str | None, provider_model: str) -> None:
    """Raise InvalidInput where the endpoint's key would be handed to another provider than its own."""
    template = TEMPLATES.get(template_name or "")
    if template is not None and not provider_model.startswith(f"{template.route}/"):
        raise InvalidInput(
            {
                "path": "provider_model",
                "code": "other_provider",
                "message": "is another provider's",
                "prefix": f"{template.route}/",
            }
        )


def stored_roles(
    template: ProviderTemplate | None, provider_model: str, registered: dict[str, dict[str, str]] | None
) -> dict[str, dict[str, str]]:
    """The sides of a search as a model's row holds them; where there is a template, with its proposal."""
    told = registered or {}
    if template is None:
        return told
    sides: Roles = {EmbeddingRole(side): parameters for side, parameters in told.items()}
    found = proposed_roles(template, provider_model, sides)
    return {str(side): dict(parameters) for side, parameters in found.items() if parameters}
