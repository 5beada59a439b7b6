"""The world behind the ports: `kafka`, `redis`, `sql`, `http`, `browser`, `clock`; `memory` has fakes. No decisions."""
