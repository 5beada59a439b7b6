"""A site on loopback that serves the recorded pages: `python -m benchmarks.recorded_site PORT`, until it is ended."""

import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain

from benchmarks.quality.recorded import COLLECTIONS, pages

_PAGE = re.compile(r"^/story/(\d+)$")
BODIES = [page.data for page in chain.from_iterable(map(pages, COLLECTIONS))]


class RecordedSite(BaseHTTPRequestHandler):
    """`/story/N` is a recorded page, the same for the same N; there is no robots.txt."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = _PAGE.match(self.path)
        body = BODIES[int(found[1]) % len(BODIES)] if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), RecordedSite).serve_forever()
