"""The code location: everything in `defs`, put together. No logic, no connections; loads with nothing running."""

import dagster as dg

from issuetracker_dagster.defs.assets import asset_specs
from issuetracker_dagster.defs.buffers import buffer_checks
from issuetracker_dagster.defs.checks import queue_checks
from issuetracker_dagster.defs.digest import digest_job, digest_schedule, issue_digest
from issuetracker_dagster.defs.dlq import dlq_index, redrive_job
from issuetracker_dagster.defs.dlq_checks import dlq_checks
from issuetracker_dagster.defs.drain import drain_job, drain_schedule
from issuetracker_dagster.defs.extraction_checks import extraction_check, rules_match_check
from issuetracker_dagster.defs.frontier_checks import frontier_check
from issuetracker_dagster.defs.history import purge_job, purge_schedule
from issuetracker_dagster.defs.intakes import intake_sensors
from issuetracker_dagster.defs.lag_checks import lag_checks
from issuetracker_dagster.defs.losses import loss_checks
from issuetracker_dagster.defs.migration_scripts import read_migration_scripts_once
from issuetracker_dagster.defs.queue_moves import move_job
from issuetracker_dagster.defs.reach_checks import reach_checks
from issuetracker_dagster.defs.render_checks import rendering_check
from issuetracker_dagster.defs.reparse import reparse_job, reparsed_contents
from issuetracker_dagster.defs.retry_checks import retry_check
from issuetracker_dagster.defs.rules import refresh_job, refresh_schedule, rules_check
from issuetracker_dagster.defs.shifts import shift_jobs
from issuetracker_dagster.defs.sources import freshness_check
from issuetracker_dagster.defs.upkeep import health_probe, retry_relay, seed_scheduler
from issuetracker_dagster.defs.work_checks import work_checks
from issuetracker_dagster.defs.workers import worker_sensors
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.ending import end_quickly
from issuetracker_dagster.wiring.logs import configure
from issuetracker_dagster.wiring.parts import Wiring

_settings = Settings()
configure(_settings)
end_quickly()
read_migration_scripts_once()

defs = dg.Definitions(
    assets=[*asset_specs(_settings), reparsed_contents(_settings), issue_digest],
    asset_checks=[
        *(
            *reach_checks(),
            *queue_checks(),
            *buffer_checks(),
            *lag_checks(),
            *work_checks(),
            *dlq_checks(),
            *loss_checks(),
        ),
        *(retry_check, frontier_check, rules_check, freshness_check, rules_match_check, extraction_check),
        rendering_check,
    ],
    jobs=[*shift_jobs(), drain_job(), refresh_job, redrive_job, purge_job, reparse_job, move_job, digest_job],
    schedules=[drain_schedule(_settings), refresh_schedule, purge_schedule, digest_schedule],
    sensors=[
        *intake_sensors(_settings),
        *worker_sensors(_settings),
        retry_relay(_settings),
        seed_scheduler(_settings),
        health_probe(),
        dlq_index,
    ],
    # One for the process: ticks share it, so that consumers and connections stay open.
    resources={"wiring": Wiring(_settings)},
    # For checks run from the UI: the default would start a process more for each.
    executor=dg.in_process_executor,
)
