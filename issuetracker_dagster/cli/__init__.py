"""The `issuetracker` command: `main` is where it begins, `commands` knows them all, one module a group.

- `services`  up, down, status, dev, demo
- `database`  db upgrade, downgrade, current
- `publish`   publish; `why` why
- `rules`     rules and its commands: `rule_sets` for whole files (the file is `rules_file`); `blacklist`
- `seeds`     seeds and its commands: `seed_lists`, `seed_changes`, `seed_transfer` (the file is `seeds_file`)
- `reading`   report, settings
"""
