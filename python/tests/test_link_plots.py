"""Charts of an emulated link over time: their numbers follow from the samples."""

from __future__ import annotations

from typing import Any

import pytest

from tcpsf.chart import Plot
from tcpsf.run_report import link_plots

COLUMNS = (
    "offered_packets",
    "offered_bytes",
    "delivered_packets",
    "delivered_bytes",
    "dropped_buffer_packets",
    "dropped_early_packets",
    "dropped_loss_packets",
    "too_big_packets",
    "refused_packets",
    "marked_packets",
    "busy_s",
    "queue_packets",
    "queue_bytes",
    "max_queue_packets",
    "max_queue_bytes",
)


def series(times: list[float], **down: list[float]) -> dict[str, Any]:
    """Series whose direction down has these columns; all other counters are zero."""
    zero = {name: [0] * len(times) for name in COLUMNS}
    return {"interval_s": times[0], "time_s": times, "up": zero, "down": {**zero, **down}}


def chart(found: list[Plot], key: str) -> Plot:
    (plot,) = (each for each in found if each.key == key)
    return plot


def points(plot: Plot, label: str) -> list[tuple[float, float]]:
    (panel,) = plot.panels
    (curve,) = (each for each in panel.curves if each.label == label)
    return [(float(x), float(y)) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]


def test_a_link_without_packets_has_no_charts() -> None:
    assert link_plots.over_time(series([0.1, 0.2])) == []


def test_rates_are_differences_divided_by_the_time_between_samples() -> None:
    found = link_plots.over_time(
        series([0.1, 0.3], offered_bytes=[0, 50_000], offered_packets=[0, 40])
    )
    assert [each.key for each in found] == ["throughput", "packet-rate"]
    throughput = chart(found, "throughput")
    assert throughput.title == "Throughput, down"
    assert [value for step in points(throughput, "offered") for value in step] == pytest.approx(
        [0, 0, 0.1, 2, 0.3, 2]
    )
    assert points(chart(found, "packet-rate"), "offered")[1] == pytest.approx((0.1, 200))


def test_losses_are_counted_by_cause() -> None:
    found = link_plots.over_time(
        series(
            [1.0, 2.0, 3.0],
            dropped_buffer_packets=[0, 2, 2],
            too_big_packets=[1, 1, 4],
            marked_packets=[0, 0, 5],
        )
    )
    losses = chart(found, "losses")
    (panel,) = losses.panels
    assert [curve.label for curve in panel.curves] == [
        "dropped, buffer full",
        "too long for the path",
        "marked",
    ]
    assert points(losses, "dropped, buffer full") == [(0, 0), (1, 2), (2, 0), (3, 0)]
    assert points(losses, "too long for the path") == [(0, 1), (1, 0), (2, 3), (3, 3)]
    assert points(losses, "marked") == [(0, 0), (1, 0), (2, 5), (3, 5)]


def test_a_queue_has_its_values_and_the_maximum_of_each_interval() -> None:
    found = link_plots.over_time(
        series([1.0, 2.0], queue_bytes=[3000, 0], max_queue_bytes=[4500, 6000])
    )
    queues = chart(found, "queues")
    assert points(queues, "queue") == [(0, 0), (1, 3), (2, 0)]
    assert points(queues, "queue, max") == [(0, 4.5), (1, 6), (2, 6)]


@pytest.mark.parametrize("samples", [1, 199, 200, 201, 938])
def test_rates_have_at_most_200_intervals_and_lose_no_packet(samples: int) -> None:
    times = [0.5 * (number + 1) for number in range(samples)]
    counts = [float(3 * (number + 1)) for number in range(samples)]
    found = link_plots.over_time(series(times, marked_packets=counts, busy_s=times))
    steps = points(chart(found, "losses"), "marked")
    assert len(steps) <= 201
    assert sum(count for _, count in steps[:-1]) == counts[-1]
    assert steps[-1][0] == times[-1]
    assert {share for _, share in points(chart(found, "utilisation"), "utilisation")} == {100.0}
