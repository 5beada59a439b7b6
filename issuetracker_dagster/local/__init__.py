"""Services on this machine for work without a cluster, below the `issuetracker` command.

`services` starts, joins and stops them; `state` remembers pids and ports between commands; `children` is the one place
that starts and ends operating-system processes. `valkey`, `kafka` and `noida` each know one server; `jars` and `java`
find what Apache Kafka needs. `foreground` runs `dagster_dev` beside them, as `pipeline` and `quiet_dagster` say, which
keeps `dagster dev` and its `code_server` at work and ends its `family`; `clearing` ends runs of one that is gone, and
`alone` sees to it that only one does. `demo` gives it the news site of the package `site` to crawl, whose seeds are
`resting` while `dev` runs without it. The `exporter` serves metrics beside it.
"""
