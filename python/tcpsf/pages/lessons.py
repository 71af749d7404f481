"""Figures of the lessons in ``docs/lessons/``, computed from simulated runs.

``python -m tcpsf.pages.lessons FOLDER`` draws them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tcpsf import chart
from tcpsf.chart.time_sequence import side_by_side
from tcpsf.comparison import compare
from tcpsf.report.ladder import flow_of
from tcpsf.runs import run
from tcpsf.scenario import ByteLoss, PacketLoss, Scenario, packaged

PAYLOAD_BYTES = 1448
"""Data of a full-sized packet of 1500 bytes with timestamps (RFC 7323)."""

PACKETS = 10
"""Packets of the reply in the first figure."""

FEWER = 5
"""Packets of the reply in the second figure, which labels each of them."""

DELAY_S = 0.025
"""Delay of each link of the example scenario."""

SENDERS = {
    "initial window of 10 packets": ("reno+sack / full / iw=10", "rfc"),
    "initial window of 1 packet": ("reno+sack / full / iw=1", "rfc"),
    "1 packet, divided into 4": ("reno+sack / fs(n=4) / iw=1", "rfc"),
    "Linux": ("linux", "linux-6.18"),
}
"""Sender and profile of each curve of the first figure."""

LAST = {
    "SACK, RFC timer": ("reno+sack / full / iw=10", "rfc"),
    "Linux": ("linux", "linux-6.18"),
    "Linux, last packet sent twice": ("linux / dup-tail", "linux-6.18"),
}
"""Sender and profile of each part of the second figure."""

LOSSES = {
    "per packet": PacketLoss(probability=0.02),
    "per byte": ByteLoss(probability=1.4e-5),
}
"""Loss laws of the third figure; both lose about 2 % of the packets of 1500 bytes."""

REMEDIES = {
    "SACK: fs(n=4)": ("reno+sack / full / iw=3", "reno+sack / fs(n=4) / iw=3", "rfc"),
    "Linux: tail(n=4)": ("linux", "linux / tail(n=4)", "linux-6.18"),
    "Linux: dup-tail": ("linux", "linux / dup-tail", "linux-6.18"),
}
"""Sender, sender with the remedy, and profile of each group of bars of the third figure."""


MEASURES = {"mean_s": "mean", "p95_s": "95th percentile"}
"""Parts of the third figure, by the key of the measure."""


def example(name: str) -> Scenario:
    """Return an example scenario of the package."""
    return Scenario.from_toml_text(packaged.example(name).read_text(encoding="utf-8"))


def reply(*, lost: int, of: int, sender: str, profile: str) -> Scenario:
    """Return the scenario of the lessons with a reply of ``of`` packets, of which one is lost.

    ``lost`` is the number of this packet, from 1.
    """
    drops = ",".join("1" if number == lost else "0" for number in range(1, of + 1))
    return (
        example("lost-packet")
        .with_value("link.down.loss.drops", drops)
        .with_value("workload.reply.sizes", [of * PAYLOAD_BYTES])
        .with_value("workload.reply.sender", sender)
        .with_value("tcp.profile", profile)
    )


def by_lost_packet() -> chart.Plot:
    """Draw the completion time of the reply against the number of the lost packet."""
    rows = []
    for name, (sender, profile) in SENDERS.items():
        for lost in range(1, PACKETS + 1):
            flows = run(reply(lost=lost, of=PACKETS, sender=sender, profile=profile)).flows
            rows.append({"x": lost, "y": flows["sender_s"][0], "series": name})
    return chart.plot(
        rows,
        title="A reply of ten packets, of which one is lost",
        x_axis=chart.Axis(label="number of the lost packet"),
        y_axis=chart.Axis(label="completion time", unit="s", low=0),
        keys={"initial window of 10 packets": "classic", "1 packet, divided into 4": "fs"},
    )


def last_packet() -> str:
    """Draw the packets of replies whose last packet is lost, as SVG."""
    flows = []
    for name, (sender, profile) in LAST.items():
        scenario = reply(lost=FEWER, of=FEWER, sender=sender, profile=profile)
        flows.append(flow_of(run(replace(scenario, trace=("reply",)), seed=1), name=name))
    return side_by_side(flows, title="The last of five packets is lost", flight_s=DELAY_S)


def by_remedy() -> chart.Plot:
    """Draw the change by each remedy of the mean and the 95th percentile."""
    return chart.plot(
        list(_changes()),
        style="bar",
        title="A remedy for the replies of the scenario starter, compared with none",
        x_axis=chart.Axis(label="sender and remedy", scale="category"),
        y_axis=chart.Axis(label="change of the completion time", unit="%"),
    )


def _changes() -> Iterator[dict[str, Any]]:
    """Yield a row for each remedy, loss law and measure."""
    for name, (plain, remedy, profile) in REMEDIES.items():
        for law, loss in LOSSES.items():
            scenario = example("starter").with_value("tcp.profile", profile)
            scenario = scenario.with_value("link.down.loss", loss)
            for entry in compare(scenario, senders=[plain, remedy]).entries:
                if entry.size_class is None and entry.measure.key in MEASURES:
                    difference = entry.differences[1]
                    if difference is not None and difference.percent is not None:
                        change = difference.percent
                        yield {
                            "x": name,
                            "y": change.value,
                            "low": change.low,
                            "high": change.high,
                            "series": f"loss {law}",
                            "panel": MEASURES[entry.measure.key],
                        }


def main() -> None:
    """Draw the figures of the lessons into the folder that is given."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tcpsf.pages.lessons FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in (
        ("lost-packet.svg", by_lost_packet().svg(theme="auto", width=640)),
        ("last-packet.svg", last_packet()),
        ("remedies.svg", by_remedy().svg(theme="auto", width=760)),
    ):
        (folder / name).write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
