"""Which addresses may be asked: a page may not make the crawler talk to the inside of its own network."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from aiohttp.abc import AbstractResolver, ResolveResult

from issuetracker_dagster.errors import PermanentError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host, port) -> addresses as text; raises OSError when the name has none."""

_LOOPBACK = "127.0.0.1"
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")
_NOBODY = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.88.99.0/24",  # 6to4 relays, withdrawn
        "64:ff9b:1::/48",  # NAT64 inside a network: any IPv4 address may be in it, at any of five places
        "::ffff:0:0:0/96",  # IPv4-translated
        "fec0::/10",  # site-local, deprecated but routed where it is still set up
    )
)
"""What Python counts as global although nobody on the internet is meant."""


class AddressPolicy:
    """Public addresses may be asked; others only when all are allowed, or their network is named."""

    def __init__(self, *, allow_private: bool = False, allowed_networks: Sequence[str] = ()) -> None:
        self._allow_private = allow_private
        self._networks = [ipaddress.ip_network(network) for network in allowed_networks]

    def check(self, host: str, address: str) -> None:
        """Raises `PermanentError` with code `private_address`, or `bad_url` for what is no address."""
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            raise PermanentError(f"{address!r} isn't an IP address", code="bad_url") from None
        if self._allow_private or is_public(parsed):
            return
        if any(parsed in network for network in self._networks):
            return
        raise PermanentError(
            f"{host} is at {address}, which isn't a public address (FETCH_ALLOW_PRIVATE_ADDRESSES)",
            code="private_address",
        )


def is_public(address: Address) -> bool:
    """Whether anybody on the internet could be meant, also by the IPv4 address that an IPv6 one carries."""
    if any(address in network for network in _NOBODY):
        return False
    return all(one.is_global and not one.is_multicast for one in (address, *_embedded(address)))


def _embedded(address: Address) -> tuple[Address, ...]:
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address.sixtofour:
        return (address.sixtofour,)
    if address.teredo:
        return address.teredo
    if address in _NAT64 or address in _IPV4_COMPATIBLE:
        return (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()


def is_localhost(host: str) -> bool:
    """Whether RFC 6761 reserves the name for the loopback interface."""
    name = host.lower().removesuffix(".")
    return name == "localhost" or name.endswith(".localhost")


async def system_lookup(host: str, port: int) -> Sequence[str]:
    """The addresses that the operating system knows for a name.

    `localhost` and names below it are this machine (RFC 6761): no resolver is asked, not all of them know it, and one
    out there that answered anything else would be wrong.
    """
    if is_localhost(host):
        return [_LOOPBACK]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for _, _, _, _, sockaddr in found]


class CheckedResolver(AbstractResolver):
    """Looks a name up once and hands the connector only addresses that were checked.

    The connector connects to exactly these, so a name that answers differently a moment later changes nothing.
    """

    def __init__(self, policy: AddressPolicy, lookup: Lookup) -> None:
        self._policy = policy
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        del family  # both families are looked up; the connector sorts them
        try:
            addresses = list(dict.fromkeys(await self._lookup(host, port)))
        except UnicodeError as error:
            raise OSError(f"{host!r} can't be looked up: {error}") from None
        if not addresses:
            raise OSError(f"{host!r} has no address")
        for address in addresses:
            self._policy.check(host, address)
        return [_result(host, port, address) for address in addresses]

    async def close(self) -> None:
        return None


def _result(host: str, port: int, address: str) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
