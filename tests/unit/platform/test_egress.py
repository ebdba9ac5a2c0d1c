"""Which spellings, addresses and answers of a resolver lead nowhere."""

import ipaddress
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.platform.egress import AddressRefused, Allowance, Destination, Egress

PUBLIC = "93.184.215.14"
PUBLIC_6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"


class Names:
    """A resolver that answers what it is told, and counts how often it is asked."""

    def __init__(self, *addresses: str) -> None:
        self.addresses: Sequence[str] = addresses
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self.addresses


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def vetted(url: str, *addresses: str, allow: Sequence[str] = ()) -> tuple[str, ...]:
    egress = Egress(Allowance.parse(allow), resolve=Names(*addresses))
    destination = Destination.parse(url)
    await egress.vet(destination)
    return egress.pinned(destination.host, is_plain=destination.is_plain)


async def is_refused(url: str, *addresses: str, allow: Sequence[str] = ()) -> bool:
    try:
        await vetted(url, *addresses, allow=allow)
    except AddressRefused:
        return True
    return False


@pytest.mark.parametrize(
    "url",
    [
        "https://127.1/v1", "https://0x7f.1/v1", "https://0x7f000001/v1", "https://2130706433/v1",
        "https://017700000001/v1", "https://0177.0.0.1/v1", "https://127.0.0.01/v1", "https://127.0.0.1./v1",
        "https://[::ffff:127.0.0.1%eth0]/v1", "https://[fe80::1%25eth0]/v1", "https://host./v1",
        "https://user@host/v1", "https://user:secret@host/v1", "https://a@b@c/v1",
        "https://127.0.0.1:6666\\@1.1.1.1/", "https://host\t/v1", "https://ho\nst/v1",
        "https://host/v1\r\nX: y",
        "https://host%00.example/v1", "https://host。example/v1", "https://exämple.org/v1", "https:///v1",
        "https://host/v1?api_base=x", "https://host/v1#x", "https://host:0/v1", "https://host:65536/v1",
        "https://host:/v1", "ftp://host/v1", "file:///etc/passwd", "gopher://host", "//host", "host", "",
        "https://-host/v1", "https://ho..st/v1", f"https://{'a' * 64}.example/v1", "https://[127.0.0.1]x/v1",
    ],
)  # fmt: skip
def test_a_spelling_that_could_mean_something_else_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        Destination.parse(url)


def test_a_usual_spelling_is_taken_apart() -> None:
    assert Destination.parse("https://API.Example.org/v1") == Destination(
        "https", "api.example.org", 443, "/v1"
    )
    assert Destination.parse("http://[2606:2800:0::1]:8080") == Destination("http", "2606:2800::1", 8080, "")


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://host/v1", "host"),
        ("https://host:443/v1", "host"),
        ("http://host:443/v1", "host:443"),
        ("https://[::1]:8443", "[::1]:8443"),
        ("http://[::1]", "[::1]"),
    ],
)
def test_the_host_header_names_an_unusual_port(url: str, authority: str) -> None:
    assert Destination.parse(url).authority == authority


@pytest.mark.parametrize("address", [PUBLIC, PUBLIC_6, "1.1.1.1"])
async def test_the_public_internet_is_reached_over_tls(address: str) -> None:
    assert await vetted("https://models.example/v1", address) == (address,)


async def test_without_tls_only_what_is_listed_is_reached() -> None:
    assert await is_refused("http://models.example/v1", PUBLIC)
    assert not await is_refused("http://models.example/v1", PUBLIC, allow=["models.example"])
    assert not await is_refused("http://models.example/v1", PUBLIC, allow=["93.184.215.0/24"])


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.9.10", "10.0.0.5", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
        "::1", "fd12:3456::1", "::ffff:10.0.0.5", "::ffff:127.0.0.1",
    ],
)  # fmt: skip
async def test_a_private_address_is_reached_only_where_it_is_listed(address: str) -> None:
    url = "https://models.internal/v1"
    assert await is_refused(url, address)
    assert not await is_refused(url, address, allow=["models.internal"])
    assert await is_refused(url, address, allow=["other.internal", "203.0.113.0/24"])
    plain = ipaddress.ip_address(address)
    inner = getattr(plain, "ipv4_mapped", None) or plain
    assert not await is_refused(url, address, allow=[str(inner)])


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.1.1", "fe80::1", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200",
        "192.0.0.192", "168.63.129.16", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1",
        "2002:a9fe:a9fe::", "2001:0:a9fe:a9fe::1", "::a9fe:a9fe", "::7f00:1", "0.0.0.0", "::", "0.1.2.3",
        "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.51.100.7", "203.0.113.7",
        "198.18.0.1", "2001:db8::1", "64:ff9b:1::1", "4000::1", "fe80::1%eth0",
    ],
)  # fmt: skip
async def test_metadata_services_and_nobodys_addresses_are_never_reached(address: str) -> None:
    everything = ["models.example", "0.0.0.0/0", "::/0"]
    assert await is_refused("https://models.example/v1", address)
    assert await is_refused("https://models.example/v1", address, allow=everything)


