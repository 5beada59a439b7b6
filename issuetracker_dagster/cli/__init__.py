"""The `issuetracker` command: `main` puts it together, one module a group of commands.

- `services`  up, down, status, dev, demo
- `database`  db upgrade, downgrade, current
- `publish`   publish
- `seeds`     seeds and its commands: `seed_lists`, `seed_changes`, `seed_transfer` (the file is `seeds_file`)
- `reading`   report, settings
"""
