import asyncio
import socket
from collections.abc import Sequence

import pytest

from issuetracker_dagster.adapters.http.addresses import AddressPolicy, system_lookup
from issuetracker_dagster.errors import PermanentError


@pytest.mark.parametrize("host", ["localhost", "daily.localhost", "A.B.LocalHost", "daily.localhost."])
def test_names_below_localhost_are_this_machine_and_no_resolver_is_asked(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Sequence[object]:
        raise AssertionError("a resolver was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert list(asyncio.run(system_lookup(host, 80))) == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["localhost.example.invalid", "mylocalhost.invalid"])
def test_names_that_only_look_alike_are_looked_up(host: str) -> None:
    with pytest.raises(socket.gaierror):
        asyncio.run(system_lookup(host, 80))


def test_localhost_stays_refused_without_permission() -> None:
    with pytest.raises(PermanentError) as caught:
        AddressPolicy().check("daily.localhost", "127.0.0.1")
    assert caught.value.code == "private_address"
