"""Which hosts are to be rendered, as the database tells it."""

from issuetracker_dagster.model.rules import FetcherRule
from tests.contracts.store_worlds import Stores


def test_the_hosts_of_rules_that_ask_for_rendering_are_told(stores: Stores) -> None:
    assert list(stores.reports.rendered_hosts()) == []
    for host, rendering in (("b.com", True), ("plain.com", False), ("*.a.com", True)):
        stores.parser_rules.save_fetcher_rule(FetcherRule(host_pattern=host, rendering=rendering))
    assert list(stores.reports.rendered_hosts()) == ["*.a.com", "b.com"]
    stores.parser_rules.save_fetcher_rule(FetcherRule(host_pattern="b.com"))
    assert list(stores.reports.rendered_hosts()) == ["*.a.com"]
