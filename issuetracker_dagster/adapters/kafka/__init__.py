"""Kafka by kafka-python: the only package that imports it.

`connection` names the cluster and turns the client's errors into ours · `topics` creates what the journey needs ·
`producer` publishes · `intake` reads by assignment, `group` as a member of a group (with `ledger` for its commits) ·
`offsets` and `lag` tell where a group stands · `parked` guards against a fault of the client · `records` translates
what was read.
"""
