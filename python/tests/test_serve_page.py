"""The page of `tcpsf serve --report`: its numbers follow from the rows of the connections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from conftest import Command
from test_host import SENDERS, fetched, running

from tcpsf.report import serve_page
from tcpsf.report.serve_page import RECOVERIES, ConnectionSums


def rows(count: int, *, spacing_s: float = 0.05) -> pl.DataFrame:
    """Connections of two senders, of which every tenth is reset."""
    return pl.DataFrame(
        [
            {
                "sender": SENDERS[number % 2],
                "end_s": number * spacing_s,
                "ending": "finished" if number % 10 else "reset-by-peer",
                "completion_s": None if number % 10 == 0 else 0.1 * (1 + number % 7),
                "sent_bytes": 1000 + number,
                "segments": 3,
                "fast_retransmits": number % 3,
                "timeouts": number % 2,
                "syn_timeouts": 0,
                "retransmitted_segments": number % 4,
            }
            for number in range(count)
        ],
        infer_schema_length=None,
    )


def values(page: str, chart: str) -> Iterator[list[float | None]]:
    """Yield the numbers of each row of a chart's table."""
    part = page.partition(f'id="figure-{chart}"')[2].partition("</figure>")[0]
    for row in re.findall(r"<tr.*?</tr>", part, re.DOTALL)[1:]:
        yield [
            float(found[1]) if (found := re.search(r'data-value="([^"]*)"', cell)) else None
            for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)
        ]


def test_the_charts_have_the_sums_of_the_rows() -> None:
    frame = rows(400)
    sums = ConnectionSums()
    for start in range(0, 400, 30):
        sums.add(frame[start : start + 30])
    page = sums.page(task="serve", counters={"sent_packets": 5}, duration_s=20.0)
    done = frame.drop_nulls("completion_s")
    transfers = list(values(page, "transfers"))
    for place, sender in enumerate(SENDERS):
        own = done.filter(pl.col("sender") == sender)
        assert sum(row[place] or 0 for row in transfers) == own.height
        last = list(values(page, "completion-times"))[-1]
        assert last[place] == 1.0
    for row, name in zip(values(page, "recoveries-by-sender"), RECOVERIES, strict=True):
        for place, sender in enumerate(SENDERS):
            mean = frame.filter(pl.col("sender") == sender)[name].mean()
            assert row[place] == pytest.approx(mean)
    assert "://" not in page


def test_memory_does_not_grow_with_time() -> None:
    sums = ConnectionSums()
    sums.add(rows(3000, spacing_s=60.0))
    assert sums._width_s > 60
    for each in sums._senders.values():
        assert max(each.ended) < serve_page.SLICES
    page = sums.page(task="serve", counters={}, duration_s=180_000.0)
    assert sum(sum(map(float, filter(None, row))) for row in values(page, "transfers")) == 2700


def test_a_server_without_connections_has_a_page() -> None:
    page = ConnectionSums().page(task="serve", counters={}, duration_s=1.0)
    assert "No connection has ended." in page
    assert "<figure" not in page


def test_a_server_writes_its_page(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(100_000))
    target = tmp_path / "page.html"
    senders = [word for name in SENDERS for word in ("--sender", name)]
    with running("serve", str(tmp_path), "--report", str(target), *senders) as host:
        for _ in range(4):
            fetched(f"{host.begun['urls'][0]}file")
        host.stop()
    page = target.read_text(encoding="utf-8")
    assert sum(sum(map(float, filter(None, row))) for row in values(page, "transfers")) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "page.html"]


def test_a_page_is_not_replaced_unasked(tcpsf: Command, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("mine", encoding="utf-8")
    answer = tcpsf("serve", tmp_path, "--report", target)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"error: cannot write `{target}`: it already exists\n")
    assert (
        "standard output is used for the addresses" in tcpsf("serve", tmp_path, "--report", "-").err
    )
