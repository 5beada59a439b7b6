"""The demo news site: several hosts on loopback ports that tell invented events, deterministic by seed.

- `hosts`      who publishes: names, languages, charsets, where metadata is found
- `names`      invented people, places and companies, hardly ever the same twice
- `texts/`     what can happen, in several wordings a fact; `templates` reads them
- `timeline`   which event happens when, and when each host tells it
- `stories`    an event in the words of one host; `newsroom` lists what a host shows at a moment
- `articles`, `pages`, `feeds`   the same as HTML, RSS, Atom and sitemaps
- `odd`        pages as crawlers meet them: slow, broken, circular, endless
- `server`     all hosts in one process; `remembered` keeps ports and start time between runs
"""
