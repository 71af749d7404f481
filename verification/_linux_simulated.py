"""The replies of `_linux_live`, simulated, and the comparison of both sides."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from _linux_live import JIFFY_S, SEGMENT, SHORT, WHEEL_S, Losses, Reply, Sent, Setting
from _round_trips import RoundTrips

import tcpsf

DRAWS: Final = 40
"""Simulations with random delays for a reply that may depend on them."""


RTO_S: Final = 0.2
"""Smallest time by which a timeout exceeds the round-trip time."""
LATE_TICKS: Final = (-1, 1, 2)
"""Ticks by which a simulation begins later, to compare it with a reply with late timers.

A processor that always handles its timers before the other one has counted the tick handles all of
them a tick late, as if the reply had begun a tick earlier."""
NOISE_S: Final = 20e-6
"""Deviations of the delay that the capture does not show, in seconds."""
CLEAR_S: Final = 2e-6
"""Error of a difference of two round-trip times from tracepoints, which count microseconds."""
RESOLUTION_S: Final = 0.0001
"""Time between an event in the kernel and its time in the capture, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Random deviations of a delay, which change at regular times."""

    most_s: float
    begin_s: float
    end_s: float
    step_s: float
    draw: random.Random


def simulated(
    reply: Reply,
    setting: Setting,
    *,
    ticks: int = 0,
    noise_s: float = 0.0,
    seed: int = 1,
    round_trips: RoundTrips | None = None,
) -> list[Sent]:
    """Simulate a reply with the same losses.

    Its first data segment has the same phase in the ticks, and the link has the medians of the
    measured delays. It begins ``ticks`` ticks later than in the kernel. With ``noise_s``, the delay
    of each direction deviates by a uniform random time of at most that, which changes several times
    in a round trip. ``round_trips`` are the round-trip times in seconds before the first
    retransmission and from then on.
    """
    down_s = reply.down_s if round_trips is None else round_trips.least_s - reply.up_s
    start = (reply.phase_s + ticks * JIFFY_S - down_s - 2 * reply.up_s) % WHEEL_S
    draw = random.Random(f"{reply.losses} {seed}")  # noqa: S311 (no secret)
    tcp: dict[str, Any] = {"profile": "linux-6.18", "sack": setting.sack}
    tcp["interactive"] = not setting.quick
    workload: dict[str, Any] = {
        "name": "one",
        "kind": "transfers",
        "from": "server",
        "to": "client",
    }
    workload |= {"sizes": [reply.losses.segments * SEGMENT - SHORT], "start": _nanos(start)}
    workload |= {"sender": f"cubic+rack+tlp+prr / full / iw={setting.initial_window}"}
    workload |= {"handshake": True, "opener": "receiver"}
    if setting.records is not None:
        workload["records"] = [setting.records]

    end_s = start + reply.sent[-1].time_s + 6 * setting.rtt_ms / 1e3
    step_s = max(0.001, setting.rtt_ms / 8e3)
    noise = Noise(most_s=noise_s, begin_s=start, end_s=end_s, step_s=step_s, draw=draw)
    scenario = tcpsf.Scenario.from_dict(
        {
            "name": "one",
            "duration": f"{start + 120:.0f}s",
            "trace": ["one"],
            "tcp": tcp,
            "link": [
                _link("down", ("server", "client"), down_s, {"drops": reply.losses.data}, noise)
                | ({} if setting.rate_mbit is None else {"rate": f"{setting.rate_mbit:g}mbit"})
                | _change(reply, start + down_s + 2 * reply.up_s, round_trips),
                _link(
                    "up",
                    ("client", "server"),
                    reply.up_s,
                    {"drops": reply.losses.acks, "all_packets": True},
                    noise,
                ),
            ],
            "workload": [workload],
        }
    )
    return _data(tcpsf.run(scenario, seed=seed).packets, reply.losses)


def _link(
    name: str, ends: tuple[str, str], delay_s: float, loss: dict[str, Any], noise: Noise
) -> dict[str, Any]:
    """Return a link of the scenario."""
    found: dict[str, Any] = {"name": name, "from": ends[0], "to": ends[1]}
    found |= {"delay": _nanos(delay_s), "loss": {"kind": "mask"} | loss}
    if name == "up":
        # Two acknowledgments never arrive at the same time, as in the kernel.
        found["rate"] = "10gbit"
    if noise.most_s:
        at, changes = noise.begin_s, []
        while at < noise.end_s:
            delay = delay_s + noise.draw.uniform(-noise.most_s, noise.most_s)
            changes.append({"at": _nanos(at), "delay": _nanos(delay)})
            at += noise.step_s
        found["changes"] = changes
    return found


def _change(reply: Reply, begin_s: float, round_trips: RoundTrips | None) -> dict[str, Any]:
    """Return the change of the round-trip time in the silence before the first retransmission."""
    if round_trips is None:
        return {}
    known: set[int] = set()
    before_s = 0.0
    for one in reply.sent:
        if one.seq in known:
            at_s = begin_s + (before_s + one.time_s) / 2
            delay_s = round_trips.again_s - reply.up_s
            return {"changes": [{"at": _nanos(at_s), "delay": _nanos(delay_s)}]}
        known.add(one.seq)
        before_s = one.time_s
    return {}


def _data(packets: pl.DataFrame, losses: Losses) -> list[Sent]:
    """Return the data segments that are compared."""
    packets = packets.filter(
        (pl.col("from").cast(pl.String) == "sender") & (pl.col("payload_bytes") > 0)
    ).with_columns(pl.col("event").cast(pl.String))
    arrived = packets.filter(pl.col("event") == "arrived")
    done = arrived.group_by("seq").agg(pl.col("time_s").min())["time_s"].max()
    assert isinstance(done, float)  # noqa: S101 (every reply arrives)
    data = packets.filter(pl.col("event") == "sent")
    rows = list(data.select("time_s", "seq", "payload_bytes").iter_rows())
    sent = [Sent(time_s - rows[0][0], seq, length) for time_s, seq, length in rows]
    return losses.compared(sent, done - rows[0][0])


def _nanos(seconds: float) -> str:
    return f"{max(0.0, seconds) * 1e9:.0f}ns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Comparison of a reply."""

    reply: Reply
    ours: list[Sent]
    kind: str
    """`equal`, `late tick`, `by jitter`, `varies` or `different`."""
    share: float | None = None
    """For `by jitter`: share of the simulations with random delays that send the same."""


