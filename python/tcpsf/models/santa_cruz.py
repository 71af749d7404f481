"""How much of a flow waits at its bottleneck, from the times at which packets were sent and arrived.

C. Parsa, J. J. Garcia-Luna-Aceves, *Improving TCP Congestion Control over Internets with
Heterogeneous Transmission Media*, ICNP 1999, section 3.1. Times are in seconds, by each end's own
clock: only differences count, so that the clocks need not agree, but must run at one speed. Packets
are along the last axis, in order of sending.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcpsf.errors import ModelError
from tcpsf.models._arguments import Array, Taking, Values


def relative_delay(sent_s: Values, received_s: Values) -> Array:
    """D: how much longer each packet took than the one before it, R − S; (1). One value fewer than packets.

    >>> relative_delay([0.0, 1.0, 2.0], [5.0, 6.5, 7.5]).tolist()
    [0.5, 0.0]
    """
    sent, received = _times("relative_delay", sent_s, received_s)
    return np.asarray(np.diff(received, axis=-1) - np.diff(sent, axis=-1))


def relative_return_delay(received_s: Values, acknowledged_s: Values) -> Array:
    """Return D of the way back: how much longer each acknowledgment took than the one before it.

    (1) with arrivals of packets in the place of sending, and arrivals of their acknowledgments in that of arrivals.
    With `relative_delay` it says in which direction a round trip became longer: their sum is the round trip's change.
    The paper's Fig. 1, round trips of 4 and 5:

    >>> relative_delay([0.0, 1.0], [2.0, 3.0]).tolist(), relative_return_delay([2.0, 3.0], [4.0, 6.0]).tolist()
    ([0.0], [1.0])
    """
    received, acknowledged = _times(
        "relative_return_delay", received_s, acknowledged_s, names=("received_s", "acknowledged_s")
    )
    return np.asarray(np.diff(acknowledged, axis=-1) - np.diff(received, axis=-1))


def packet_service_time(received_s: Values) -> Array:
    """Mean seconds from one arrival to the next, span / (n − 1), of two packets or more; (3).

    The paper divides by the packets received. That is exact for a link that is never idle only if the first of them
    is not counted.

    >>> float(packet_service_time([1.0, 1.5, 2.0]))
    0.5
    """
    received = Taking("santa_cruz.packet_service_time").number("received_s", received_s)
    if received.ndim == 0 or received.shape[-1] < 2:
        raise ModelError(
            f"cannot compute santa_cruz.packet_service_time: `received_s` has {received.size} packet",
            hint="it takes two to have a time between them",
        )
    return np.asarray((received[..., -1] - received[..., 0]) / (received.shape[-1] - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What waits at the bottleneck at each window's end."""

    packets: Array
    """n: (2)."""
    change: Array
    """M: (4)."""
    service_s: Array
    """Mean packet service time of the window: (3)."""


def queue_estimate(
    sent_s: Values, received_s: Values, *, windows: Values, start_packets: float = 0.0
) -> Queue:
    """Packets of a flow that wait at its bottleneck, window by window; (2) to (4).

    ``windows`` are the numbers of packets of each window; the pair that joins two windows belongs to the later one.
    ``start_packets`` is what waits when the first packet arrives.

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
            hint="give one flow's packets",
        )
    sizes = np.atleast_1d(take.number("windows", windows, least=1.0))
    if sizes.sum() != sent.size or sizes[0] < 2 or (sizes != np.round(sizes)).any():
        raise ModelError(
            f"cannot compute santa_cruz.queue_estimate: `windows` is {sizes.astype(int).tolist()}",
            hint=f"whole numbers that sum to the {sent.size} packets, 2 or more in the first window",
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
                hint="arrivals must be later and later",
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
            hint="give both times of each packet, of two packets or more",
        )
    return first, second
