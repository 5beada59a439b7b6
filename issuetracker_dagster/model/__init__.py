"""Values and pure decisions: standard library, msgspec and the URL parser only; no I/O, no clock.

- `priority`  the three priorities, their headers and scores
- `headers`   what every message carries through the whole journey
- `message`   the envelope: id, key, value, headers, origin
- `payload`   `CrawlJob`, `RawContentRef`, `ContentRef` and their JSON
- `stage`     the names of stages and topics and the facts that belong to them
- `queue`     what goes into and comes out of a stage queue; `queue_view` how operators see it
- `outcome`   what a handler returns; `decision` what settle does about it
- `retry`     backoff, and how a retry, a recrawl or a redrive is built from a message
- `intake_note`  what an intake commits beside an offset
- `batching`  how many messages a claim takes
- `records`   what the SQL tables hold, as the stages see it
- `history`   what purging takes out; `reparse` what is read again; `digest` the issues of a report
- `marks`     what a page may be besides an article
- `rules`     priority rules, host forms and their order
- `urls`      the identity of a URL
- `trace`     names of log actions
- `trial`     what each stage made of a page that was only tried
- `metrics`   names and meanings of metrics; `readings` their numbers
"""
