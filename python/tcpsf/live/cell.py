"""Makes an experiment: a network of its own with server, emulated path and clients, and their records brought together.

The server, which is `tcpsf serve` or `live.kernel`, and one end of `tcpsf link` are in a network namespace made for
both; the clients, `live.clients`, are behind the link in another. All are processes that end with their parent:
whatever happens, nothing is left behind.
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
from tcpsf.live.clients import MOST, Plan, write_files
from tcpsf.live.experiment import Experiment, PathLoss
from tcpsf.live.inside import COMMANDS, end
from tcpsf.live.kernel import Serving
from tcpsf.live.result import DOCUMENTED, Live
from tcpsf.scenario import BurstLoss, ByteLoss, LinearLoss, PacketLoss
from tcpsf.staging import temporary_folder

if TYPE_CHECKING:
    import polars as pl

LOOKED_EVERY_S = 0.1

ADDRESS = "198.18.0.2"
"""Of `tcpsf serve`: RFC 2544 keeps these for tests of networks. The kernel serves at the link's own."""
PORT = 80

PLAN = "plan.json"
PROGRESS = "progress"
FETCHED = "fetched.jsonl"
FILES = "files"
RECORDS = "records.parquet"
STATISTICS = "link.json"
SERVING = "serving.json"
KERNEL_RECORDS = "records.jsonl"
KERNEL_TOLD = "kernel.json"
READY = "ready"

RENAMED = {"peer_port": "client_port", "sender": "variant", "rto_last_s": "rto_s"}
"""Columns of the server's records that are called otherwise here."""
OF_BOTH = ("start_s", "completion_s", "received_bytes")
"""Columns that the server has too, in its own sense."""


