"""`issuetracker metrics`: figures for Prometheus, served over HTTP or printed once."""

import errno
import threading

import click
from prometheus_client import CollectorRegistry, generate_latest, start_http_server

from issuetracker_dagster.cli.metrics_families import PipelineCollector
from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local.signals import interrupts
from issuetracker_dagster.settings.kinds import address, host_and_port, is_loopback
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

ONCE_S = 15.0
"""How long a single look waits for servers: a Redis or Kafka that is out says so within that time."""


def _address(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    try:
        where = value and address(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}; accepted: {error}") from None
    if where == "":
        raise click.BadParameter("there is nothing to serve then; accepted: host:port, such as 127.0.0.1:9464")
    return where


@click.command()
@click.option("--addr", callback=_address, help="host:port to serve on; default: METRICS_ADDR.")
@click.option("--once", is_flag=True, help="Print the figures of the moment, and end.")
@click.option("--exposed", is_flag=True, help="Serve on an address that other machines reach.")
def metrics(addr: str | None, once: bool, exposed: bool) -> None:
    """Serve the figures of the pipeline to Prometheus, at /metrics.

    Counters and durations are those of all processes, kept in Redis; depths, lags and ages are asked for at each
    scrape. A server that is out has `issuetracker_up` 0, and the figures of the others are served.
    """
    settings = Settings()
    if once:
        click.echo(generate_latest(_registry(settings, ONCE_S)).decode(), nl=False)
        return
    where = addr or settings.general.metrics_addr
    if not where:
        raise ConfigError(
            "METRICS_ADDR is off: there is no metrics endpoint. Set it to host:port, or name one with --addr"
        )
    host, port = host_and_port(where)
    if not exposed and not is_loopback(host):
        raise ConfigError(
            f"METRICS_ADDR (or --addr) {where} can be reached from other machines: the figures name the hosts that are "
            "crawled, and nobody is asked for a password. Choose 127.0.0.1, or say --exposed if that is meant"
        )
    with interrupts():
        try:
            _serve(settings, host, port)
        except KeyboardInterrupt:
            return


def _serve(settings: Settings, host: str, port: int) -> None:
    try:
        server, _ = start_http_server(port, host, _registry(settings))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            taken = f"port {port} of {host} is taken by another program, perhaps another `issuetracker metrics`"
            raise ConfigError(f"METRICS_ADDR (or --addr): {taken}. Choose another one with --addr") from None
        raise ConfigError(f"METRICS_ADDR (or --addr) {host}:{port} can't be served on: {error}") from None
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"Metrics are at http://{shown}:{server.server_port}/metrics; Ctrl-C ends it.")
    try:
        threading.Event().wait()
    finally:
        server.shutdown()
        server.server_close()


def _registry(settings: Settings, within_s: float | None = None) -> CollectorRegistry:
    wiring = Wiring(settings)
    registry = CollectorRegistry()
    registry.register(PipelineCollector(wiring) if within_s is None else PipelineCollector(wiring, within_s=within_s))
    return registry
