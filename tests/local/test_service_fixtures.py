import uuid

import psycopg
import pytest
import redis
from kafka import KafkaAdminClient, KafkaProducer

pytestmark = pytest.mark.services


def test_the_embedded_valkey_confirms_writes_on_its_disk(valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        client.set("fixture:probe", "1")
        assert client.execute_command("WAITAOF", 1, 0, 1000)[0] == 1


def test_the_old_redis_has_no_waitaof(redis7_url: str) -> None:
    with redis.Redis.from_url(redis7_url) as client, pytest.raises(redis.ResponseError, match="unknown command"):
        client.execute_command("WAITAOF", 1, 0, 1000)


def test_the_redis_cluster_takes_keys_of_every_slot(redis_cluster_url: str) -> None:
    with redis.RedisCluster.from_url(redis_cluster_url) as client:
        for number in range(50):
            client.set(f"fixture:{number}", number)
        assert sum(int(client.get(f"fixture:{number}")) for number in range(50)) == sum(range(50))
        assert len(client.get_primaries()) == 3


@pytest.mark.parametrize("fixture", ["kafka_bootstrap", "noida_bootstrap"])
def test_a_broker_takes_topics_and_messages(fixture: str, request: pytest.FixtureRequest) -> None:
    bootstrap = request.getfixturevalue(fixture)
    topic = f"fixture-{uuid.uuid4().hex}"
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics({topic: {"num_partitions": 2, "replication_factor": 1}})
    admin.close()
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        sent = producer.send(topic, b"hello")
        producer.flush(timeout=10)
    assert sent.value.offset == 0


def test_each_test_gets_an_empty_postgres_database(postgres_url: str) -> None:
    with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
        row = connection.execute(
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        ).fetchone()
        assert row == (0,)
