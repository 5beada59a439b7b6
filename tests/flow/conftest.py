"""The pace of the flow's threads in tests."""

import pytest

from issuetracker_dagster.flow import direct, frontier, frontier_feed, shift, work


@pytest.fixture(autouse=True)
def brisk_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads look, commit and try again every few hundredths of a second.

    No test is about their pace, and at the pace of production they are most of what the tests take.
    """
    for name in ("POLL_MS", "FULL_POLL_MS"):
        monkeypatch.setattr(direct, name, 20)
    monkeypatch.setattr(direct, "COMMIT_EVERY_S", 0.05)
    for module in (direct, frontier):
        monkeypatch.setattr(module, "WAIT_S", 0.02)
    for module in (direct, frontier_feed, work):
        monkeypatch.setattr(module, "OUTAGE_PAUSE_S", 0.05)
    for module in (frontier_feed, shift):
        monkeypatch.setattr(module, "LOOK_S", 0.02)
