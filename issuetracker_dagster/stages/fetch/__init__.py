"""Fetch: a `CrawlJob` becomes a page in `raw_contents` and a `RawContentRef`.

- `handler`      the order of effects for one job
- `visit`        one job on its way: deadline, permits, what is known about each host
- `redirects`    from hop to hop
- `answers`      what an answer means: a page, an error, a host that wants to be left alone
- `conditional`  asking only for what changed
- `robots`       robots.txt, kept for a day; `robots_text` reads one, `robots_memory` is shared by workers
- `rendering`    the browser's part in a job, where the rule of a host says so
- `recent`       a bounded memory with expiry
- `options`      the limits
"""
