"""Estimate of a flow's packets at the bottleneck, from the times of sending and arrival.

C. Parsa, J. J. Garcia-Luna-Aceves, *Improving TCP Congestion Control over Internets with
Heterogeneous Transmission Media*, ICNP 1999, section 3.1. Times are in seconds of each end's own
clock. Only differences count, so that the clocks may have an offset, but need the same rate.
Packets are along the last axis, in the order of sending.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcpsf.errors import ModelError
from tcpsf.models._arguments import Array, Taking, Values


def relative_delay(sent_s: Values, received_s: Values) -> Array:
    """D: increase of the forward delay from each packet to the next, R − S; (1).

    The result has one value fewer than there are packets.

    >>> relative_delay([0.0, 1.0, 2.0], [5.0, 6.5, 7.5]).tolist()
    [0.5, 0.0]
    """
    sent, received = _times("relative_delay", sent_s, received_s)
    return np.asarray(np.diff(received, axis=-1) - np.diff(sent, axis=-1))


def relative_return_delay(received_s: Values, acknowledged_s: Values) -> Array:
    """D of the return path: increase of the delay from each acknowledgment to the next.

    This is (1) with the arrival times of packets instead of the sending times, and the arrival
    times of acknowledgments instead of those of packets. The sum with `relative_delay` is the
    change of the round-trip time, so that both show the direction of the change. The paper's Fig. 1
    has round-trip times of 4 and 5:

    >>> relative_delay([0.0, 1.0], [2.0, 3.0]).tolist()
    [0.0]
    >>> relative_return_delay([2.0, 3.0], [4.0, 6.0]).tolist()
    [1.0]
    """
    received, acknowledged = _times(
        "relative_return_delay", received_s, acknowledged_s, names=("received_s", "acknowledged_s")
    )
    return np.asarray(np.diff(acknowledged, axis=-1) - np.diff(received, axis=-1))


def packet_service_time(received_s: Values) -> Array:
    """Mean time in seconds between arrivals of at least two packets, span / (n − 1); (3).

    The paper divides by the number of received packets. For a link that is never idle, this is
    exact only if the first packet is not counted.

    >>> float(packet_service_time([1.0, 1.5, 2.0]))
    0.5
    """
    received = Taking("santa_cruz.packet_service_time").number("received_s", received_s)
    if received.ndim == 0 or received.shape[-1] < 2:
        raise ModelError(
            f"cannot compute santa_cruz.packet_service_time: `received_s` has {received.size} packet",
            hint="give at least two packets",
        )
    return np.asarray((received[..., -1] - received[..., 0]) / (received.shape[-1] - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Estimated queue of the flow at the bottleneck, at the end of each window."""

    packets: Array
    """n: (2)."""
    change: Array
    """M: (4)."""
    service_s: Array
    """Mean packet service time of the window: (3)."""


def queue_estimate(
    sent_s: Values, received_s: Values, *, windows: Values, start_packets: float = 0.0
) -> Queue:
    """Estimate the number of a flow's packets at the bottleneck for each window; (2) to (4).

    ``windows`` has the number of packets of each window. A pair of packets of two windows belongs
    to the later window. ``start_packets`` is the number of packets at the bottleneck when the first
    packet arrives.

    >>> sent = [0.0, 0.0, 0.0, 2.0, 2.0, 2.0]
    >>> received = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    >>> queue_estimate(sent, received, windows=[3, 3]).packets.tolist()
    [2.0, 3.0]
    """
    take = Taking("santa_cruz.queue_estimate")
    sent, received = _times("queue_estimate", sent_s, received_s)
    if sent.ndim != 1:
        raise ModelError(
            f"cannot compute santa_cruz.queue_estimate: `sent_s` has {sent.ndim} axes",
            hint="give a one-dimensional array with the packets of one flow",
        )
    sizes = np.atleast_1d(take.number("windows", windows, least=1.0))
    if sizes.sum() != sent.size or sizes[0] < 2 or (sizes != np.round(sizes)).any():
        raise ModelError(
            f"cannot compute santa_cruz.queue_estimate: `windows` is {sizes.astype(int).tolist()}",
            hint=f"expected integers with a sum of {sent.size} packets, and a first window of at "
            "least 2",
        )
    start = float(take.not_negative("start_packets", start_packets))
    delays, gaps = relative_delay(sent, received), np.diff(received)
    # The pair (i, i + 1) belongs to the window of packet i + 1.
    cuts = np.cumsum(sizes.astype(int))[:-1] - 1
    change, service = [], []
    for delay, gap in zip(np.split(delays, cuts), np.split(gaps, cuts), strict=True):
        mean = gap.mean()
        if mean <= 0.0:
            raise ModelError(
                f"cannot compute santa_cruz.queue_estimate: `received_s` advances by {mean:g} s in a window",
                hint="arrival times must increase",
            )
        service.append(mean)
        change.append(delay.sum() / mean)
    return Queue(
        packets=start + np.cumsum(change), change=np.array(change), service_s=np.array(service)
    )


def _times(
    function: str,
    first_s: Values,
    second_s: Values,
    *,
    names: tuple[str, str] = ("sent_s", "received_s"),
) -> tuple[Array, Array]:
    take = Taking(f"santa_cruz.{function}")
    first, second = take.number(names[0], first_s), take.number(names[1], second_s)
    if first.shape != second.shape or first.ndim == 0 or first.shape[-1] < 2:
        raise ModelError(
            f"cannot compute santa_cruz.{function}: `{names[0]}` has shape {first.shape}, `{names[1]}` {second.shape}",
            hint="give both times of each packet, for at least two packets",
        )
    return first, second
