"""The small-window region of Smart Framing: sections V and VII of the paper.

M. Mellia, M. Meo, C. Casetti, *TCP Smart Framing*, IEEE/ACM ToN 13(2), 2005. A sender that always
has data starts with a window of one full-sized segment. It leaves the region when its window
reaches ``threshold`` full-sized segments. The duration and the data of this passage follow from an
absorbing Markov chain. This module has the sums in closed form, and `Passage.chain` has the chain
in matrix form. ``loss`` is the loss probability of a full-sized segment. Windows double in each
round trip, and acknowledgments are never lost or delayed. Losses are detected as in the paper's
chains; docs/concepts/models.md describes their simplifications.

>>> classic_tcp = classic(0.05)
>>> round(float(classic_tcp.duration_s), 3), round(float(gain_percent(fixed_size(0.05), classic_tcp)), 1)
(0.672, 51.7)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tcpsf.models import _fixed, _variable
from tcpsf.models._arguments import Array, Taking, Values
from tcpsf.models._passage_sums import PassageSums, in_blocks
from tcpsf.models.chain import Chain, State, chain

Framing: TypeAlias = Literal["classic", "fixed-size", "variable-size"]
Solved: TypeAlias = tuple[PassageSums, Callable[[], list[State]]]
Law: TypeAlias = Literal["linear", "constant"] | float
"""Dependence of loss on a segment's size.

It is proportional, constant, or proportional to a power of the size, with an exponent from 0 to 1.
"""
Wait: TypeAlias = Literal["last", "whole"]
"""Duration of a timeout.

``last`` is the mean of the back-off's last interval, which (1) prints as the average duration;
``whole`` is the mean of the whole wait, RTO / (1 − 2P).
"""
Counted: TypeAlias = Literal["printed", "all"]
"""Segments in the rewards.

``all`` includes the new segments that acknowledgments before the first loss allow. The printed
rewards do not include them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Means over one passage through the region, in the arguments' common shape."""

    duration_s: Array
    """D: duration; (6), (10)."""
    segments: Array
    """N: number of segments that arrive."""
    offered_segments: Array
    """T: number of segments that are sent; (8), (12)."""
    bytes: Array
    """Bytes that arrive. A full-sized segment counts as ``mss``."""
    offered_bytes: Array
    overhead: Array
    """Header bytes of a segment, which are part of its size."""
    build: Callable[[], Chain]
    """Function that makes the chain."""

    @property
    def chain(self) -> Chain:
        """The Markov chain: states, transition matrix and rewards.

        The memory is proportional to the size of the arguments times the squared number of states.
        """
        return self.build()

    @property
    def throughput_Bps(self) -> Array:  # noqa: N802 (bytes per second)
        """X: throughput in bytes per second, headers included; (4), (11)."""
        return np.asarray(self.bytes / self.duration_s)

    @property
    def net_throughput_Bps(self) -> Array:  # noqa: N802
        """Throughput in bytes per second without headers."""
        return np.asarray((self.bytes - self.overhead * self.segments) / self.duration_s)

    @property
    def waste_Bps(self) -> Array:  # noqa: N802
        """O: headers of received segments, and all bytes of lost ones, per second; (9), (13)."""
        lost = self.offered_bytes - self.bytes
        return np.asarray((self.overhead * self.segments + lost) / self.duration_s)

    @property
    def waste_fraction(self) -> Array:
        """Waste as a share of all sent bytes; Fig. 15."""
        return np.asarray(self.waste_Bps * self.duration_s / self.offered_bytes)


def classic(
    loss: Values,
    *,
    rtt: Values = 0.2,
    rto: Values = 1.5,
    mss: Values = 1460.0,
    overhead: Values = 40.0,
    threshold: int = 4,
    reading: Literal["A", "B"] = "A",
    wait: Wait = "last",
) -> Passage:
    """Classic TCP: equations (1) to (9), Fig. 9, for 0 ≤ loss < 1/2.

    ``rtt`` and ``rto`` are in seconds, ``mss`` and ``overhead`` in bytes. In reading A, one visit
    of the state TO ends in success (n = 1, t = 1/(1−P)). In reading B, TO returns to itself with
    probability P (n = 1−P, t = 1). Both readings have equal segments and different times.

    >>> a, b = classic(0.1), classic(0.1, reading="B")
    >>> round(float(a.segments), 4) == round(float(b.segments), 4)
    True
    >>> float(a.duration_s) < float(b.duration_s)
    True
    """
    take = Taking("smart_framing.classic")
    take.choice("reading", reading, ("A", "B"))
    take.choice("wait", wait, ("last", "whole"))
    p, r, timer, size, header = _common(take, loss, rtt, rto, mss, overhead)
    threshold = take.whole("threshold", threshold, least=2, most=64)

    def solve(p: Array, r: Array, timer: Array, size: Array) -> Solved:
        return _fixed.solve(
            p,
            segments=1,
            threshold=threshold,
            rtt=r,
            timeout=mean_timeout(p, rto=timer, wait=wait),
            size=size,
            returns=reading == "B",
            everything=False,
        )

    return _passage(solve, (p, r, timer, size), header, _fixed.exit_name(1, threshold))


