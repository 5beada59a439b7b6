"""Every test: first those that can share the machine, several at once, then those that need it to themselves.

`python -m tests.suite`, which is what `make test` runs. Arguments are for pytest: paths, `-k`, `--durations=20`.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

AT_ONCE = max(3, min(6, 3 * (os.cpu_count() or 1) // 2))
"""Processes of the first phase, more than cores: tests wait half of their time, for leases, locks and servers."""
SLOWEST = ("--durations=20", "--durations-min=5")
PHASES = {
    "at once": ("-m", "not alone", "-n", str(AT_ONCE), "--max-worker-restart=1", *SLOWEST),
    "alone": ("-m", "alone", *SLOWEST),
}


class Found(msgspec.Struct, frozen=True):
    """What came of a phase: its exit code, its seconds, how many tests ended how, and which failed."""

    code: int
    seconds: float
    counts: Counter[str]
    failed: Sequence[str]

    def is_fine(self, *, may_be_empty: bool) -> bool:
        """Whether every test passed. Without any test it may only be empty when somebody chose the tests."""
        return self.code == pytest.ExitCode.OK or (may_be_empty and self.code == pytest.ExitCode.NO_TESTS_COLLECTED)


def run(options: Sequence[str], arguments: Sequence[str]) -> Found:
    """One phase; what pytest has to say goes to the terminal."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="issuetracker-suite-") as folder:
        report = Path(folder) / "report.xml"
        code = subprocess.run(
            [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", *arguments], check=False
        ).returncode
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []  # noqa: S314 - pytest's own
    ends = [(f"{case.get('classname')}::{case.get('name')}", _outcome(case)) for case in cases]
    return Found(
        code,
        time.monotonic() - began,
        Counter(outcome for _, outcome in ends),
        [name for name, outcome in ends if outcome in ("failed", "error")],
    )


def _outcome(case: ElementTree.Element) -> str:
    """How a test ended; one that failed and whose fixtures then failed too has failed."""
    ends = {child.tag: child for child in case}
    for tag, outcome in (("failure", "failed"), ("error", "error")):
        if tag in ends:
            return outcome
    if "skipped" in ends:
        return "xfailed" if ends["skipped"].get("type") == "pytest.xfail" else "skipped"
    return "passed"


def main(arguments: Sequence[str]) -> int:
    """Both phases, whatever came of the first, and one summary; 0 only when both are as they must be."""
    found: dict[str, Found] = {}
    for name, options in PHASES.items():
        print(f"\n{name}:", " ".join(["pytest", *options, *arguments]), flush=True)
        found[name] = run(options, arguments)
    print()
    for name, one in found.items():
        fine = "" if one.is_fine(may_be_empty=bool(arguments)) else f"   NOT FINE (pytest's exit code {one.code})"
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(one.counts.items()))
        print(f"{name:8} {one.seconds:5.0f} s   {counts or 'no test'}{fine}")
    for one in found.values():
        for test in one.failed:
            print(f"failed: {test}")
    return 0 if all(one.is_fine(may_be_empty=bool(arguments)) for one in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
