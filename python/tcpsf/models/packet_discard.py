"""Loss patterns of one window that Reno repairs without a timeout, and the effect on a switch.

R. Cohen, Y. Hamo, *Balanced packet discard for improving TCP performance in ATM networks*, Computer
Communications 24, 2001, section 2.2. A window has W segments, numbered from 0, of which N are lost
at n₁ < n₂ < …; later segments are not lost. Reno (RFC 2581) needs three duplicate acknowledgments
for each loss and halves its window at each loss. It sends new segments only if the inflated window
allows them. `recovers` evaluates the paper's sums. `reno_recovers` simulates the sender for each
acknowledgment, as a check of these sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tcpsf.errors import ModelError
from tcpsf.models._arguments import Array, Taking, Values

DUPLICATES = 3
"""Number of duplicate acknowledgments that cause a fast retransmit."""
CELL_PAYLOAD, TRAILER = 48, 8
"""Payload of an ATM cell, and length of AAL5's trailer, in bytes."""

Rule: TypeAlias = Literal["cwnd", "flight"]
"""Quantity that a loss halves: the window, as in the paper, or the data in flight (RFC 5681)."""
Truth: TypeAlias = npt.NDArray[np.bool_]


def first_repaired(window: Values, losses: Values) -> Truth:
    """Condition for a fast retransmit of the first loss: W − N ≥ 3; (1).

    >>> first_repaired([5, 4], 2).tolist()
    [True, False]
    """
    take = Taking("packet_discard.first_repaired")
    w, n = take.number("window", window, least=1.0), take.number("losses", losses, least=1.0)
    take.together(window=w, losses=n)
    return np.asarray(w - n >= DUPLICATES)


def second_repaired(window: Values, losses: Values, *, apart: Values = 1.0) -> Truth:
    """Condition for the second loss: ⌊W/2⌋ − N + [n₂ − n₁ = W − N + 1] ≥ 3; (2), corrected.

    ``apart`` is n₂ − n₁. The printed condition, W/2 − N ≥ 3, is wrong only for two patterns:
    W = 8 {0, 7} and W = 9 {0, 8}.

    >>> second_repaired([10, 9, 8], 2).tolist(), bool(second_repaired(8, 2, apart=7))
    ([True, False, False], True)
    """
    take = Taking("packet_discard.second_repaired")
    w, n = take.number("window", window, least=1.0), take.number("losses", losses, least=2.0)
    gap = take.number("apart", apart, least=1.0)
    take.together(window=w, losses=n, apart=gap)
    new = np.maximum(np.floor(w / 2.0) - n, 0.0) + (gap == w - n + 1.0)
    return np.asarray((w - n >= DUPLICATES) & (new >= DUPLICATES))


def third_repaired(window: Values, *, apart: Values, losses: Values = 3.0) -> Truth:
    """Condition for the third loss: n₂ − n₁ ≥ 3W/4 + 3 and the previous conditions; (3).

    ``apart`` is n₂ − n₁. The exact condition is n₂ − n₁ ≥ W − ⌊⌊W/2⌋/2⌋ + 3.

    >>> third_repaired(24, apart=[20, 21]).tolist()
    [False, True]
    """
    take = Taking("packet_discard.third_repaired")
    w, gap = take.number("window", window, least=1.0), take.number("apart", apart, least=1.0)
    n = take.number("losses", losses, least=3.0)
    take.together(window=w, apart=gap, losses=n)
    enough = gap >= w - np.floor(np.floor(w / 2.0) / 2.0) + DUPLICATES
    return np.asarray(second_repaired(w, n, apart=gap) & enough)


def fourth_repaired(
    window: Values, *, apart_second: Values, apart_third: Values, losses: Values = 4.0
) -> Truth:
    """Condition for the fourth loss: n₃ − n₁ ≥ 11W/8 − N + 3 and the previous ones; (4).

    It never holds. Offsets are from n₁.

    >>> bool(fourth_repaired(1000, apart_second=800, apart_third=998))
    False
    """
    take = Taking("packet_discard.fourth_repaired")
    w, n = take.number("window", window, least=1.0), take.number("losses", losses, least=4.0)
    second = take.number("apart_second", apart_second, least=1.0)
    third = take.number("apart_third", apart_third, least=2.0)
    take.together(window=w, losses=n, apart_second=second, apart_third=third)
    return np.asarray(
        third_repaired(w, apart=second, losses=n) & (third >= 11.0 * w / 8.0 - n + DUPLICATES)
    )


