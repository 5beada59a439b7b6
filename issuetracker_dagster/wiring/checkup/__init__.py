"""The rules of `issuetracker doctor`: what a server or a machine says of itself, held against the settings.

Each module is about one of them, and its rules are functions of facts; whoever asks for the facts is in `ask`.

- `redis`, `kafka`, `database`  the three servers
- `names`    variables that nobody reads, or that do nothing as things are
- `ask`      the servers' facts, and the finding when one can't be reached
"""
