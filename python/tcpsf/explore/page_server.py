"""The playground with a scenario filled in, and a server for it on the loopback address.

`make web` builds the page, and the package contains it if it was built before.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

from tcpsf.errors import TcpsfError, reason
from tcpsf.scenario import Scenario

LOOPBACK = "127.0.0.1"

PLACE = '<script type="application/json" id="given-scenario"></script>'
"""Element of the page that has the scenario of a file."""


def filled_page(scenario: Scenario, *, seed: int, name: str, flow: int | None = None) -> bytes:
    """Return the page with a scenario, as UTF-8. ``name`` is that of its file.

    The page shows the flow with the number ``flow``, or the first one of the first workload.
    Raises `TcpsfError` if the package does not have the page.
    """
    content: dict[str, Any] = {"scenario": json.loads(scenario.to_json()), "seed": seed}
    content |= {"name": name} | ({} if flow is None else {"flow": flow})
    # `<` in a name must not end the element.
    text = json.dumps(content).replace("<", "\\u003c")
    return built_page().replace(PLACE, PLACE.replace("></", f">{text}</")).encode()


def built_page() -> str:
    """Return the page. Raises `TcpsfError` if the package does not have it."""
    try:
        file = resources.files("tcpsf.explore").joinpath("playground.html")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TcpsfError(
            "the playground was not built with this package",
            hint="run `make web` in the source tree; it needs a toolchain for WebAssembly",
        ) from None


class PlaygroundServer(ThreadingHTTPServer):
    """A server of one page on the loopback address. ``port`` 0 chooses a free port.

    Raises `TcpsfError` if the port is in use.
    """

    daemon_threads = True

    def __init__(self, page: bytes, *, port: int) -> None:
        self.page = page
        try:
            super().__init__((LOOPBACK, port), PlaygroundHandler)
        except OSError as error:
            raise TcpsfError(
                f"`--port {port}`: {reason(error)}",
                hint="choose another port, or 0 for a free one",
            ) from None

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"http://{LOOPBACK}:{self.server_address[1]}/"


class PlaygroundHandler(BaseHTTPRequestHandler):
    """Answers requests for the page."""

    server: PlaygroundServer

    def do_GET(self) -> None:
        """Send the page, or status 404 for another path."""
        if self.path.partition("?")[0] != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.server.page)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(self.server.page)

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing about requests."""