def agree(kernel: Sequence[Sent], ours: Sequence[Sent], tolerance_s: float) -> str:
    """Compare both sides.

    Returns `equal`, `late tick` if each interval is equal but not each time, or `different`.
    """
    if [(one.seq, one.length) for one in kernel] != [(one.seq, one.length) for one in ours]:
        return "different"
    apart = [a.time_s - b.time_s for a, b in zip(kernel, ours, strict=True)]
    if max(map(abs, apart)) <= tolerance_s:
        return "equal"
    steps = [after - before for before, after in itertools.pairwise(apart)]
    return "late tick" if max(map(abs, steps)) <= tolerance_s else "different"


def judged(reply: Reply, setting: Setting) -> Verdict:
    """Compare a reply of the kernel with the simulated one.

    A timer of the kernel that expires a tick late may move the next one to another slot of the
    timer wheel. If both sides differ, the simulation therefore starts at other ticks. If that does
    not help, the reply is simulated with random deviations of the delay up to the measured ones.
    The kernel's reply is then right if some of these simulations equal it.
    """
    tolerance = JIFFY_S + 2 * reply.error_s + RESOLUTION_S
    ours = simulated(reply, setting)
    kind = agree(reply.sent, ours, tolerance)
    if kind != "different":
        return Verdict(reply=reply, ours=ours, kind=kind)
    for ticks in LATE_TICKS:
        later = simulated(reply, setting, ticks=ticks)
        if agree(reply.sent, later, tolerance) != "different":
            return Verdict(reply=reply, ours=ours, kind="late tick")
    noise = max(reply.error_s, NOISE_S)
    equal = 0
    for seed in range(DRAWS):
        ticks = (0, *LATE_TICKS)[seed % (1 + len(LATE_TICKS))]
        drawn = simulated(reply, setting, ticks=ticks, noise_s=noise, seed=seed + 1)
        equal += agree(reply.sent, drawn, tolerance) != "different"
    if not equal:
        return Verdict(reply=reply, ours=ours, kind="different")
    return Verdict(reply=reply, ours=ours, kind="by jitter", share=equal / DRAWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """How often a reply waits for the retransmission timeout, because RACK takes no sample."""

    setting: Setting
    losses: Losses
    count: int
    kernel: float
    ours: float
    """Share of the simulations with the measured round-trip times."""
    same: float
    """Share of the replies whose simulation decides likewise."""
    clear: int
    """Number of replies whose two round-trip times are further apart than their error."""
    clear_same: float
    """Share of those whose simulation decides likewise."""


def likewise(found: Sequence[Proportion]) -> float:
    """Return the share of all clear replies whose simulation decides like the kernel."""
    clear = sum(one.clear for one in found)
    return sum(one.clear_same * one.clear for one in found) / max(1, clear)


def proportion(replies: Sequence[Reply], setting: Setting) -> Proportion:
    """Compare how often replies with the same losses wait for the timeout.

    Each simulation has the round-trip times that were measured with the kernel's reply.
    """
    usual = simulated(replies[0], setting)[-1].time_s

    def waits(sent: Sequence[Sent]) -> bool:
        return sent[-1].time_s > usual + RTO_S / 2

    rows = []
    for reply in replies:
        if reply.round_trips is None:
            continue
        ours = simulated(reply, setting, round_trips=reply.round_trips)
        apart_s = abs(reply.round_trips.again_s - reply.round_trips.least_s)
        is_clear = apart_s > CLEAR_S + reply.round_trips.error_s
        rows.append((waits(reply.sent), waits(ours), is_clear))
    clear = [kernel == ours for kernel, ours, is_clear in rows if is_clear]
    return Proportion(
        setting=setting,
        losses=replies[0].losses,
        count=len(rows),
        kernel=sum(kernel for kernel, _, _ in rows) / len(rows),
        ours=sum(ours for _, ours, _ in rows) / len(rows),
        same=sum(kernel == ours for kernel, ours, _ in rows) / len(rows),
        clear=len(clear),
        clear_same=sum(clear) / max(1, len(clear)),
    )
