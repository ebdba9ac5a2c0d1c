import pytest

from eai.gateway.endpoint_urls import checked_url, origin
from eai.gateway.registry import EndpointKind
from eai.kernel.errors import InvalidInput
from eai.platform.egress import Allowance

NOBODY = Allowance()
LISTED = Allowance.parse(["models.internal", "10.0.0.0/8", "127.0.0.1"])


def fault(kind: EndpointKind, url: str | None, allowance: Allowance = NOBODY) -> object:
    with pytest.raises(InvalidInput) as refused:
        checked_url(kind, url, allowance)
    (found,) = refused.value.details["fields"]  # type: ignore[misc, union-attr]
    return found["path"], found["code"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        ("https://api.example.com/v1/", "https://api.example.com/v1"),
        ("https://api.example.com:8443", "https://api.example.com:8443"),
        ("https://10.1.2.3/v1", "https://10.1.2.3/v1"),
    ],
)
def test_a_plain_https_url_is_kept(url: str, kept: str) -> None:
    assert checked_url(EndpointKind.OPENAI, url, NOBODY) == kept


@pytest.mark.parametrize(
    "url",
    [
        "https://user:secret@api.example.com",
        "https://api.example.com/v1?key=x",
        "https://api.example.com/v1#x",
        "https://",
        "ftp://api.example.com",
        "api.example.com",
        "https://api.example.com\\@evil.example",
        "https://api.example.com/\r\nhost: evil",
        "https://0x7f.1/",
        "https://api.example.com:99999",
        "file:///etc/passwd",
        " https://api.example.com",
    ],
)
def test_anything_more_than_host_port_and_path_is_refused(url: str) -> None:
    assert fault(EndpointKind.OPENAI, url, LISTED) == ("url", "url_form")


@pytest.mark.parametrize("url", ["http://api.example.com", "http://10.0.0.1", "http://127.0.0.1:8000/v1"])
def test_without_tls_only_what_is_listed_is_reached(url: str) -> None:
    assert fault(EndpointKind.OPENAI, url) == ("url", "url_plain")


@pytest.mark.parametrize(
    "url", ["http://models.internal:8000/v1", "http://10.9.8.7/v1", "http://127.0.0.1:11434"]
)
def test_what_is_listed_may_go_without_tls(url: str) -> None:
    assert checked_url(EndpointKind.LITELLM, url, LISTED) == url


def test_which_kinds_have_a_url() -> None:
    assert fault(EndpointKind.OPENAI, None) == ("url", "missing")
    assert fault(EndpointKind.LOCAL, "https://api.example.com") == ("url", "url_of_local")
    assert fault(EndpointKind.LITELLM, None) == ("url", "missing")
    assert checked_url(EndpointKind.LOCAL, None, NOBODY) is None


def test_an_origin_is_scheme_host_and_port() -> None:
    assert origin("https://A.example/v1") == origin("https://a.example:443/other")
    assert origin("https://a.example") != origin("http://a.example")
    assert origin(None) is None
