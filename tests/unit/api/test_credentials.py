import pytest

from eai.api.credentials import presented_credential
from eai.api.errors import AmbiguousCredentials
from eai.kernel.errors import Unauthenticated

_KEY = "eai_0123456789abcdef_" + "a" * 64


def _presented(*headers: tuple[bytes, bytes]) -> str:
    return presented_credential({"headers": list(headers)})


def test_a_bearer_key_is_presented() -> None:
    assert _presented((b"authorization", f"Bearer {_KEY}".encode())) == _KEY
    assert _presented((b"authorization", f"bearer   {_KEY} ".encode())) == _KEY


def test_an_api_key_header_presents_the_same() -> None:
    assert _presented((b"x-api-key", _KEY.encode())) == _KEY


def test_cookies_and_tenant_headers_present_nothing() -> None:
    for name in (b"cookie", b"x-tenant-id", b"x-forwarded-user", b"proxy-authorization"):
        with pytest.raises(Unauthenticated):
            _presented((name, _KEY.encode()))


def test_two_credentials_are_refused_even_when_equal() -> None:
    bearer = (b"authorization", f"Bearer {_KEY}".encode())
    for other in ((b"x-api-key", _KEY.encode()), bearer, (b"authorization", b"Basic eDp5")):
        with pytest.raises(AmbiguousCredentials):
            _presented(bearer, other)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Basic dXNlcjpwYXNz",
        b"Bearer eai_' OR 1=1 --_x",
        b"Bearer eai_\x00_x",
        "Bearer eai_é_x".encode(),
        "Bearer eai_١٢٣_x".encode(),
        b"Bearer " + b"a" * 1_000_000,
    ],
)
def test_what_cannot_be_a_key_is_refused(value: bytes) -> None:
    with pytest.raises(Unauthenticated):
        _presented((b"authorization", value))
