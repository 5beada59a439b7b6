"""The `issuetracker` command: `main` puts it together, one module a group of commands.

- `services`  up, down, status, dev, demo
- `database`  db upgrade, downgrade, current
- `crawl`     publish, seeds
- `reading`   report, settings
"""
