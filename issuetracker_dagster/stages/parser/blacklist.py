"""What the blacklist says of a link, asked for each link of each page."""

from collections import defaultdict
from collections.abc import Iterable

from issuetracker_dagster.model.records import BlacklistEntry, BlacklistMode
from issuetracker_dagster.model.rules import host_forms
from issuetracker_dagster.model.urls import decoded_path, host_of
from issuetracker_dagster.stages.parser.patterns import found_in


class Blacklist:
    """Entries by host: sections found on their own add up to thousands, of which a link concerns a few."""

    def __init__(self, entries: Iterable[BlacklistEntry] = ()) -> None:
        self._by_host: dict[str, list[BlacklistEntry]] = defaultdict(list)
        for entry in entries:
            self._by_host[entry.host_pattern].append(entry)

    def mode(self, url: str) -> BlacklistMode | None:
        """The mode of a normalised URL, None when no entry is about it; drop wins over extract_links_only."""
        entries = [entry for form in host_forms(host_of(url)) for entry in self._by_host.get(form, ())]
        if not entries:
            return None
        path = decoded_path(url)
        modes = {entry.mode for entry in entries if found_in(entry.path_pattern, path)}
        return BlacklistMode.DROP if BlacklistMode.DROP in modes else next(iter(modes), None)
