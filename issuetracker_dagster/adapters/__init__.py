"""The world behind the ports: `kafka`, `redis`, `sql`, `http`, `clock`, and `memory` (the fakes). No decisions here."""