async def test_a_literal_address_is_judged_like_any_other() -> None:
    assert await is_refused("https://169.254.169.254/latest")
    assert await is_refused("https://[::ffff:169.254.169.254]/latest", allow=["::/0"])
    assert await is_refused("https://127.0.0.1/v1")
    assert await vetted("http://127.0.0.1:4000", allow=["127.0.0.1"]) == ("127.0.0.1",)
    assert await vetted("http://[::ffff:127.0.0.1]:4000", allow=["127.0.0.0/8"]) == ("127.0.0.1",)


async def test_one_address_that_is_refused_refuses_them_all() -> None:
    assert await is_refused("https://models.example/v1", PUBLIC, "10.0.0.1")
    assert await is_refused(
        "https://models.example/v1", PUBLIC_6, "169.254.169.254", allow=["models.example"]
    )
    assert await vetted("https://models.example/v1", PUBLIC, PUBLIC_6) == (PUBLIC, PUBLIC_6)


async def test_an_answer_that_changes_leads_nowhere_else() -> None:
    names, clock = Names(PUBLIC), Clock()
    egress = Egress(Allowance(), resolve=names, clock=clock)
    destination = Destination.parse("https://models.example/v1")
    await egress.vet(destination)
    names.addresses = ("127.0.0.1",)
    assert egress.pinned("models.example", is_plain=False) == (PUBLIC,)
    await egress.vet(destination)
    assert egress.pinned("models.example", is_plain=False) == (PUBLIC,)
    assert names.asked == 1
    clock.now = 11.0
    with pytest.raises(AddressRefused):
        await egress.vet(destination)
    with pytest.raises(AddressRefused):
        egress.pinned("models.example", is_plain=False)


async def test_a_name_is_looked_up_again_where_nobody_answered() -> None:
    names = Names(PUBLIC)
    egress = Egress(Allowance(), resolve=names)
    destination = Destination.parse("https://models.example/v1")
    await egress.vet(destination)
    egress.doubt("models.example")
    names.addresses = (PUBLIC_6,)
    await egress.vet(destination)
    assert egress.pinned("models.example", is_plain=False) == (PUBLIC_6,)


async def test_what_was_vetted_for_tls_may_not_be_reached_without() -> None:
    egress = Egress(Allowance(), resolve=Names(PUBLIC))
    await egress.vet(Destination.parse("https://models.example/v1"))
    with pytest.raises(AddressRefused):
        await egress.vet(Destination.parse("http://models.example/v1"))
    with pytest.raises(AddressRefused):
        egress.pinned("models.example", is_plain=True)


async def test_a_name_without_an_address_is_missing_rather_than_refused() -> None:
    egress = Egress(Allowance(), resolve=Names())
    with pytest.raises(OSError, match="no address"):
        await egress.vet(Destination.parse("https://models.example/v1"))


@pytest.mark.parametrize("entry", ["10.0.0.1/8", "http://host", "host:80", "*", "*.internal", "127.1", ""])
def test_an_entry_that_is_neither_host_nor_network_is_a_fault(entry: str) -> None:
    with pytest.raises(ValueError, match="neither a host name nor a network"):
        Allowance.parse([entry])


@given(st.ip_addresses())
async def test_whatever_is_reached_without_being_listed_is_global(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if not await is_refused("https://models.example/v1", str(address)):
        assert address.is_global
        assert not address.is_multicast
