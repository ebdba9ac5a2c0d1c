"""What of a submission is refused, and as what."""

import pytest
from pydantic import ValidationError

from eai.ingestion.schemas import DocumentSubmission


@pytest.mark.parametrize("field", ["content", "external_id"])
def test_an_empty_text_is_told_as_too_short_a_text(field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        DocumentSubmission.model_validate({"title": "Parking", "content": "Some words.", field: ""})
    assert [(fault["loc"], fault["type"]) for fault in refused.value.errors()] == [
        ((field,), "string_too_short")
    ]
