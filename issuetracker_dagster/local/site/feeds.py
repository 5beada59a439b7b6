"""What a host offers to machines: RSS or Atom, sitemaps and robots.txt."""

from collections.abc import Sequence
from email.utils import format_datetime
from xml.sax.saxutils import escape

from issuetracker_dagster.local.site.articles import moment
from issuetracker_dagster.local.site.hosts import ODD, Host
from issuetracker_dagster.local.site.newsroom import sections
from issuetracker_dagster.local.site.stories import Story, section_path


def feed(host: Host, stories: Sequence[Story], base_url: str) -> str:
    """The host's feed in its own dialect and charset declaration."""
    return _atom(host, stories, base_url) if host.feed == "atom" else _rss(host, stories, base_url)


def _rss(host: Host, stories: Sequence[Story], base_url: str) -> str:
    items = "".join(
        f"""<item>
<title>{escape(story.title)}</title>
<link>{escape(base_url + story.path)}</link>
<guid isPermaLink="true">{escape(base_url + story.path)}</guid>
<description>{escape(story.summary)}</description>
<category>{escape(story.category)}</category>
<pubDate>{format_datetime(moment(host, story.published_ms))}</pubDate>
</item>
"""
        for story in stories
    )
    return f"""<?xml version="1.0" encoding="{host.charset}"?>
<rss version="2.0"><channel>
<title>{escape(host.title)}</title>
<link>{base_url}/</link>
<description>{escape(host.title)}</description>
<language>{host.language}</language>
{items}</channel></rss>
"""


def _atom(host: Host, stories: Sequence[Story], base_url: str) -> str:
    entries = "".join(
        f"""<entry>
<title>{escape(story.title)}</title>
<id>{escape(base_url + story.path)}</id>
<link href="{escape(base_url + story.path)}"/>
<summary>{escape(story.summary)}</summary>
<published>{moment(host, story.published_ms).isoformat()}</published>
<updated>{moment(host, story.published_ms).isoformat()}</updated>
</entry>
"""
        for story in stories
    )
    updated = moment(host, stories[0].published_ms if stories else 0).isoformat()
    return f"""<?xml version="1.0" encoding="{host.charset}"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{host.language}">
<title>{escape(host.title)}</title>
<id>{base_url}/</id>
<link href="{base_url}/"/>
<updated>{updated}</updated>
{entries}</feed>
"""


def news_sitemap(host: Host, stories: Sequence[Story], base_url: str) -> str:
    """A Google News sitemap of the host's latest stories."""
    urls = "".join(
        f"""<url><loc>{escape(base_url + story.path)}</loc><news:news>
<news:publication><news:name>{escape(host.title)}</news:name><news:language>{host.language}</news:language></news:publication>
<news:publication_date>{moment(host, story.published_ms).isoformat()}</news:publication_date>
<news:title>{escape(story.title)}</news:title></news:news></url>
"""
        for story in stories
    )
    return f"""<?xml version="1.0" encoding="{host.charset}"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
{urls}</urlset>
"""


def robots(host: Host, base_url: str) -> str:
    """robots.txt: one host closes a folder, one asks for a pause between requests."""
    lines = ["User-agent: *"]
    if host is ODD:
        lines.append("Disallow: /private/")
    if host.crawl_delay_s:
        lines.append(f"Crawl-delay: {host.crawl_delay_s}")
    if len(lines) == 1:
        lines.append("Disallow:")
    return "\n".join([*lines, "", f"Sitemap: {base_url}/news-sitemap.xml", ""])


def section_of(host: Host, path: str) -> str | None:
    """The section whose page this path is; None when it is none."""
    return next((one for one in (*sections(host), "archive") if section_path(one) == path), None)
