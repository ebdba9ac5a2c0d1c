from uuid import UUID

from eai.access.rights_class import generation_key, rights_key
from eai.kernel.ids import GenerationId
from tests.unit.access.strategies import OTHER_TENANT, TENANT

GENERATION = GenerationId(UUID(int=7))


def test_a_rights_key_extends_its_generations_key() -> None:
    assert rights_key(TENANT, GENERATION, 42) == f"{generation_key(TENANT, GENERATION)}:42"


def test_the_key_is_the_same_on_every_machine() -> None:
    assert generation_key(TENANT, GENERATION) == "bef2c5090f752ad3bb3e88b5"


def test_one_tenants_key_never_matches_anothers_generation() -> None:
    assert generation_key(TENANT, GENERATION) != generation_key(OTHER_TENANT, GENERATION)
    assert generation_key(TENANT, GENERATION) != generation_key(TENANT, GenerationId(UUID(int=8)))
