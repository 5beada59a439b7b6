"""Services on this machine for work without a cluster, below the `issuetracker` command.

`services` starts, joins and stops them; `state` remembers pids and ports between commands; `children` is the one place
that starts and ends operating-system processes. `valkey`, `kafka` and `noida` each know one server; `jars` and `java`
find what Apache Kafka needs. `foreground` runs `dagster dev` beside them, as `pipeline` and `quiet_dagster` say;
`alone` sees to it that only one does. `demo` gives it the news site of the package `site` to crawl, whose seeds are
`resting` while `dev` runs without it.
"""
