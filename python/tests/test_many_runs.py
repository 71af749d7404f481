"""`tcpsf sim` with many runs: what it prints, and that its memory does not grow with their number."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

from tcpsf import Scenario, replicate, runs, stats, summary
from tcpsf.cli import spool
from tcpsf.cli.sim import command
from tcpsf.errors import OutputError
from tcpsf.summed import SummedRuns

TINY = """
name = "tiny"
duration = "20ms"
[[link]]
name = "there"
from = "a"
to = "b"
rate = "100Mb/s"
delay = "1ms"
[[link]]
name = "back"
from = "b"
to = "a"
delay = "1ms"
[[workload]]
kind = "transfers"
name = "page"
from = "a"
to = "b"
sizes = [1000]
sender = "reno+sack / full / iw=1"
"""


@pytest.fixture
def tiny_file(tmp_path: Path) -> Path:
    """A scenario whose run takes a millisecond."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


def peak_kb(file: Path, *, runs: int, json: bool) -> float:
    """The most memory that Python objects took during a command, kB."""
    unset = ("out", "report", "flow", "pcap", "pcap_at", "pcap_bytes")
    nothing: dict[str, Any] = dict.fromkeys(unset)
    tracemalloc.start()
    try:
        command(
            file=file, seed=1, runs=runs, workers=2, settings=(), json=json, force=False, **nothing
        )
        return tracemalloc.get_traced_memory()[1] * 1e-3
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "JSON"])
def test_memory_does_not_grow_with_the_runs(
    tiny_file: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    """A run may add its time to those that exact percentiles need, 16 bytes and the room to grow; it was 6 to 15 kB."""
    monkeypatch.setattr(runs, "AHEAD", 8)
    monkeypatch.setattr(spool, "IN_MEMORY", 10_000)
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
    ):
        peak_kb(tiny_file, runs=50, json=as_json)  # imports, caches
        # How many results wait at once depends on the load of the machine, so the least of three counts.
        few, many = (
            min(peak_kb(tiny_file, runs=number, json=as_json) for _ in range(3))
            for number in (200, 1400)
        )
    assert many - few < 1200 * 0.05


def test_the_json_of_several_runs_is_laid_out_as_ever(
    tcpsf: Command, tiny_file: Path, tmp_path: Path
) -> None:
    answer = tcpsf(
        "sim", tiny_file, "--json", "--runs", "3", "--seed", "7", "--out", tmp_path / "out"
    )
    found = json.loads(answer.out)
    assert answer.out == json.dumps(found, indent=2) + "\n"
    assert list(found) == ["schema", "version", "seeds", "flows", "links", "scenario"]
    assert [(link["seed"], link["link"]) for link in found["links"]] == [
        (seed, name) for seed in (7, 8, 9) for name in ("there", "back")
    ]
    assert (tmp_path / "out" / "summary.json").read_text(encoding="utf-8") == answer.out
    kept = (tmp_path / "out" / "provenance.json").read_text(encoding="utf-8")
    assert (
        kept
        == json.dumps({name: found[name] for name in ("version", "seeds", "scenario")}, indent=2)
        + "\n"
    )


def test_empty_arrays_are_laid_out_as_ever() -> None:
    from tcpsf.report.sim_output import members

    assert "".join(members(none=iter(()), one=iter([{"a": []}]))) == json.dumps(
        {"none": [], "one": [{"a": []}]}, indent=2
    )


def test_summed_runs_are_those_of_the_list(small: Scenario) -> None:
    """The sums over runs give the estimates that lists of runs give."""
    found = replicate(small, seeds=range(1, 6), reduce=summary.SummaryFold)
    together = SummedRuns()
    for run in found:
        together.add(run)
    assert len(together.groups()) == len({group for run in found for group in run.groups}) > 3
    for each in together.groups():
        totals = [run.groups.get(each.group, summary.Totals()) for run in found]
        listed = (
            (each.completion_s, summary.completion_s(totals)),
            (each.fast_percent, summary.fast_percent(totals)),
            (each.median_s, stats.quantile([of_run.times for of_run in totals], 0.5)),
            (each.p95_s, stats.quantile([of_run.times for of_run in totals], 0.95)),
        )
        assert sum(of_run.flows for of_run in totals) == each.flows
        for ours, theirs in listed:
            assert (ours is None) == (theirs is None)
            if ours is not None and theirs is not None:
                assert ours.value == pytest.approx(theirs.value, rel=1e-12)
                assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    for number, link in enumerate(together.links):
        rows = [run.links[number] for run in found]
        used = stats.mean([row["utilisation"] for row in rows], possible=stats.SHARE)
        dropped = stats.share(
            [row["dropped_buffer_packets"] for row in rows],
            [row["offered_packets"] for row in rows],
        )
        for ours, theirs in ((link.used_percent(5), used), (link.dropped_percent(5), dropped)):
            assert ours is not None
            assert theirs is not None
            of_list = theirs.scaled(100.0)
            assert ours.value == pytest.approx(of_list.value, rel=1e-12)
            assert (ours.low, ours.high) == pytest.approx((of_list.low, of_list.high), rel=1e-9)


def test_rows_come_back_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "IN_MEMORY", 100)
    rows = [{"seed": number, "value": number / 3.0, "name": "ö\n"} for number in range(50)]
    with spool.Spool() as kept:
        for row in rows:
            kept.add(row)
        assert list(kept) == list(kept) == rows


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __init__(self, **_options: Any) -> None: ...

        def write(self, _content: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None: ...

    monkeypatch.setattr("tempfile.SpooledTemporaryFile", Full)
    with (
        spool.Spool() as kept,
        pytest.raises(OutputError, match="temporary file: no space left") as refused,
    ):
        kept.add({})
    assert "TMPDIR" in (refused.value.hint or "")
