"""The time-sequence diagrams of the concept page, drawn from simulated runs.

``python -m tcpsf.report.ladder FOLDER`` writes them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tcpsf.chart.time_sequence import Flow, packets_of, side_by_side
from tcpsf.papers import smart_framing_mechanisms as mechanisms
from tcpsf.papers.smart_framing import VARIANTS
from tcpsf.runs import run
from tcpsf.scenario import Link, MaskLoss, Scenario, Tcp, Transfers

if TYPE_CHECKING:
    from tcpsf.run_result import RunResult


def flow_of(result: RunResult, *, name: str, flow: int = 0) -> Flow:
    """Take a flow out of a run that traced its packets."""
    found = [row for row in result.recoveries.iter_rows(named=True) if row["flow"] == flow]
    ends = [
        row
        for row in result.flows.iter_rows(named=True)
        if row["flow"] == flow and row["sender_s"] is not None
    ]
    return Flow(
        name=name,
        packets=packets_of(result.packets, flow=flow),
        repairs=tuple((row["time_s"], row["cause"]) for row in found),
        complete_s=ends[0]["start_s"] + ends[0]["sender_s"] if ends else None,
    )


DELAY_S = 0.05


def first_loss_scenario(sender: str) -> Scenario:
    """One flow of three full segments whose first data segment is lost.

    The line is slow, so that the segments are apart in the drawing.
    """
    return Scenario(
        name="first segment lost",
        duration="10s",
        trace=("one",),
        link=(
            Link(
                name="there",
                from_="a",
                to="b",
                rate="500kb/s",
                delay=f"{DELAY_S:g}s",
                loss=MaskLoss(drops="1"),
            ),
            Link(name="back", from_="b", to="a", rate="500kb/s", delay=f"{DELAY_S:g}s"),
        ),
        workload=(Transfers(name="one", from_="a", to="b", sizes=(4380,), sender=sender),),
        tcp=Tcp(profile="ns2"),
    )


def first_losses() -> tuple[Flow, ...]:
    """Simulate the same loss with the paper's three senders."""
    return tuple(
        flow_of(run(first_loss_scenario(variant.sender), seed=1), name=variant.label)
        for variant in sorted(
            VARIANTS, key=lambda variant: ("classic", "fs", "vs").index(variant.key)
        )
    )


def drawn(flows: Sequence[Flow]) -> str:
    """Return the diagram of the flows of `first_losses`, as SVG."""
    return side_by_side(
        flows, title="4380 bytes, of which the first segment is lost", flight_s=DELAY_S
    )


def limited_transmits() -> tuple[Flow, ...]:
    """Simulate the loss of the second window's first segment.

    The senders are Classic, Limited Transmit and the framings.
    """
    (long,) = (loss for loss in mechanisms.LOSSES if loss.key == "long")
    return tuple(
        flow_of(run(mechanisms.scenario(long, sender), seed=1), name=label)
        for label, sender in mechanisms.SENDERS.values()
    )


def main() -> None:
    """Draw the diagrams of the concept page into the folder that is given."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tcpsf.report.ladder FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "first-loss.svg").write_text(drawn(first_losses()), encoding="utf-8")
    second = side_by_side(
        limited_transmits(),
        title="The second window's first segment is lost",
        flight_s=mechanisms.DELAY_S,
    )
    (folder / "limited-transmit.svg").write_text(second, encoding="utf-8")


if __name__ == "__main__":
    main()
