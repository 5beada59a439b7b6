"""What the blacklist says of a link, asked for each link of each page."""

from collections import defaultdict
from collections.abc import Iterable

from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, host_forms
from issuetracker_dagster.model.urls import decoded_path, host_of
from issuetracker_dagster.stages.parser.patterns import found_in, path_of


class Blacklist:
    """Entries by host, those of a single path by that path."""

    def __init__(self, entries: Iterable[BlacklistEntry] = ()) -> None:
        self._by_host: dict[str, list[BlacklistEntry]] = defaultdict(list)
        # Sections found on their own are single paths, and looked up: of thousands, each would be tried on each link.
        self._by_path: dict[tuple[str, str], set[BlacklistMode]] = defaultdict(set)
        for entry in entries:
            path = path_of(entry.path_pattern)
            if path is None:
                self._by_host[entry.host_pattern].append(entry)
            else:
                self._by_path[entry.host_pattern, path].add(entry.mode)

    def mode(self, url: str) -> BlacklistMode | None:
        """The mode of a normalised URL, None when no entry is about it; drop wins over extract_links_only."""
        path = decoded_path(url)
        modes: set[BlacklistMode] = set()
        for form in host_forms(host_of(url)):
            modes |= self._by_path.get((form, path), set())
            modes |= {entry.mode for entry in self._by_host.get(form, ()) if found_in(entry.path_pattern, path)}
        return BlacklistMode.DROP if BlacklistMode.DROP in modes else next(iter(modes), None)
