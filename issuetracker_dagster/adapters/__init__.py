"""The world behind the ports: `kafka`, `redis`, `sql`, `http`, `browser`, `clock`, `memory` (the fakes). No decisions here."""
