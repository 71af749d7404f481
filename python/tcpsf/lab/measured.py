"""Measurements of the kernel's TCP over `tcpsf link`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tcpsf.errors import TcpsfError
from tcpsf.lab.grid import LabCell

DOWNLOADS_PORTS: Final = (81, 82)
"""Ports of the server of downloads: the first that is not the port of the requests."""
START_S = 60.0
"""Time for the start and the end of the programs of a cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabServer:
    """The server, and the requests for it."""

    command: tuple[str, ...] = ()
    """Its command; empty for the server of `tcpsf.lab.server`."""
    port: int = 80
    path: str = "/{size}"
    """Path of the requests; the size of the response replaces ``{size}``."""
    requests: int = 1000
    """Number of requests."""
    rate: float = 60.0
    """Mean number of requests per second."""
    preload: bool = False
    """Whether the server loads a library with the remedy, without privileges."""

    def line(self, cell: LabCell) -> str:
        """Return the command of the server with the remedy, for a shell."""
        command = list(self.command) or [sys.executable, "-m", "tcpsf.lab.server", str(self.port)]
        if cell.policy is not None:
            cure = [sys.executable, "-m", "tcpsf", "cure", "run", "-q"]
            cure += ["--preload"] if self.preload else []
            command = [*cure, "--policy", str(cell.policy), "--", *command]
        if not cell.path.downloads:
            return shlex.join(command)
        # A process of its own, which the remedy does not reach. It ends with the other one.
        beside = [sys.executable, "-m", "tcpsf.lab.server", str(self.port_of_downloads)]
        both = f"{shlex.join(beside)} & exec {shlex.join(command)}"
        return shlex.join(["sh", "-c", both])

    @property
    def port_of_downloads(self) -> int:
        """Port of the server of downloads beside the requests."""
        first, second = DOWNLOADS_PORTS
        return second if self.port == first else first


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMeasurement:
    """Responses of a cell."""

    times_ns: tuple[int, ...]
    """Time from the request to the last byte of each response, in nanoseconds."""
    failed: int
    """Requests without a complete response."""
    packets: float
    """Packets towards the client per request, with those of the handshake."""
    bytes: float
    """Their bytes."""
    late_s: float
    """99th percentile of the time by which the emulator delivered packets too late."""


def measure(cell: LabCell, server: LabServer, *, seed: int) -> LabMeasurement:
    """Run the server and the client at both ends of a link.

    Requests are sent at the same times with the same seed, and the random numbers for losses are the
    same. The process must be in a network namespace of its own, or be root. Raises `TcpsfError` if a
    program fails or if no request is answered.
    """
    with TemporaryDirectory(prefix="tcpsf-lab-") as name:
        folder = Path(name)
        settings, out, counts = (folder / file for file in ("client", "times", "link"))
        wanted = {
            "address": None,
            "port": server.port,
            "paths": [server.path.format(size=size) for size in cell.sizes],
            "requests": server.requests,
            "responses": 1,
            "rate": server.rate,
            "seed": seed,
            "out": str(out),
            "downloads": {"port": server.port_of_downloads, "number": cell.path.downloads},
        }
        settings.write_text(json.dumps(wanted), encoding="utf-8")
        link = [sys.executable, "-m", "tcpsf", "link", "-q", *cell.path.options()]
        link += ["--seed", str(seed), "--no-offload", "--json", str(counts)]
        link += ["--outside", server.line(cell), "--"]
        _run([*link, sys.executable, "-m", "tcpsf.lab.client", str(settings)], server)
        found = json.loads(out.read_text(encoding="utf-8"))
        emulated = json.loads(counts.read_text(encoding="utf-8"))
    down, up = emulated["down"], emulated["up"]
    times_ns = tuple(round(1e9 * each) for each in found if each is not None)
    if not times_ns:
        raise TcpsfError(
            f"cannot measure `{cell.remedy}`: none of {len(found)} requests was answered",
            hint="the server must listen at `$TCPSF_LINK_OUTSIDE`, at the port of `--port`, and "
            "answer with Content-Length",
        )
    return LabMeasurement(
        times_ns=times_ns,
        failed=len(found) - len(times_ns),
        packets=down["offered_packets"] / len(found),
        bytes=down["offered_bytes"] / len(found),
        late_s=max(each["timing_error_p99_s"] or 0.0 for each in (down, up)),
    )


def _run(command: list[str], server: LabServer) -> None:
    limit_s = 2.0 * server.requests / server.rate + 2.0 * START_S
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        raise TcpsfError(
            f"cannot measure a server: its cell takes longer than {limit_s:.0f} s",
            hint="does the server answer all requests?",
        ) from None
    if done.returncode:
        *_, last = ["no message", *filter(None, done.stderr.splitlines())]
        raise TcpsfError(
            f"cannot measure a server: `tcpsf link` ended with {done.returncode}: {last}",
            hint="try the command of the server alone: " + shlex.join(server.command),
        )
