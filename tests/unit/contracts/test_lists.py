"""What a changed list of codes or actions takes away from its readers."""

from eai.contracts.changes.lists import broken_errors, broken_events

CODE = {"code": "not_found", "status": 404, "retryable": False, "details": ["model"]}
ACTION = {"action": "kb.read", "resources": ["base"], "facts": ["code"], "details": ["name"]}


def test_a_code_that_is_gone_or_means_something_else_is_told() -> None:
    def said(**changes: object) -> list[str]:
        return list(broken_errors({"errors": [CODE]}, {"errors": [{**CODE, **changes}]}))

    assert list(broken_errors({"errors": [CODE]}, {"errors": []})) == ["error not_found: the code is gone"]
    assert said(status=410) == ["error not_found: status is 410 now, and was 404"]
    assert said(retryable=True) == ["error not_found: retryable is True now, and was False"]
    assert said(details=[]) == ["error not_found: model is gone from details"]
    assert said(details=["model", "more"], message_i18n={}) == []


def test_an_action_that_is_gone_or_tells_less_is_told() -> None:
    def said(**changes: object) -> list[str]:
        return list(broken_events({"actions": [ACTION]}, {"actions": [{**ACTION, **changes}]}))

    assert list(broken_events({"actions": [ACTION]}, {"actions": []})) == ["audit action kb.read: it is gone"]
    assert said(facts=[]) == ["audit action kb.read: code is gone from facts"]
    assert said(details=[]) == ["audit action kb.read: name is gone from details"]
    assert said(resources=["document"]) == ["audit action kb.read: base is gone from resources"]
    assert said(facts=["code", "more"]) == []
