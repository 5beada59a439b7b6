"""The database: SQLite by default, PostgreSQL in production, one schema for both.

- `engine`     `connect`, transactions, and what a failing database is called
- `schema`     the declarative base, column types and naming; `tables_*` the tables, in the order of the journey
- `tables`     all of them, for migrations and tests
- `upserts`    INSERT ... ON CONFLICT in both dialects
- `raw_contents`, `contents`, `parser_rules`, `seeds`, `issues`, `dead_letters`, `traces`   one store each
- `locks`      the lock under which an issue is looked for and opened
- `reports`    the read side; `digests`, `stored_articles` what a digest and a reparse choose
- `space`      SQLite files give back what deleted rows held
- `stores`     every store on one engine
- `migrate`    upgrade, downgrade, current
"""
