"""The parser stage: a stored page becomes a content, or the links it leads to.

- `handler`     the stage itself: raw row in; content, chained jobs or an error out
- `examine`     what a page is and leads to, decided before anything is kept
- `options`     every limit, with its default
- `pool`        killable processes with a CPU budget, in which everything below runs
- `reading`     what travels to such a process and back; picks the reader by target type
- `article`     an article from rule, metadata and body; `index_page` tells pages of links from articles
- `json_ld`, `meta_tags`, `embedded`, `body`, `fields`  the sources of an article's fields; `titles` chooses its title
- `marks`       what its page is besides: behind a paywall, a live blog, a gallery
- `extractor`, `blocks`, `boilerplate`, `phrases`  the visible body: found, taken apart, freed of the site's own talk
- `selection`   parser rules: which one holds, and what it finds on a page
- `links`       link discovery on category pages, and traps; `feeds`, `sitemaps` their kin; `choosing` judges links
- `announced`, `offers`  feeds that pages announce become seeds to be switched on
- `recency`     when entries are from, and their order
- `blacklist`   what is never crawled, or for its links only; `rules_view` keeps it and the rules for seconds
- `canonical`   whether the page's canonical URL is believed
- `version`     a hash over these modules, kept with what they read
- `charset`, `dates`, `patterns`  bytes to text, text to time, RE2 expressions
- `nesting`     pages that nest too deep to build a tree of
"""
