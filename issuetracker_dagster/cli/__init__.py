"""The `issuetracker` command: `main` is where it begins, `commands` knows them all, one module a group.

- `services`  up, down, dev, demo
- `database`  db upgrade, downgrade, current
- `publish`   publish; `why` why; `try_page` try (put into words by `try_words`)
- `rules`     rules and its commands: `rule_sets` for whole files (the file is `rules_file`); `blacklist`
- `seeds`     seeds and its commands: `seed_lists`, `seed_changes`, `seed_transfer` (the file is `seeds_file`)
- `reading`   report, settings; `digest` digest
- `status`    status; `top` top (drawn by `top_table`); `metrics` metrics; `trace` trace; `doctor` doctor
- `queue`     queue and its commands; `dlq` dlq and its commands
- `reparse`   reparse; `purge` purge
"""
