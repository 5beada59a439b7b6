"""Whose voice a content is, pure."""

from issuetracker_dagster.model.urls import BadUrl, authority_of
from issuetracker_dagster.stages.domains import registrable_domain


def source_of(url: str, host: str = "") -> str:
    """The registrable domain of a URL; host and port where there is none (addresses, `news-a.localhost:8080`).

    Two sites of one company count as one voice, two servers on one address as two.
    """
    try:
        return registrable_domain(authority_of(url))
    except BadUrl:
        return registrable_domain(host)