def fixed_size(
    loss: Values,
    *,
    law: Law = "linear",
    segments: int = 4,
    rtt: Values = 0.2,
    rto: Values = 1.5,
    mss: Values = 1460.0,
    overhead: Values = 40.0,
    threshold: int = 4,
    wait: Wait = "last",
    counted: Counted = "printed",
) -> Passage:
    """FS-TCP-SF: equations (10) to (13), Fig. 10, for loss < 1/2.

    ``segments`` is N_sf, the number of small segments in a full-sized one. For the first window,
    and for windows of fewer than 8 segments, the cases are the first lost segment, and whether
    three later segments arrive. In a larger window, the repair of a loss always takes one round
    trip (section V-B). A loss halves the window, with a minimum of two full-sized segments. With
    one segment the model is `classic` in reading B.

    >>> float(fixed_size(0.0).segments), round(float(fixed_size(0.1).waste_fraction), 3)
    (12.0, 0.132)
    """
    take = Taking("smart_framing.fixed_size")
    take.choice("wait", wait, ("last", "whole"))
    take.choice("counted", counted, ("printed", "all"))
    p, r, timer, size, header = _common(take, loss, rtt, rto, mss, overhead)
    segments = take.whole("segments", segments, least=1, most=64)
    threshold = take.whole("threshold", threshold, least=2, most=64)

    def solve(p: Array, r: Array, timer: Array, size: Array) -> Solved:
        small = size_loss(p, 1.0 / segments, law=law)
        return _fixed.solve(
            small,
            segments=segments,
            threshold=threshold,
            rtt=r,
            timeout=mean_timeout(small, rto=timer, wait=wait),
            size=size / segments,
            returns=True,
            everything=counted == "all",
        )

    return _passage(solve, (p, r, timer, size), header, _fixed.exit_name(segments, threshold))


def variable_size(
    loss: Values,
    *,
    law: Law = "linear",
    alpha: float = 1.32,
    segments: int = 4,
    rtt: Values = 0.2,
    rto: Values = 1.5,
    mss: Values = 1460.0,
    overhead: Values = 40.0,
    wait: Wait = "last",
    counted: Counted = "printed",
) -> Passage:
    """VS-TCP-SF: section V-C, Fig. 11, for loss < 1/2.

    The paper does not print the probabilities, which are derived here. ``segments`` are in flight.
    Each segment is longer than the previous one by the factor ``alpha``, up to the full size. If
    the l-th segment of a window is the first lost one, ``segments`` − 1 segments follow it. If
    three of them arrive, fast retransmit repairs the loss. The region ends with the window that
    begins with a full-sized segment.

    >>> passage = variable_size(0.0)
    >>> float(passage.segments), round(float(passage.bytes))
    (8.0, 4525)
    """
    take = Taking("smart_framing.variable_size")
    take.choice("wait", wait, ("last", "whole"))
    take.choice("counted", counted, ("printed", "all"))
    p, r, timer, size, header = _common(take, loss, rtt, rto, mss, overhead)
    segments = take.whole("segments", segments, least=2, most=64)
    grows = float(take.number("alpha", alpha, above=1.0, most=4.0))
    shares = _variable.shares(segments, grows)

    def solve(p: Array, r: Array, timer: Array, size: Array) -> Solved:
        losses = [size_loss(p, share, law=law) for share in shares]
        return _variable.solve(
            losses,
            segments=segments,
            rtt=r,
            timeouts=[mean_timeout(each, rto=timer, wait=wait) for each in losses],
            sizes=[size * share for share in shares],
            everything=counted == "all",
        )

    return _passage(solve, (p, r, timer, size), header, f"S{len(shares)}")


def gain_percent(framed: Passage, classic_tcp: Passage, *, net: bool = False) -> Array:
    """G: throughput gain over Classic TCP as a percentage; section V-D.

    With ``net``, both throughputs are without headers.

    >>> float(gain_percent(fixed_size(0.0), classic(0.0)))
    0.0
    >>> round(float(gain_percent(fixed_size(0.0), classic(0.0), net=True)), 1)
    -8.5
    """
    ours, theirs = (
        (passage.net_throughput_Bps if net else passage.throughput_Bps)
        for passage in (framed, classic_tcp)
    )
    return np.asarray(100.0 * (ours / theirs - 1.0))


