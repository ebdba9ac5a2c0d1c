"""The matrix covers the running product whole: no operation, scope or id is left out."""

from tests.api.matrix.operations import PUBLIC, document, operations, resolved
from tests.api.matrix.requests import VALID, Request
from tests.api.matrix.world import TENANT_SCOPES, reindexes_end, things_of
from tests.stack import Json, Stack

WITHOUT_SCOPE = {
    "create_api_key", "list_api_keys", "get_api_key", "rotate_api_key", "revoke_api_key", "get_me",
    "get_job", "follow_job", "list_contracts", "get_contract", "validate_contract",
}  # fmt: skip
"""What any credential opens; the service looks at whose key or job it is. Forms are everybody's."""


async def test_the_running_product_serves_these_operations(stack: Stack) -> None:
    async with stack.caller(None) as anybody:
        assert await anybody.got("/openapi.json") == document()


def test_every_operation_has_a_request_here_and_none_is_of_the_past() -> None:
    assert set(VALID) == set(operations())


def test_every_operation_says_which_scope_opens_it() -> None:
    without = {name for name, operation in operations().items() if not operation.scopes}
    assert without == WITHOUT_SCOPE
    for path, methods in document()["paths"].items():
        for operation in methods.values():
            assert operation["operationId"] in PUBLIC or operation["security"], path


def test_the_scopes_of_the_matrix_are_those_of_the_product() -> None:
    named = {scope for operation in operations().values() for scope in operation.scopes}
    assert named - TENANT_SCOPES == {"platform:admin"}


def test_every_reference_in_the_document_leads_somewhere() -> None:
    def walk(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                assert resolved(value), value
            for member in value.values():
                walk(member)
        elif isinstance(value, list):
            for member in value:
                walk(member)

    walk(document())


async def test_the_requests_of_the_matrix_are_valid(stack: Stack) -> None:
    """Else a refusal would prove nothing. What takes rights or deletes comes last, the inner first."""
    company = await stack.company()
    things = await things_of(company)
    steward = await company.person("data_steward", clearance="secret")
    # The administrator may be behind everybody, and decides on nothing.
    callers = {"review_document": steward.api}
    methods = ["GET", "POST", "PATCH", "PUT", "DELETE"]
    ordered = sorted(operations().values(), key=lambda o: (methods.index(o.method), -o.path.count("/")))
    refused: dict[str, Json] = {}
    for operation in ordered:
        caller = stack.operator if operation.is_for_operators else callers.get(operation.name, company.admin)
        answer = await Request.of(operation, things).sent(caller)
        if operation.name == "roll_back_reindex_job":
            await reindexes_end(company, things.base)
        if not 200 <= answer.status_code < 300:
            refused[operation.name] = answer.json()
    assert refused == {}
