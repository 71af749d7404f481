"""Execution of an experiment: a separate network with server, emulated path and clients.

The server is `tcpsf serve`, `live.kernel`, or `tcpsf proxy` with `live.kernel` as its upstream. The
server and one end of `tcpsf link` are in a new network namespace. The clients, `live.clients`, are
behind the link in another one. Every process ends with its parent, so that none remains after an
error. The records of all processes are combined into one table.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpsf.errors import TcpsfError
from tcpsf.live.clients import MOST, FetchPlan, write_files
from tcpsf.live.experiment import Experiment, PathLoss
from tcpsf.live.experiment_result import DOCUMENTED, Live
from tcpsf.live.inside import COMMANDS, end
from tcpsf.live.kernel import Serving
from tcpsf.live.sessions import Connections
from tcpsf.scenario import BurstLoss, ByteLoss, LinearLoss, PacketLoss
from tcpsf.staging import temporary_folder

if TYPE_CHECKING:
    import polars as pl

LOOKED_EVERY_S = 0.1

ADDRESS = "198.18.0.2"
"""Address of `tcpsf serve` and `tcpsf proxy`, from the block for tests of RFC 2544.

The kernel's server has the address of the link's end.
"""
PORT = 80
UPSTREAM = "127.0.0.1"
"""Address of the proxy's upstream, in the same namespace."""
UPSTREAM_PORT = 8080

PLAN = "plan.json"
PROGRESS = "progress"
FETCHED = "fetched.jsonl"
FILES = "files"
RECORDS = "records.parquet"
STATISTICS = "link.json"
SERVING = "serving.json"
KERNEL_RECORDS = "records.jsonl"
KERNEL_SETTINGS = "kernel.json"
READY = "ready"
SERVER = "server"
"""Name of the log of the process with the senders."""

RENAMED = {"peer_port": "client_port", "sender": "variant", "rto_last_s": "rto_s"}
"""Columns of the server's records that are renamed."""
OF_BOTH = ("start_s", "completion_s", "received_bytes")
"""Columns that exist in the server's records with another meaning."""