def lossless_segments(
    size: Values,
    *,
    framing: Framing,
    mss: int = 1460,
    segments: int = 4,
    threshold: int = 4,
    alpha: float = 1.32,
    at_threshold: Literal["full", "small"] = "full",
) -> Array:
    """Number of data segments of a flow of ``size`` bytes without loss; section VII.

    Each segment is acknowledged. ``at_threshold`` is the segment size of FS-TCP-SF with a window of
    exactly ``threshold`` full-sized segments. The stated rule, "below", gives 26 small segments in
    the region. The printed number of 28 also needs small segments at the threshold.

    >>> framings = ("classic", "variable-size", "fixed-size")
    >>> [int(lossless_segments(100_000, framing=each)) for each in framings]
    [69, 74, 88]
    """
    take = Taking("smart_framing.lossless_segments")
    take.choice("framing", framing, ("classic", "fixed-size", "variable-size"))
    take.choice("at_threshold", at_threshold, ("full", "small"))
    data = take.positive("size", size)
    mss = take.whole("mss", mss, least=1, most=65_535)
    segments = take.whole("segments", segments, least=2, most=64)
    threshold = take.whole("threshold", threshold, least=2, most=64)
    grows = float(take.number("alpha", alpha, above=1.0, most=4.0))
    if framing == "classic":
        cuts = np.zeros(0)
    elif framing == "fixed-size":
        small = segments * (2 * threshold - 1) - (2 if at_threshold == "full" else 0)
        cuts = np.full(small, float(max(mss // segments, 1)))
    else:
        sizes = [max(int(mss * share), 1) for share in _variable.shares(segments, grows)[:-1]]
        cuts = np.array([sizes[0]] * (segments - 1) + sizes, dtype=np.float64)
    ends = np.cumsum(cuts)
    within = np.searchsorted(ends, data, side="left") + 1.0
    if cuts.size == 0:
        return np.asarray(np.ceil(data / mss))
    return np.where(data <= ends[-1], within, cuts.size + np.ceil((data - ends[-1]) / mss))


def overhead_percent(
    sizes: Values,
    *,
    framing: Framing,
    header: Values = 40.0,
    mss: int = 1460,
    segments: int = 4,
    at_threshold: Literal["full", "small"] = "full",
) -> Array:
    """Header bytes as a percentage of the payload without loss; section VII.

    ``sizes`` are equally likely flow sizes in bytes. The paper states a header of 40 bytes. Its
    values of 5.6, 8.0 and 6.5 % result from 80 bytes, which include the acknowledgment's header.

    >>> from tcpsf.papers.smart_framing import CLASS_BYTES
    >>> for header in (40, 80):
    ...     percent = overhead_percent(CLASS_BYTES, framing="classic", header=header)
    ...     print(round(float(percent), 2))
    2.85
    5.7
    """
    take = Taking("smart_framing.overhead_percent")
    data, bytes_each = take.positive("sizes", sizes), take.not_negative("header", header)
    count = lossless_segments(
        data, framing=framing, mss=mss, segments=segments, at_threshold=at_threshold
    )
    return np.asarray(100.0 * bytes_each * count.sum() / data.sum())


def size_loss(loss: Values, share: Values, *, law: Law) -> Array:
    """Loss probability of a segment of ``share`` of the full size: loss · share^law; section V-D.

    >>> [round(float(size_loss(0.1, 0.25, law=law)), 4) for law in ("linear", "constant", 0.5)]
    [0.025, 0.1, 0.05]
    """
    take = Taking("smart_framing.size_loss")
    p = take.probability("loss", loss)
    part = take.number("share", share, above=0.0, most=1.0)
    if isinstance(law, str):
        power = 1.0 if take.choice("law", law, ("linear", "constant")) == "linear" else 0.0
    else:
        power = float(take.number("law", law, least=0.0, most=1.0))
    take.together(loss=p, share=part)
    return np.asarray(p * part**power)


def mean_timeout(loss: Values, *, rto: Values, wait: Wait = "last") -> Array:
    """T: mean duration of a timeout in seconds, back-off included; (1).

    The retransmitted segment is lost with probability ``loss`` < 1/2.

    >>> round(float(mean_timeout(0.25, rto=1.5)), 3)
    2.25
    >>> round(float(mean_timeout(0.25, rto=1.5, wait="whole")), 3)
    3.0
    """
    take = Taking("smart_framing.mean_timeout")
    take.choice("wait", wait, ("last", "whole"))
    p, timer = take.probability("loss", loss, below=0.5), take.positive("rto", rto)
    take.together(loss=p, rto=timer)
    return np.asarray(timer * ((1.0 - p) if wait == "last" else 1.0) / (1.0 - 2.0 * p))


def _common(
    take: Taking, loss: Values, rtt: Values, rto: Values, mss: Values, overhead: Values
) -> tuple[Array, Array, Array, Array, Array]:
    p = take.probability("loss", loss, below=0.5)
    r, timer = take.positive("rtt", rtt), take.positive("rto", rto)
    size, header = take.positive("mss", mss), take.not_negative("overhead", overhead)
    take.together(loss=p, rtt=r, rto=timer, mss=size, overhead=header)
    return p, r, timer, size, header


def _passage(
    solve: Callable[..., Solved], arguments: tuple[Array, ...], overhead: Array, exit_name: str
) -> Passage:
    sums = in_blocks(lambda *block: solve(*block)[0], *arguments)
    return Passage(
        duration_s=sums.time_s,
        segments=sums.delivered,
        offered_segments=sums.offered,
        bytes=sums.delivered_bytes,
        offered_bytes=sums.offered_bytes,
        overhead=overhead,
        build=lambda: chain(solve(*arguments)[1](), exit_name=exit_name),
    )
