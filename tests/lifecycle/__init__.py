"""A real Dagster from its start to its end, under load, with whatever can happen to it in between."""
