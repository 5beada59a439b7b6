"""Services on this machine for work without a cluster, below the `issuetracker` command.

`services` starts, joins and stops them; `state` remembers pids and ports between commands; `children` is the one place
that starts and ends operating-system processes. `valkey`, `kafka` and `noida` each know one server; `jars` and `java`
find what Apache Kafka needs. `foreground` runs `dagster dev` beside them, and `demo` gives it the news site of the
package `site` to crawl.
"""
