"""Makes an experiment: a network of its own with server, emulated path and clients, and their records brought together.

`tcpsf serve` and one end of `tcpsf link` are in a network namespace made for both; the clients, `live.clients`, are
behind the link in another. All are processes that end with their parent: whatever happens, nothing is left behind.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tcpsf.errors import TcpsfError
from tcpsf.live.clients import MOST, Plan, write_files
from tcpsf.live.experiment import Experiment
from tcpsf.live.inside import COMMANDS, end
from tcpsf.live.result import DOCUMENTED, Live
from tcpsf.scenario import BurstLoss, ByteLoss, LinearLoss, PacketLoss

LOOKED_EVERY_S = 0.1

ADDRESS = "198.18.0.2"
"""Of the server: RFC 2544 keeps these for tests of networks."""
PORT = 80

PLAN = "plan.json"
PROGRESS = "progress"
FETCHED = "fetched.jsonl"
RECORDS = "records.parquet"

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
        raise _error(done.stderr)


def measure(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
    """Make an experiment; ``progress`` hears the share of the fetches that have ended."""
    starts, sizes = experiment.fetches()
    with tempfile.TemporaryDirectory(prefix="tcpsf-live-") as name:
        folder = Path(name)
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
            raise _error((folder / "inside.err").read_text(encoding="utf-8", errors="replace"))
        live = _read(experiment, folder)
    progress(1.0)
    return live


def _inside(argument: str) -> list[str]:
    return [sys.executable, "-m", "tcpsf.live.inside", argument]


def _error(told: str) -> TcpsfError:
    """What the first process of the network has said."""
    try:
        said = json.loads(told)
        return TcpsfError(said["error"], hint=said["hint"])
    except (ValueError, KeyError, TypeError):
        last = told.strip().splitlines()[-1:] or ["it said nothing"]
        return TcpsfError(f"cannot measure: the experiment's network ended: {last[0]}")


def _ended(folder: Path) -> int:
    try:
        return int((folder / PROGRESS).read_bytes() or 0)
    except (OSError, ValueError):
        return 0


def _prepare(experiment: Experiment, starts: list[float], sizes: list[list[int]], folder: Path) -> None:
    files = folder / "files"
    files.mkdir()
    write_files(experiment.sizes, files)
    plan = Plan(
        address=ADDRESS,
        port=PORT,
        starts_s=starts,
        sizes=sizes,
        patience_s=experiment.patience_s,
        delayed_acks=experiment.acks == "delayed",
        progress=str(folder / PROGRESS),
    )
    (folder / PLAN).write_text(plan.to_json(), encoding="utf-8")
    commands = {
        "address": ADDRESS,
        "port": PORT,
        "serve": _serve(experiment, folder),
        "link": _link(experiment, folder),
    }
    (folder / COMMANDS).write_text(json.dumps(commands), encoding="utf-8")


def _serve(experiment: Experiment, folder: Path) -> list[str]:
    words = [sys.executable, "-m", "tcpsf", "serve", str(folder / "files")]
    words += ["--address", ADDRESS, "--port", str(PORT), "--records", str(folder / RECORDS)]
    for sender in experiment.senders:
        words += ["--sender", sender]
    words += ["--max-connections", str(MOST), "--rto-min", experiment.rto_min]
    return [*words, "--no-offload", "--json"]  # on the path each segment is a packet of its own


def _link(experiment: Experiment, folder: Path) -> list[str]:
    loss = experiment.loss
    words = [sys.executable, "-m", "tcpsf", "link", "--down-delay", f"{experiment.latency_ms}ms"]
    match loss:
        case PacketLoss():
            words += ["--down-loss", f"{loss.probability!r}"]
        case ByteLoss():
            words += ["--down-loss-per-byte", f"{loss.probability!r}"]
        case LinearLoss():
            words += ["--down-loss-linear", f"{loss.probability!r}@{loss.at}"]
        case BurstLoss():
            words += ["--down-loss-burst", f"{loss.probability!r},{loss.run!r}"]
    words += ["--seed", str(experiment.seed), "--json", "--"]
    return [*words, sys.executable, "-m", "tcpsf.live.clients", str(folder / PLAN), str(folder / FETCHED)]


def _read(experiment: Experiment, folder: Path) -> Live:
    """Bring together what clients, server and emulator have written."""
    import polars as pl

    times = dict.fromkeys(("connect_s", "first_byte_s", "completion_s"), pl.Float64)  # none may have come to an end
    fetched = pl.read_ndjson(folder / FETCHED, schema_overrides=times)
    records = pl.read_parquet(folder / RECORDS).rename(RENAMED).drop(OF_BOTH)
    # Ports are used once, but for the connection that only looked whether the server was there.
    records = records.filter(pl.col("sent_bytes") > 0).cast({"client_port": pl.Int64})
    records = records.unique("client_port", keep="last")
    flows = fetched.rename({"fetch": "flow"}).join(records, on="client_port", how="left", maintain_order="left")
    return Live(
        experiment=experiment,
        flows=flows.select(list(DOCUMENTED)),
        link=json.loads((folder / "link.out").read_text(encoding="utf-8").splitlines()[-1]),
        server=json.loads((folder / "serve.out").read_text(encoding="utf-8").splitlines()[-1]),
    )
