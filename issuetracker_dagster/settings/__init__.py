"""The only reader of the environment.

Values come from environment variables, then from a `.env` file in the working directory; they are read once, at start,
validated and frozen. `.env.example` is generated from the table.

- `kinds`   durations, sizes, three-valued toggles
- `groups`  the table: every variable, its default, what it accepts, what it means
- `load`    `Settings`, all groups together, and what contradicts itself
"""
