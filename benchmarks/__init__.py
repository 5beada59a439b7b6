"""Measurements, each against a raw limit taken beside it in one run: absolute figures of a shared machine say little.

- `queue`   the stage queue: push, claim and ack, and the server's time a cycle as the queue grows
- `buffer`  the buffer before Kafka: push, confirmed on disk, and take with done
"""
