"""Link of a report to a flow in the playground, the page of `tcpsf explore`."""

from __future__ import annotations

import base64
import re
import shlex
import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from tcpsf.scenario import Scenario

PLACES = ("playground.html", "play/index.html")
"""Paths at which a report looks for the playground: a page beside it, or that of the site."""

LEVELS = 3
"""Number of folders above the report in which the playground may be."""

LONGEST_LINK = 100_000
"""Maximum length of a link. Scenarios with long traces are longer, and have only the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaygroundLink:
    """A flow in the playground."""

    address: str | None
    """Relative address of the playground with the flow; ``None`` if it is not near the report."""
    command: str
    """Shell command that opens the flow, in the folder of the saved scenario."""
    file: str
    """Name of the scenario's file in the command."""
    content: str
    """The file as a ``data:`` URL."""


def playground_link(
    scenario: Scenario, *, seed: int, flow: int, folder: Path | None
) -> PlaygroundLink:
    """Return the link to a flow of a run.

    ``flow`` is its number in the table ``flows``, and ``folder`` that of the report, if it is known.
    """
    file = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', scenario.name).strip('-.') or 'scenario'}.toml"
    page = None if folder is None else _nearest(folder)
    settings = {"scenario": packed(scenario), "seed": seed, "flow": flow}
    address = None if page is None else f"{page}#{urlencode(settings)}"
    if address is not None and len(address) > LONGEST_LINK:
        address = None
    text = base64.b64encode(scenario.to_toml().encode()).decode("ascii")
    return PlaygroundLink(
        address=address,
        command=f"tcpsf explore {shlex.quote(file)} --seed {seed} --flow {flow}",
        file=file,
        content=f"data:application/toml;base64,{text}",
    )


def packed(scenario: Scenario) -> str:
    """Return a scenario for the fragment ``#scenario=`` of the playground's address.

    It is the JSON of the scenario, compressed with DEFLATE (RFC 1951), in the URL-safe alphabet of
    Base64 (RFC 4648 §5) without padding.
    """
    deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    content = deflate.compress(scenario.to_json().encode()) + deflate.flush()
    return base64.urlsafe_b64encode(content).decode("ascii").rstrip("=")


def _nearest(folder: Path) -> str | None:
    """Find the playground in a folder or above it, and return its relative path."""
    for level in range(LEVELS + 1):
        up = "../" * level
        for place in PLACES:
            if (folder / up / place).is_file():
                return f"{up}{place}"
    return None
