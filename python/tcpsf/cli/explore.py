"""`tcpsf explore`: the playground on a scenario file, served on the loopback address."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from tcpsf.cli import scenario_file
from tcpsf.cli.output import print_message, print_result
from tcpsf.explore.page_server import PlaygroundServer, filled_page


def command(
    *,
    file: Path,
    settings: Sequence[str],
    seed: int,
    flow: int | None,
    port: int,
    open_browser: bool,
) -> None:
    """Serve the page until Ctrl-C."""
    scenario = scenario_file.read(file, settings)
    page = filled_page(scenario, seed=seed, flow=flow, name=file.name)
    with PlaygroundServer(page, port=port) as server:
        print_result(server.address)
        print_message("The page is served until Ctrl-C. Only programs on this machine reach it.")
        # Without a display, Python may choose a browser for the terminal.
        if open_browser and any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))):
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
