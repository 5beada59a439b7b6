"""The world behind the ports: `kafka`, `redis`, `sql`, `http`, `browser`, `clock`; `memory` has the fakes. No decisions."""