def recovers(window: Values, lost: Values, *, ssthresh_rule: Rule = "cwnd") -> Truth:
    """Return whether fast retransmit repairs every loss.

    ``lost`` has the indexes of the lost segments along its last axis. The function computes one
    recovery after another. The number of new segments that a recovery allows is the number of
    duplicate acknowledgments in the next one.

    >>> recovers([8, 9, 10], [0, 1]).tolist(), bool(recovers(24, [0, 21, 22]))
    ([False, False, True], True)
    >>> bool(recovers(24, [0, 1, 20])), bool(recovers(24, [0, 1, 20], ssthresh_rule="flight"))
    (False, True)
    """
    take = Taking("packet_discard.recovers")
    take.choice("ssthresh_rule", ssthresh_rule, ("cwnd", "flight"))
    w, places = (
        take.number("window", window, least=1.0),
        np.atleast_1d(take.number("lost", lost, least=0.0)),
    )
    take.together(window=w, lost=places[..., 0])
    _check(w, places)
    count = places.shape[-1]
    sent = w + places[..., 0]  # segments below this number have been sent
    duplicates = w - count
    window_now = np.broadcast_to(w, sent.shape)
    good = np.ones(sent.shape, dtype=bool)
    for k in range(count):
        here = places[..., k]
        good = good & (duplicates >= DUPLICATES)
        if k + 1 == count:
            break
        halved = window_now if ssthresh_rule == "cwnd" else sent - here
        threshold = np.maximum(np.floor(halved / 2.0), 2.0)
        inflated = here + threshold + duplicates
        after = places[..., k + 1] + threshold
        reached = np.maximum(np.maximum(sent, inflated), after)
        duplicates, sent, window_now = reached - sent, reached, threshold
    return np.asarray(good)


def reno_recovers(window: int, lost: Iterable[int], *, ssthresh_rule: Rule = "cwnd") -> bool:
    """Simulate sender and receiver for each segment; return whether there is no timeout.

    >>> reno_recovers(24, [0, 21, 22]), reno_recovers(24, [0, 1, 2])
    (True, False)
    """
    take = Taking("packet_discard.reno_recovers")
    take.choice("ssthresh_rule", ssthresh_rule, ("cwnd", "flight"))
    window = take.whole("window", window, least=1, most=10_000)
    gone = set(lost)
    _check(np.asarray(float(window)), np.array(sorted(gone), dtype=np.float64))
    line: list[int] = list(range(window))  # segments in flight, in order
    sent, una, cwnd = window, 0, window
    arrived: set[int] = set()
    duplicates, threshold, recovering = 0, 0, False
    while line:
        segment = line.pop(0)
        if segment in gone:
            gone.discard(segment)  # a retransmission arrives
            continue
        arrived.add(segment)
        ack = una
        while ack in arrived:
            ack += 1
        if ack > una:
            una, duplicates = ack, 0
            if recovering:
                cwnd, recovering = threshold, False
        else:
            duplicates += 1
            if duplicates == DUPLICATES:
                halved = cwnd if ssthresh_rule == "cwnd" else sent - una
                threshold = max(halved // 2, 2)
                cwnd, recovering = threshold + DUPLICATES, True
                line.append(una)
            elif recovering:
                cwnd += 1
        while una + cwnd > sent:
            if not gone and una >= window:
                return True
            line.append(sent)
            sent += 1
    return una >= window


def cells(datagram: Values) -> Array:
    """Number of ATM cells of an IP datagram, including AAL5's trailer; ``datagram`` in bytes.

    576 bytes need 13 cells, not 12 as printed.

    >>> cells([576, 1500]).tolist()
    [13.0, 32.0]
    """
    take = Taking("packet_discard.cells")
    return np.asarray(np.ceil((take.positive("datagram", datagram) + TRAILER) / CELL_PAYLOAD))


def longest_recovery(*, space: Values, connections: Values, datagram: Values = 576.0) -> Array:
    """Maximum gap for the upper threshold if all connections have a loss at once; section 4.

    It is the largest integer below space/(N·M) for N connections and M cells per packet. ``space``
    is the number of cells between the two thresholds.

    >>> float(longest_recovery(space=600, connections=5))
    9.0
    """
    take = Taking("packet_discard.longest_recovery")
    room, flows = take.positive("space", space), take.number("connections", connections, least=1.0)
    size = cells(datagram)
    take.together(space=room, connections=flows, datagram=size)
    return np.asarray(np.ceil(room / (flows * size)) - 1.0)


def _check(window: Array, lost: Array) -> None:
    wrong = None
    if lost.size and ((lost != np.floor(lost)).any() or (np.diff(lost, axis=-1) <= 0).any()):
        wrong = "indexes must be integers in ascending order"
    elif lost.size == 0 or (lost[..., -1] >= window).any():
        wrong = "give at least one index, and only indexes below the window"
    if wrong is not None:
        raise ModelError(
            f"cannot compute packet_discard: `lost` is {lost.tolist()}"[:160], hint=wrong
        )
