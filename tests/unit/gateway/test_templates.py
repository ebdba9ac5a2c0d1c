import pytest

from eai.gateway.ports import EmbeddingRole
from eai.gateway.templates import TEMPLATES, applied_roles, template_of

DOCUMENT, QUERY = EmbeddingRole.DOCUMENT, EmbeddingRole.QUERY


def test_eight_providers_have_a_template_and_a_default_model() -> None:
    assert {name: template.default_model for name, template in TEMPLATES.items()} == {
        "openai": "text-embedding-3-small",
        "azure-openai": "text-embedding-3-small",
        "ollama": "nomic-embed-text",
        "mistral": "mistral-embed",
        "bedrock": "amazon.titan-embed-text-v2:0",
        "cohere": "embed-english-v3.0",
        "gemini": "gemini-embedding-2",
        "vertex": "text-embedding-005",
    }


def test_the_template_of_a_model_is_found_by_how_it_begins() -> None:
    assert template_of("vertex_ai/text-embedding-004") is TEMPLATES["vertex"]
    assert template_of("azure/our-own-deployment") is TEMPLATES["azure-openai"]
    assert template_of("voyage/voyage-3") is None
    assert template_of("openai") is None


def test_a_role_goes_under_the_name_that_the_provider_lists() -> None:
    assert applied_roles("cohere/embed-english-v3.0", {}, {"input_type", "truncate"}) == {
        DOCUMENT: {"input_type": "search_document"},
        QUERY: {"input_type": "search_query"},
    }
    assert applied_roles("vertex_ai/text-embedding-005", {}, {"task_type"}) == {
        DOCUMENT: {"task_type": "RETRIEVAL_DOCUMENT"},
        QUERY: {"task_type": "RETRIEVAL_QUERY"},
    }


def test_a_provider_that_lists_no_name_for_it_is_told_no_role() -> None:
    registered = {DOCUMENT: {"input_type": "search_document"}, QUERY: {"task_type": "RETRIEVAL_QUERY"}}
    assert applied_roles("openai/text-embedding-3-small", registered, {"dimensions", "user"}) == {
        DOCUMENT: {},
        QUERY: {},
    }


@pytest.mark.parametrize("task", ["SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING"])
@pytest.mark.parametrize("sides", [(DOCUMENT,), (QUERY,), (DOCUMENT, QUERY)])
def test_a_pinned_task_that_is_not_retrieval_wins_on_both_sides(
    task: str, sides: tuple[EmbeddingRole, ...]
) -> None:
    registered = {side: {"task_type": task} for side in sides}
    assert applied_roles("gemini/gemini-embedding-001", registered, {"task_type"}) == {
        DOCUMENT: {"task_type": task},
        QUERY: {"task_type": task},
    }


@pytest.mark.parametrize("task", ["RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY", "retrieval_document"])
def test_a_pinned_retrieval_task_says_no_more_than_the_role(task: str) -> None:
    registered = {DOCUMENT: {"task_type": task}, QUERY: {"task_type": task}}
    assert applied_roles("gemini/gemini-embedding-001", registered, {"task_type"}) == {
        DOCUMENT: {"task_type": "RETRIEVAL_DOCUMENT"},
        QUERY: {"task_type": "RETRIEVAL_QUERY"},
    }


def test_a_model_that_is_told_in_its_text_always_is_and_gets_no_task() -> None:
    registered = {DOCUMENT: {"task_type": "CLUSTERING"}}
    assert applied_roles("gemini/gemini-embedding-2", registered, {"task_type", "title"}) == {
        DOCUMENT: {"text_prefix": "title: none | text: "},
        QUERY: {"text_prefix": "task: search result | query: "},
    }


def test_of_a_registration_only_the_side_of_a_search_goes_along() -> None:
    registered = {
        DOCUMENT: {"truncate": "END", "api_base": "http://elsewhere.example", "text_prefix": "passage: "}
    }
    assert applied_roles("cohere/embed-english-v3.0", registered, {"input_type", "truncate"})[DOCUMENT] == {
        "input_type": "search_document",
        "text_prefix": "passage: ",
    }
