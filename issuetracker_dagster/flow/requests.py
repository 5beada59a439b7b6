"""What is asked to be published: the job under the one name that its page has, and what the blacklist makes of it."""

import hashlib

import msgspec

from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistMode
from issuetracker_dagster.model.urls import BadUrl, ParameterRule, reduced, spelled
from issuetracker_dagster.ports.locks import Mark

LONGEST_URL = 8_000
"""In characters. A longer one is no page, and its message might cost its whole batch the broker's consent."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A job to publish. `parent` names who asks (a page's root id, a seed and its due time): the same parent asking
    again gets the same root id, so that a repeated publish is recognised. `dedupe` False for jobs that must pass by.
    """

    job: CrawlJob
    parent: str
    priority: Priority | None = None
    trace_id: str = ""
    dedupe: bool = True


class Asked(msgspec.Struct, frozen=True):
    """A request with the job as it is known, and its root id, which owns its marker."""

    request: Request
    job: CrawlJob
    root_id: str

    @property
    def mark(self) -> Mark:
        return Mark(self.job.url, self.root_id)


def root_id_of(parent: str, url: str) -> str:
    """The root id of a URL found by `parent`: 96 bits of a hash, the same each time it is asked."""
    return hashlib.sha256(f"{parent}\n{url}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def identified(request: Request, parameters: HostTable[ParameterRule]) -> Asked:
    """The request under the name of its page. Raises `BadUrl`, also for a URL that is too long."""
    url = name_of(request.job.url, parameters)
    if len(url) > LONGEST_URL:
        raise BadUrl(f"{url[:200]!r} and so on is {len(url)} characters long")
    job = request.job if url == request.job.url else msgspec.structs.replace(request.job, url=url)
    return Asked(request, job, root_id_of(request.parent, url))


def name_of(url: str, parameters: HostTable[ParameterRule]) -> str:
    """The URL under which a page is published, known and stored. Idempotent; raises `BadUrl`."""
    url = spelled(url)
    return reduced(url, parameters.find(url) if "?" in url and len(parameters) else None)


def passed_by(asked: Asked, blacklist: HostTable[BlacklistMode]) -> Asked | None:
    """The request as the blacklist lets it pass: not at all, or an article's page for its links only."""
    mode = blacklist.find(asked.job.url)
    if mode is BlacklistMode.DROP:
        return None
    if mode is BlacklistMode.EXTRACT_LINKS_ONLY and asked.job.target_type is TargetType.ARTICLE:
        job = msgspec.structs.replace(asked.job, target_type=TargetType.CATEGORY)
        return msgspec.structs.replace(asked, job=job)
    return asked