def check() -> None:
    """Raise `TcpsfError` if the network cannot be made: no privilege, or no TUN devices."""
    done = subprocess.run(  # noqa: S603  our own module
        _inside("--check"), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise _error(done.stderr, done.returncode)


def measure(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
    """Execute an experiment. ``progress`` is called with the share of ended fetches, 0 to 1."""
    connections = experiment.connections()
    if not connections.sizes:
        raise TcpsfError(
            f"cannot measure `{experiment.name}`: at {experiment.rate:g} per second "
            f"no transfer begins within {experiment.duration_s:g} s",
            hint="use a higher rate or another seed",
        )
    with temporary_folder("tcpsf-live-") as folder:
        _prepare(experiment, connections, folder)
        with (folder / "inside.err").open("wb") as err:
            inside = subprocess.Popen(  # noqa: S603  our own module
                _inside(str(folder)),
                stdin=subprocess.DEVNULL,
                stdout=err,
                stderr=err,
                start_new_session=True,
            )
            try:
                while inside.poll() is None:
                    time.sleep(LOOKED_EVERY_S)
                    progress(min(_ended(folder) / len(connections.sizes), 0.999))
            finally:
                end(inside)
        if inside.returncode:
            errors = (folder / "inside.err").read_text(encoding="utf-8", errors="replace")
            raise _error(errors, inside.returncode)
        live = _read(experiment, folder)
    progress(1.0)
    return live


def _inside(argument: str) -> list[str]:
    return [sys.executable, "-m", "tcpsf.live.inside", argument]


def _error(errors: str, status: int) -> TcpsfError:
    """Return the error that the first process of the network has printed."""
    try:
        report = json.loads(errors)
        return TcpsfError(report["error"], hint=report["hint"])
    except (ValueError, KeyError, TypeError):
        last = errors.strip().splitlines()[-1:] or [f"no output, exit status {status}"]
        return TcpsfError(f"cannot measure: the experiment's network ended: {last[0]}")


def _ended(folder: Path) -> int:
    try:
        return int((folder / PROGRESS).read_bytes() or 0)
    except (OSError, ValueError):
        return 0


def _prepare(experiment: Experiment, connections: Connections, folder: Path) -> None:
    files = folder / FILES
    files.mkdir()
    write_files([size for each in connections.sizes for size in each], files)
    kernel, browsing = experiment.kernel, experiment.browsing
    plan = FetchPlan(
        address=ADDRESS if kernel is None else "",
        port=PORT,
        starts_s=connections.starts_s,
        sizes=connections.sizes,
        parsing_s=connections.parsing_s,
        opens=connections.opens,
        linger_s=None if browsing is None else browsing.linger_s,
        fetch_timeout_s=experiment.fetch_timeout_s,
        delayed_acks=experiment.acks == "delayed",
        progress=str(folder / PROGRESS),
        receive_buffer=experiment.receive_buffer,
        ready=None if kernel is None else str(folder / READY),
    )
    (folder / PLAN).write_text(plan.to_json(), encoding="utf-8")
    proxied = experiment.through == "proxy"
    if kernel is not None or proxied:
        serving = _serving(experiment, len(connections.sizes), folder)
        (folder / SERVING).write_text(json.dumps(asdict(serving)), encoding="utf-8")
    commands = {
        "upstream": _upstream(folder) if proxied else None,
        "server": _server(experiment, folder) if kernel is None else None,
        "link": _link(experiment, folder),
    }
    (folder / COMMANDS).write_text(json.dumps(commands), encoding="utf-8")


def _serving(experiment: Experiment, most: int, folder: Path) -> Serving:
    """Return the settings of the kernel's server, for the clients or for the proxy."""
    kernel = experiment.kernel
    return Serving(
        folder=str(folder / FILES),
        port=UPSTREAM_PORT if kernel is None else PORT,
        address=UPSTREAM if kernel is None else "",
        most=most,
        variant="upstream" if kernel is None else kernel.name,
        congestion="reno" if kernel is None else kernel.congestion,
        initial_window=None if kernel is None else kernel.initial_window,
        records=str(folder / KERNEL_RECORDS),
        settings_path=str(folder / KERNEL_SETTINGS),
        ready=str(folder / READY),
    )


def _kernel(folder: Path) -> list[str]:
    return [sys.executable, "-m", "tcpsf.live.kernel", str(folder / SERVING)]


def _upstream(folder: Path) -> dict[str, Any]:
    return {
        "what": "the proxy's upstream",
        "log": "upstream",
        "command": _kernel(folder),
        "address": UPSTREAM,
        "port": UPSTREAM_PORT,
    }


def _server(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return the command that starts the process with the senders."""
    task = "serve" if experiment.through == "server" else "proxy"
    return {
        "what": f"`tcpsf {task}`",
        "log": SERVER,
        "command": _host(experiment, task, folder),
        "address": ADDRESS,
        "port": PORT,
    }


def _host(experiment: Experiment, task: str, folder: Path) -> list[str]:
    words = [sys.executable, "-m", "tcpsf", task]
    if task == "serve":
        words += [str(folder / FILES), "--address", ADDRESS, "--port", str(PORT)]
    else:
        words += ["--listen", f"{ADDRESS}:{PORT}", "--upstream", f"{UPSTREAM}:{UPSTREAM_PORT}"]
    words += ["--records", str(folder / RECORDS)]
    for sender in experiment.senders:
        words += ["--sender", sender]
    words += ["--max-connections", str(MOST), "--rto-min", experiment.rto_min]
    return [*words, "--no-offload", "--json"]  # each segment on the path is a single packet


def _link(experiment: Experiment, folder: Path) -> list[str]:
    words = [sys.executable, "-m", "tcpsf", "link", "--down-delay", f"{experiment.latency_ms}ms"]
    words += ["--up-delay", f"{experiment.latency_up_ms}ms"]
    words += _loss("down", experiment.loss)
    if experiment.loss_up is not None:
        words += _loss("up", experiment.loss_up)
    if experiment.kernel is not None:
        words += ["--outside", shlex.join(_kernel(folder))]
    # Without offload, the clients receive single packets and acknowledge each of them.
    words += [
        "--no-offload",
        "--seed",
        str(experiment.seed),
        "--json",
        str(folder / STATISTICS),
        "--",
    ]
    return [
        *words,
        sys.executable,
        "-m",
        "tcpsf.live.clients",
        str(folder / PLAN),
        str(folder / FETCHED),
    ]


def _loss(direction: str, loss: PathLoss) -> list[str]:
    option = f"--{direction}-loss"
    match loss:
        case PacketLoss():
            return [option, f"{loss.probability!r}"]
        case ByteLoss():
            return [f"{option}-per-byte", f"{loss.probability!r}"]
        case LinearLoss():
            return [f"{option}-linear", f"{loss.probability!r}@{loss.at}"]
        case BurstLoss():
            return [f"{option}-burst", f"{loss.probability!r},{loss.run!r}"]


def _read(experiment: Experiment, folder: Path) -> Live:
    """Combine the records of clients, server and emulator."""
    import polars as pl

    # If no fetch has completed, Polars cannot infer the types of these columns.
    times = dict.fromkeys(("connect_s", "first_byte_s", "completion_s", "idle_s"), pl.Float64)
    seen = dict.fromkeys(("window_bytes", "segment_bytes"), pl.Int64)
    fetched = pl.read_ndjson(folder / FETCHED, schema_overrides={**times, **seen})
    ours = experiment.kernel is None
    records = _records(folder) if ours else _kernel_records(folder)
    flows = fetched.rename({"fetch": "flow"}).join(
        records, on="client_port", how="left", maintain_order="left"
    )
    return Live(
        experiment=experiment,
        flows=flows.select(list(DOCUMENTED)),
        link=_last_line(folder / STATISTICS),
        server=_last_line(folder / (f"{SERVER}.out" if ours else KERNEL_SETTINGS)),
    )


def _records(folder: Path) -> pl.DataFrame:
    """Return the records of `tcpsf serve` or `tcpsf proxy`, one row per connection."""
    import polars as pl

    records = pl.read_parquet(folder / RECORDS).with_columns(
        server_s=pl.col("end_s") - pl.col("start_s")
    )
    records = records.rename(RENAMED).drop(OF_BOTH)
    # A port is used once, except by the connection that checked whether the server was ready.
    records = records.filter(pl.col("sent_bytes") > 0).cast({pl.selectors.integer(): pl.Int64})
    return records.unique("client_port", keep="last")


def _kernel_records(folder: Path) -> pl.DataFrame:
    """Return the records of `live.kernel`, one row per connection."""
    import polars as pl

    counts = (
        "client_port",
        "segments",
        "retransmitted_segments",
        "fast_retransmits",
        "timeouts",
        "syn_timeouts",
    )
    texts = dict.fromkeys(("variant", "ending"), pl.String)
    times = dict.fromkeys(("srtt_s", "rto_first_s", "rto_s", "server_s"), pl.Float64)
    return pl.read_ndjson(
        folder / KERNEL_RECORDS, schema={**dict.fromkeys(counts, pl.Int64), **texts, **times}
    )


def _last_line(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    return found
