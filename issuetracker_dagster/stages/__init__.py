"""The four stages: payload in, payload out; they know nothing of queues, Kafka or Dagster."""
