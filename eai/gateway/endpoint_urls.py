"""Where an endpoint may be said to answer. Nothing is looked up and nothing is called here."""

import ipaddress

from eai.gateway.registry import EndpointKind
from eai.kernel.errors import InvalidInput
from eai.platform.egress import AddressRefused, Allowance, Destination


def checked_url(kind: EndpointKind, url: str | None, allowance: Allowance) -> str | None:
    """The URL as it is kept, without a slash at its end. Raises InvalidInput at `url`."""
    if url is None:
        if kind is not EndpointKind.LOCAL:
            raise InvalidInput.field("url", "missing", "is required here")
        return None
    if kind is EndpointKind.LOCAL:
        raise InvalidInput.field("url", "url_of_local", "a local endpoint has no URL")
    try:
        destination = Destination.parse(url)
    except AddressRefused:
        raise InvalidInput.field("url", "url_form", "write https://host:port/path and nothing more") from None
    if destination.is_plain and not _is_listed(destination.host, allowance):
        raise InvalidInput.field(
            "url", "url_plain", "without TLS only what EAI_EGRESS_ALLOW lists is reached"
        )
    return url.rstrip("/")


def origin(url: str | None) -> tuple[str, str, int] | None:
    """Whom a URL leads to: scheme, host and port."""
    if url is None:
        return None
    destination = Destination.parse(url)
    return destination.scheme, destination.host, destination.port


def _is_listed(host: str, allowance: Allowance) -> bool:
    try:
        return allowance.lists(host, ipaddress.ip_address(host))
    except ValueError:
        return host in allowance.hosts
