"""What one snapshot of the rows says about a call: the model, the switches, and the tenant's own rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eai.access.classification import LEVELS, Classification
from eai.dlp.ports import DlpAction, DlpRules
from eai.gateway.assembled_models import model_from
from eai.gateway.catalogue import REMOTE_MODELS
from eai.gateway.registry import Model, Switch
from eai.kernel.immutable import Immutable


@dataclass(frozen=True, slots=True)
class Facts(Immutable):
    """All that the controls of a call go by. `engaged` names the switches that stop it, the widest first.

    `regions` None accepts every region. `has_quota` says that some limit of the tenant may bind, so that a
    call needs a reservation even where it opens no connection.
    """

    model: Model | None
    engaged: tuple[str, ...] = ()
    regions: frozenset[str] | None = None
    retention_required_from: Classification = Classification.CONFIDENTIAL
    dlp: DlpRules = field(default_factory=dict)
    has_quota: bool = False
    policy_version: int = 0


def facts_from(row: Mapping[str, Any], name: str, here: Mapping[str, Model]) -> Facts:
    """From what `eai.gateway_facts` answered about `name`; `here` are the models of this process."""
    settings = row["settings"]
    model = here.get(name) or model_from(row) or REMOTE_MODELS.get(name)
    return Facts(
        model=model,
        engaged=_engaged(row["engaged"], model),
        regions=None if settings["regions"] is None else frozenset(settings["regions"]),
        retention_required_from=LEVELS[settings["retention_required_from"]],
        dlp={entity: DlpAction(action) for entity, action in settings["dlp"].items()},
        has_quota=row["has_quota"],
        policy_version=row["policy_version"],
    )


def _engaged(engaged: list[str], model: Model | None) -> tuple[str, ...]:
    """Those of the engaged switches that stand in this model's way."""
    ways = [Switch.INSTANCE, Switch.TENANT]
    if model is not None:
        ways += [Switch.provider(model.provider), Switch.model(model.name)]
    return tuple(way for way in ways if way in engaged)
