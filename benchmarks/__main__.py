"""`make bench`: every figure that needs no running pipeline, one after the other, in one run."""

import subprocess
import sys

BENCHES = ("queue", "buffer", "publish", "priority_wait", "resolve")


def main() -> int:
    """Run each bench in a process of its own; the number of those that failed."""
    failed = 0
    for name in BENCHES:
        print(f"\n== {name} ==", flush=True)
        failed += bool(
            subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], check=False).returncode
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
