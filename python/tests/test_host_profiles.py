"""Profiles and remedies of `tcpsf serve`. Needs root and TUN devices, as CI has them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from conftest import Command
from test_host import SENDERS, fetched, running

from tcpsf import _core
from tcpsf.cli.options import PROFILES


@pytest.mark.parametrize(
    ("words", "profile", "sender"),
    [
        ((), None, "reno+sack / full / iw=rfc6928"),
        (("--sender", "linux"), "linux-6.18", "cubic+rack+tlp+prr / full / iw=10"),
        (
            ("--profile", "linux-6.12"),
            "linux-6.12",
            "cubic(hystart=late)+rack+tlp+prr / full / iw=10",
        ),
        (("--profile", "linux-6.18", "--sender", SENDERS[0]), "linux-6.18", SENDERS[0]),
        (("--profile", "bsd"), "bsd", "reno / full / iw=1"),
    ],
)
def test_profiles_select_sender_and_timers(
    tmp_path: Path, words: tuple[str, ...], profile: str | None, sender: str
) -> None:
    content, rows = b"x" * 20_000, tmp_path / "rows.jsonl"
    (tmp_path / "file").write_bytes(content)
    with running("serve", str(tmp_path), "--records", str(rows), *words) as host:
        assert fetched(f"{host.begun['urls'][0]}file") == content
        host.stop()
    assert host.begun["profile"] == host.summary["profile"] == profile
    row = pl.read_ndjson(rows).row(0, named=True)
    assert row["sender"] == sender
    # Linux adds at least 200 ms to the round-trip time; the others have a minimum of 1 s.
    assert (row["rto_last_s"] < 0.3) == (profile or "").startswith("linux")


def test_profiles_are_those_of_the_host(tcpsf: Command) -> None:
    assert sorted(PROFILES) == sorted(_core.host_profiles())
    answer = tcpsf("serve", ".", "--profile", "linux")
    assert answer.status == 2
    assert "`--profile linux`" in answer.err


def test_remedies_on_the_wire(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content := bytes(range(250)) * 12)
    senders = [
        "linux / full",
        "linux / tail(n=4)",
        "linux / tiny-tail+dup-tail",
        "reno+sack / dup-tail(delay=1ms)+rto-min(ms=20) / iw=10",
    ]
    rows = tmp_path / "rows.jsonl"
    options = [word for sender in senders for word in ("--sender", sender)]
    with running("serve", str(tmp_path), "--records", str(rows), *options) as host:
        for _ in senders:
            assert fetched(f"{host.begun['urls'][0]}file") == content
        host.stop()
    frame = pl.read_ndjson(rows)
    assert frame["retransmitted_segments"].to_list() == [0] * 4
    assert len(set(frame["sent_bytes"])) == 1
    full, tail, tiny, _ = (
        sent - copied
        for sent, copied in zip(frame["segments"], frame["copied_segments"], strict=True)
    )
    assert (tail - full, tiny - full) == (3, 1)
    # A copy with a delay is dropped if its data is acknowledged before.
    assert frame["copied_segments"].to_list()[:3] == [0, 0, 1]
