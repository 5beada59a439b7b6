"""A story as a page, with the metadata that its host gives: for machines, for previews, or for eyes only."""

import json
from datetime import UTC, datetime, timedelta, timezone
from html import escape

from issuetracker_dagster.local.site.hosts import Host
from issuetracker_dagster.local.site.pages import page
from issuetracker_dagster.local.site.stories import Story


def moment(host: Host, at_ms: int) -> datetime:
    """A time in the zone of the host, to the second."""
    zone = timezone(timedelta(minutes=host.offset_minutes)) if host.offset_minutes else UTC
    return datetime.fromtimestamp(at_ms // 1000, zone)


def article_page(story: Story, base_url: str, now_ms: int, canonical: str = "") -> str:
    """The page of a story. `canonical` is given by a copy under another URL."""
    host = story.host
    url = canonical or base_url + story.path
    body = {"json_ld": _plain, "opengraph": _stamped, "visible": _visible}[host.metadata]
    written = _post(story) if host.community else body(story)
    head = [f'<link rel="canonical" href="{escape(url)}">']
    if host.metadata == "json_ld":
        head += [_json_ld(story, url), *_open_graph(story, url)[:4]]
    elif host.metadata == "opengraph":
        head += _open_graph(story, url)
    return page(host, story.title, written, now_ms, head="\n".join(head))


def _plain(story: Story) -> str:
    return f"""<article><h1>{escape(story.title)}</h1>
<p class="deck">{escape(story.summary)}</p>
<div class="text">{_paragraphs(story.paragraphs[1:])}</div></article>"""


def _stamped(story: Story) -> str:
    when = moment(story.host, story.published_ms)
    shown = f"{when:%d %B %Y, %H:%M} UTC"
    if story.host.language == "ko":
        half = "오전" if when.hour < 12 else "오후"
        shown = f"입력 {when:%Y.%m.%d}. {half} {(when.hour - 1) % 12 + 1}:{when:%M}"
    return f"""<article><h1>{escape(story.title)}</h1>
<p class="meta"><span>{escape(story.author)}</span> <span>{shown}</span></p>
<div class="text">{_paragraphs(story.paragraphs)}</div></article>"""


def _visible(story: Story) -> str:
    when = moment(story.host, story.published_ms)
    topics = "".join(f"<li>{escape(tag)}</li>" for tag in story.tags)
    if story.host.language == "ko":
        byline, stamp = f"{story.author} 기자", f"{when:%Y-%m-%d %H:%M:%S}"
    else:
        byline, stamp = f"By {story.author}", f"{when:%d %B %Y, %H:%M:%S} GMT"
    return f"""<div class="crumbs"><a class="desk" href="/{escape(story.category)}/">{escape(story.category)}</a></div>
<div class="story"><h2 class="headline">{escape(story.title)}</h2>
<p class="standfirst">{escape(story.summary)}</p>
<p class="byline"><span class="who">{escape(byline)}</span> <span class="stamp">{stamp}</span></p>
<div class="copy">{_paragraphs(story.paragraphs[1:])}</div>
<ul class="topics">{topics}</ul></div>"""


def _post(story: Story) -> str:
    when = moment(story.host, story.published_ms)
    replies = "".join(
        f'<div class="reply"><b>{escape(who)}</b><p>{escape(said)}</p></div>' for who, said in story.replies
    )
    return f"""<div class="thread"><h1 class="subject">{escape(story.title)}</h1>
<div class="post"><a class="nick" href="/user/{escape(story.author)}">{escape(story.author)}</a>
<span class="posted">{when:%Y-%m-%d %H:%M:%S}</span>
<div class="message">{_paragraphs(story.paragraphs)}</div></div>
{replies}</div>"""


def _paragraphs(paragraphs: tuple[str, ...]) -> str:
    return "\n".join(f"<p>{escape(text, quote=False)}</p>" for text in paragraphs)


def _json_ld(story: Story, url: str) -> str:
    told = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": story.title,
        "description": story.summary,
        "datePublished": moment(story.host, story.published_ms).isoformat(),
        "author": [{"@type": "Person", "name": story.author}],
        "publisher": {"@type": "Organization", "name": story.host.title},
        "articleSection": story.category,
        "keywords": list(story.tags),
        "mainEntityOfPage": url,
    }
    text = json.dumps(told, ensure_ascii=False).replace("</", "<\\/")
    return f'<script type="application/ld+json">{text}</script>'


def _open_graph(story: Story, url: str) -> list[str]:
    values = [
        ("og:title", story.title),
        ("og:description", story.summary),
        ("og:url", url),
        ("og:site_name", story.host.title),
        ("og:type", "article"),
        ("article:published_time", moment(story.host, story.published_ms).isoformat()),
        ("article:author", story.author),
        ("article:section", story.category),
        *(("article:tag", tag) for tag in story.tags),
    ]
    return [f'<meta property="{name}" content="{escape(value)}">' for name, value in values]
