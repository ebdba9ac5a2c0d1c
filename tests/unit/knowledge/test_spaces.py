from typing import Any

import pytest

from eai.knowledge.ports import SpaceId
from eai.knowledge.spaces import space_id

MODEL: dict[str, Any] = {
    "model": "local-use-512",
    "provider": "local",
    "provider_model": "use",
    "revision": "1",
    "preprocessing": "1",
    "dimensions": 512,
}


def test_a_space_is_the_same_for_the_same_model() -> None:
    # Points lie under this name: another value would lose every index there is.
    assert space_id(**MODEL) == SpaceId("space_73eb5cd74d0f9c827917e4b6", 512)


@pytest.mark.parametrize("changed", MODEL)
def test_whatever_changes_a_vector_changes_the_space(changed: str) -> None:
    other = MODEL | {changed: 256 if changed == "dimensions" else "other"}
    assert space_id(**other).name != space_id(**MODEL).name
