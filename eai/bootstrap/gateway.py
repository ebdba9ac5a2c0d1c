"""Composes the model gateway: which models run here, who speaks to the others, what stands before each."""

from collections.abc import Mapping
from dataclasses import dataclass

from eai.audit.service import Audit
from eai.dlp.ports import Scanner
from eai.finops.reservations import Reservations
from eai.gateway.attempts import Attempts
from eai.gateway.catalogue import LOCAL_E5_384, LOCAL_HASH_256, LOCAL_USE_512
from eai.gateway.controls import Controls
from eai.gateway.dispatch import Dispatch
from eai.gateway.egress import EgressGuard
from eai.gateway.facts_rows import FactsRows
from eai.gateway.ledger import Ledger
from eai.gateway.open_calls import OpenCalls
from eai.gateway.ports import Provider
from eai.gateway.provider_keys import ProviderKeys
from eai.gateway.registry import EndpointKind
from eai.gateway.service import Gateway, RegisteredModel
from eai.integrations import litellm
from eai.integrations.local_models import E5Embedder, HashEmbedder, SentenceEmbedder
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.platform.database import Database
from eai.platform.keys import Keyring
from eai.platform.outbound import Outbound
from eai.platform.settings import Settings
from eai.policies.service import Policies

Models = Mapping[str, RegisteredModel]


@dataclass(frozen=True)
class Surroundings:
    """What the gateway shares with everybody else."""

    settings: Settings
    database: Database
    keyring: Keyring
    audit: Audit
    outbound: Outbound
    policies: Policies
    scanner: Scanner


def compose_gateway(shared: Surroundings, models: Models) -> Gateway:
    """The gateway with its controls, in front of `models` and of every endpoint that will be registered."""
    chosen, is_production = shared.settings.models, shared.settings.is_production
    default = chosen.rag_embedding_model
    if default is None and not is_production:
        default = next((name for name in (LOCAL_USE_512.name, LOCAL_HASH_256.name) if name in models), None)
    controls = Controls(
        shared.scanner, shared.policies, EgressGuard(shared.outbound), is_production=is_production
    )
    return Gateway(
        models,
        FactsRows(shared.database),
        controls,
        Ledger(Reservations(shared.database), shared.audit, OpenCalls(chosen.calls_per_tenant)),
        Dispatch(_providers(shared.outbound), Attempts(), ProviderKeys(shared.keyring)),
        default_model=default,
        batch_size=chosen.embeddings_batch_size,
    )


def _providers(outbound: Outbound) -> Mapping[EndpointKind, Provider]:
    """Who speaks to which kind of endpoint."""
    over_http = OpenAiCompatible(outbound)
    return {EndpointKind.OPENAI: over_http, EndpointKind.LITELLM: litellm.connect(outbound, over_http)}


def shipped_models() -> Models:
    """The shipped models that can run here: those of meaning only where their extra is installed."""
    shipped = {LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, HashEmbedder())}
    if SentenceEmbedder.is_available():
        shipped[LOCAL_USE_512.name] = RegisteredModel(LOCAL_USE_512, SentenceEmbedder())
    if E5Embedder.is_available():
        shipped[LOCAL_E5_384.name] = RegisteredModel(LOCAL_E5_384, E5Embedder())
    return shipped
