"""What operators do with the stage queues of one process: the parts behind `issuetracker queue`."""

from issuetracker_dagster.adapters.redis.queue_steering import RedisQueueSteering
from issuetracker_dagster.flow.drain_back import DrainBack
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.wiring.parts import Wiring


def steering(wiring: Wiring, stage: Stage) -> RedisQueueSteering:
    """A stage's queue to look at and to move entries in."""
    return RedisQueueSteering(wiring.redis, wiring.settings.queue(stage.value).zset_queue_key)


def drain_back(wiring: Wiring, stage: Stage) -> DrainBack:
    """What empties a stage's queue into its topic."""
    return DrainBack(stage, queue=wiring.queue(stage), producer=wiring.producer, locks=wiring.locks, clock=wiring.clock)
