"""A worker that renders a page which never ends, to be killed meanwhile: `python -m tests.contracts.browser_worker`."""

import sys

from tests.contracts.browser_world import render, request, running_renderer


def main() -> None:
    with running_renderer() as renderer:
        render(renderer, request("<p>first"))
        print("started", flush=True)
        render(renderer, request(f"<script>{sys.argv[1]}</script>", timeout_ms=300_000))


if __name__ == "__main__":
    main()
