"""Where this installation may connect to: hosts judged by the addresses they have at that moment.

An address is vetted and then pinned: connections go to exactly the addresses that were vetted, so that
a name whose answer changes in between leads nowhere else. Nothing here opens a connection.
"""

import asyncio
import ipaddress
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_PIN_S = 10.0
"""How long a vetted answer serves before the name is looked up again."""

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?"
)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_NAME = 253
_HIGHEST_PORT = 65_535


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


_PRIVATE = _networks(
    "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"
)  # fmt: skip
"""Addresses inside a company or machine: reachable only where an operator lists them."""

_NEVER = _networks(
    # Metadata services hand credentials to whoever asks; some have addresses that look ordinary.
    "100.100.100.200/32", "168.63.129.16/32", "169.254.0.0/16", "192.0.0.0/24", "fd00:ec2::/32",
    "fd20:ce::/32", "fe80::/10",
    # Nobody's addresses, everybody's addresses, and those reserved for examples and measurements.
    "0.0.0.0/8", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "3fff::/20",
    # Tunnels, which lead to an IPv4 address of the sender's choice.
    "2002::/16",
)  # fmt: skip
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class AddressRefused(Exception):
    """A destination that may not be reached; `reason` is one of few fixed texts."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Destination:
    """A URL taken apart once; what is vetted is what is connected to. `path` is empty or begins with `/`."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    @lru_cache(maxsize=1_024)
    def parse(cls, url: str) -> Self:
        """Read one plain spelling: no user, query or fragment, and no disguised address.

        Raises AddressRefused.
        """
        parts = _URL.fullmatch(url)
        if parts is None:
            raise AddressRefused("the URL is not of the form https://host:port/path")
        scheme = parts["scheme"]
        port = int(parts["port"] or (443 if scheme == "https" else 80))
        if not 0 < port <= _HIGHEST_PORT:
            raise AddressRefused("the port does not exist")
        return cls(scheme, _host(parts["host"]), port, parts["path"] or "")

    @property
    def is_plain(self) -> bool:
        """Whether what is sent can be read on the way."""
        return self.scheme == "http"

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_usual = self.port == (80 if self.is_plain else 443)
        return host if is_usual else f"{host}:{self.port}"


def _host(written: str) -> str:
    host = written.lower()
    if host.startswith("["):
        return _literal(host[1:-1])
    labels = host.split(".")
    # Resolvers take 127.1, 0x7f.1 and 2130706433 for an address; a name never ends in a number.
    if _NUMBER.fullmatch(labels[-1]):
        return _literal(host)
    if len(host) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise AddressRefused("the host is no name")
    return host


def _literal(text: str) -> str:
    address = _address(text)
    if address is None:
        raise AddressRefused("the address is not written in its usual form")
    return str(address)


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # A zone chooses an interface, which is nothing a destination may do.
    return None if getattr(address, "scope_id", None) else address


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of `host` as this machine's resolver knows them. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an operator opened besides the public internet: hosts by name, and networks."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """From host names, addresses and networks in CIDR form. Raises ValueError naming the first fault."""
        hosts, networks = set(), []
        for entry in entries:
            network = _network(entry)
            if network is not None:
                networks.append(network)
                continue
            try:
                hosts.add(_host(entry))
            except AddressRefused:
                raise ValueError(
                    f"{entry!r} is neither a host name nor a network such as 10.0.0.0/8"
                ) from None
        return cls(frozenset(hosts), tuple(networks))

    def lists(self, host: str, address: Address) -> bool:
        """Whether an operator named this host, or a network around its address."""
        return host in self.hosts or any(
            address.version == network.version and address in network for network in self.networks
        )


def _network(entry: str) -> Network | None:
    try:
        return ipaddress.ip_network(entry)
    except ValueError:
        return None


@dataclass(slots=True)
class _Pin:
    addresses: tuple[str, ...]
    fresh_until: float


class Egress:
    """Vets destinations and remembers what was vetted."""

    def __init__(
        self,
        allowance: Allowance,
        *,
        resolve: Resolve = system_resolve,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowance = allowance
        self._resolve = resolve
        self._clock = clock
        self._pins: dict[tuple[str, bool], _Pin] = {}

    async def vet(self, destination: Destination) -> None:
        """Pin the destination's addresses when every one of them may be reached.

        Raises AddressRefused, also when only one of many is refused; OSError when there is none.
        """
        key = (destination.host, destination.is_plain)
        pin = self._pins.get(key)
        if pin is not None and self._clock() < pin.fresh_until:
            return
        found = await self._found(destination)
        if not found:
            raise OSError("the name has no address")
        try:
            addresses = tuple([self._vetted(destination, text) for text in found])
        except AddressRefused:
            # What was vetted before says nothing about an answer that has changed.
            self._pins.pop(key, None)
            raise
        self._pins[key] = _Pin(addresses, self._clock() + _PIN_S)

    def pinned(self, host: str, *, is_plain: bool) -> tuple[str, ...]:
        """The addresses that were vetted last. Raises AddressRefused for what was not."""
        pin = self._pins.get((host, is_plain))
        if pin is None:
            raise AddressRefused("the destination was not vetted")
        return pin.addresses

    def doubt(self, host: str) -> None:
        """Look the name up again before its next use, because nobody answered there."""
        for is_plain in (False, True):
            if pin := self._pins.get((host, is_plain)):
                pin.fresh_until = 0.0

    async def _found(self, destination: Destination) -> Sequence[str]:
        if _address(destination.host) is not None:
            return (destination.host,)
        return await self._resolve(destination.host, destination.port)

    def _vetted(self, destination: Destination, text: str) -> str:
        address = _address(text)
        if address is None:
            raise AddressRefused("the address is not written in its usual form")
        address = _unwrapped(address)
        is_listed = self._allowance.lists(destination.host, address)
        if _is_one_of(address, _PRIVATE) and not _is_one_of(address, _NEVER):
            if not is_listed:
                raise AddressRefused("the address is private and not listed in EAI_EGRESS_ALLOW")
        elif not _is_public(address):
            raise AddressRefused("the address is never reached")
        elif destination.is_plain and not is_listed:
            raise AddressRefused("without TLS only what is listed in EAI_EGRESS_ALLOW is reached")
        return str(address)


def _unwrapped(address: Address) -> Address:
    """The IPv4 address inside a mapped one: both lead to the same place, so both are judged as that."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_public(address: Address) -> bool:
    if _is_one_of(address, _NEVER) or _is_one_of(address, _PRIVATE):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return True
    if address in _NAT64:
        return _is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _UNICAST_6


def _is_one_of(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
