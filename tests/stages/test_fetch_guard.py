"""Neither a redirect nor a robots.txt leads inside: whom it names is never called, whatever status and spelling."""

from collections.abc import Iterator

import pytest

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from tests.contracts.address_watch import Watch, watching
from tests.stages.fetch_world import FetchWorld
from tests.stages.http_site import Site, fixed, redirect

TARGETS = {
    "loopback": "http://127.0.0.3:{port}/",
    "loopback, decimal": "http://2130706435:{port}/",
    "loopback, IPv6": "http://[::1]:{port}/",
    "mapped loopback": "https://[::ffff:127.0.0.3]:{port}/",
    "metadata": "http://169.254.169.254:{port}/latest/meta-data/iam/security-credentials/",
    "metadata, IPv6": "http://[fd00:ec2::254]:{port}/latest/api/token",
    "private": "https://10.0.0.1:{port}/",
    "without scheme": "//192.168.0.1:{port}/",
    "without scheme, backslashes": "\\\\192.168.0.1:{port}\\",
    "a slash and a backslash": "/\\127.0.0.3:{port}/",
    "a host as user name": "http://news.example.com@127.0.0.3:{port}/",
    "unspecified": "http://0:{port}/",
}
STATUSES = [301, 302, 303, 307, 308]


@pytest.fixture
def watch() -> Iterator[Watch]:
    with watching() as watch:
        yield watch


@pytest.fixture
def world(fetcher: AiohttpFetcher, site: Site, other: Site) -> FetchWorld:
    for one in (site, other):
        one.pages.clear()
        one.hits.clear()
    return FetchWorld(fetcher)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_whom_a_redirect_names_inside_is_not_called(
    world: FetchWorld, site: Site, watch: Watch, target: str, status: int
) -> None:
    site.pages["/trap"] = redirect(target.format(port=watch.port), status)
    assert world.refused(site.url("/trap")) == "private_address"
    assert site.hits["/trap"] == 1
    assert watch.nobody_was_called


@pytest.mark.parametrize("status", STATUSES)
def test_whom_a_second_redirect_on_another_host_names_inside_is_not_called(
    world: FetchWorld, site: Site, other: Site, watch: Watch, status: int
) -> None:
    site.pages["/trap"] = redirect(other.url("/further"), status)
    other.pages["/further"] = redirect(f"http://127.0.0.3:{watch.port}/", status)
    assert world.refused(site.url("/trap")) == "private_address"
    assert other.hits["/further"] == 1
    assert watch.nobody_was_called


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_whom_a_robots_txt_names_inside_is_not_called(world: FetchWorld, site: Site, watch: Watch, target: str) -> None:
    site.pages["/robots.txt"] = redirect(target.format(port=watch.port))
    site.pages["/a"] = fixed(b"a page")
    assert world.fetched(site.url("/a")).body == b"a page"
    assert site.hits["/robots.txt"] == 1
    assert watch.nobody_was_called


def test_a_refused_redirect_leaves_nothing_behind(world: FetchWorld, site: Site, watch: Watch) -> None:
    site.pages["/trap"] = redirect(f"http://127.0.0.3:{watch.port}/")
    world.refused(site.url("/trap"))
    assert world.stores.raw_contents.count() == 0
    site.pages["/a"] = fixed(b"a page")
    assert world.fetched(site.url("/a")).body == b"a page"
