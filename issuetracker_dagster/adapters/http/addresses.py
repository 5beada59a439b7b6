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
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NOBODY = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",  # a public number, but what answers is the inside of a cloud
        "192.0.0.0/24",  # protocol assignments, the metadata of another cloud among them
        "192.88.99.0/24",  # 6to4 relays, withdrawn
        "2002::/16",  # 6to4: any IPv4 address may be in it
        "3fff::/20",  # documentation
    )
)
"""What some version of Python counts as global although nobody on the internet is meant."""


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
    """Whether anybody on the internet could be meant; an IPv6 address that carries an IPv4 one is judged by that."""
    if isinstance(address, ipaddress.IPv6Address):
        carried = _carried(address)
        if carried is not None:
            return is_public(carried)
        if address not in _GLOBAL_UNICAST:
            return False  # nothing else was given out, and what Python calls global would be everything it doesn't know
    if any(address in network for network in _NOBODY):
        return False
    return address.is_global and not address.is_multicast


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 host that is reached at the address: mapped, or behind NAT64."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


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