def check() -> None:
    """Raise an error where there can be no such network: no privilege, or no TUN devices."""
    done = subprocess.run(  # noqa: S603  our own module
        _inside("--check"), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise _error(done.stderr, done.returncode)


def measure(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
    """Make an experiment; ``progress`` hears the share of the fetches that have ended."""
    starts, sizes = experiment.fetches()
    if not starts:
        raise TcpsfError(
            f"cannot measure `{experiment.name}`: at {experiment.rate:g} per second no transfer begins within "
            f"{experiment.duration_s:g} s",
            hint="begin more of them, or take another seed",
        )
    with temporary_folder("tcpsf-live-") as folder:
        _prepare(experiment, starts, sizes, folder)
        with (folder / "inside.err").open("wb") as err:
            inside = subprocess.Popen(  # noqa: S603  our own module
                _inside(str(folder)), stdin=subprocess.DEVNULL, stdout=err, stderr=err, start_new_session=True
            )
            try:
                while inside.poll() is None:
                    time.sleep(LOOKED_EVERY_S)
                    progress(min(_ended(folder) / max(len(sizes), 1), 0.999))
            finally:
                end(inside)
        if inside.returncode:
            told = (folder / "inside.err").read_text(encoding="utf-8", errors="replace")
            raise _error(told, inside.returncode)
        live = _read(experiment, folder)
    progress(1.0)
    return live


def _inside(argument: str) -> list[str]:
    return [sys.executable, "-m", "tcpsf.live.inside", argument]


def _error(told: str, status: int) -> TcpsfError:
    """What the first process of the network has said."""
    try:
        said = json.loads(told)
        return TcpsfError(said["error"], hint=said["hint"])
    except (ValueError, KeyError, TypeError):
        last = told.strip().splitlines()[-1:] or [f"it said nothing, and its status is {status}"]
        return TcpsfError(f"cannot measure: the experiment's network ended: {last[0]}")


def _ended(folder: Path) -> int:
    try:
        return int((folder / PROGRESS).read_bytes() or 0)
    except (OSError, ValueError):
        return 0


def _prepare(experiment: Experiment, starts: list[float], sizes: list[list[int]], folder: Path) -> None:
    files = folder / FILES
    files.mkdir()
    write_files([size for each in sizes for size in each], files)
    kernel = experiment.kernel
    plan = Plan(
        address=ADDRESS if kernel is None else "",
        port=PORT,
        starts_s=starts,
        sizes=sizes,
        patience_s=experiment.patience_s,
        delayed_acks=experiment.acks == "delayed",
        progress=str(folder / PROGRESS),
        receive_buffer=experiment.receive_buffer,
        ready=None if kernel is None else str(folder / READY),
    )
    (folder / PLAN).write_text(plan.to_json(), encoding="utf-8")
    if kernel is not None:
        serving = Serving(
            folder=str(files),
            port=PORT,
            most=len(sizes),
            variant=kernel.name,
            congestion=kernel.congestion,
            initial_window=kernel.initial_window,
            records=str(folder / KERNEL_RECORDS),
            told=str(folder / KERNEL_TOLD),
            ready=str(folder / READY),
        )
        (folder / SERVING).write_text(json.dumps(asdict(serving)), encoding="utf-8")
    commands = {
        "address": ADDRESS,
        "port": PORT,
        "serve": _serve(experiment, folder) if kernel is None else None,
        "link": _link(experiment, folder),
    }
    (folder / COMMANDS).write_text(json.dumps(commands), encoding="utf-8")


def _serve(experiment: Experiment, folder: Path) -> list[str]:
    words = [sys.executable, "-m", "tcpsf", "serve", str(folder / FILES)]
    words += ["--address", ADDRESS, "--port", str(PORT), "--records", str(folder / RECORDS)]
    for sender in experiment.senders:
        words += ["--sender", sender]
    words += ["--max-connections", str(MOST), "--rto-min", experiment.rto_min]
    return [*words, "--no-offload", "--json"]  # on the path each segment is a packet of its own


def _link(experiment: Experiment, folder: Path) -> list[str]:
    words = [sys.executable, "-m", "tcpsf", "link", "--down-delay", f"{experiment.latency_ms}ms"]
    words += ["--up-delay", f"{experiment.latency_up_ms}ms"]
    words += _loss("down", experiment.loss)
    if experiment.loss_up is not None:
        words += _loss("up", experiment.loss_up)
    if experiment.kernel is not None:
        words += ["--outside", shlex.join([sys.executable, "-m", "tcpsf.live.kernel", str(folder / SERVING)])]
    # What a server sends in one go arrives as packets, each of which is answered.
    words += ["--no-offload", "--seed", str(experiment.seed), "--json", str(folder / STATISTICS), "--"]
    return [*words, sys.executable, "-m", "tcpsf.live.clients", str(folder / PLAN), str(folder / FETCHED)]


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
    """Bring together what clients, server and emulator have written."""
    import polars as pl

    # None may have come to an end.
    times = dict.fromkeys(("connect_s", "first_byte_s", "completion_s"), pl.Float64)
    seen = dict.fromkeys(("window_bytes", "segment_bytes"), pl.Int64)
    fetched = pl.read_ndjson(folder / FETCHED, schema_overrides={**times, **seen})
    ours = experiment.kernel is None
    records = _records(folder) if ours else _kernel_records(folder)
    flows = fetched.rename({"fetch": "flow"}).join(records, on="client_port", how="left", maintain_order="left")
    return Live(
        experiment=experiment,
        flows=flows.select(list(DOCUMENTED)),
        link=_last_line(folder / STATISTICS),
        server=_last_line(folder / ("serve.out" if ours else KERNEL_TOLD)),
    )


def _records(folder: Path) -> pl.DataFrame:
    """What `tcpsf serve` tells of each connection."""
    import polars as pl

    records = pl.read_parquet(folder / RECORDS).rename(RENAMED).drop(OF_BOTH)
    # Ports are used once, but for the connection that only looked whether the server was there.
    records = records.filter(pl.col("sent_bytes") > 0).cast({pl.selectors.integer(): pl.Int64})
    return records.unique("client_port", keep="last")


def _kernel_records(folder: Path) -> pl.DataFrame:
    """What `live.kernel` tells of each connection."""
    import polars as pl

    counts = ("client_port", "segments", "retransmitted_segments", "fast_retransmits", "timeouts", "syn_timeouts")
    texts = dict.fromkeys(("variant", "ending"), pl.String)
    times = dict.fromkeys(("srtt_s", "rto_first_s", "rto_s"), pl.Float64)
    return pl.read_ndjson(folder / KERNEL_RECORDS, schema={**dict.fromkeys(counts, pl.Int64), **texts, **times})


def _last_line(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    return found
