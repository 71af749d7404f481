"""Closed models of the duration of a short TCP transfer, with and without loss.

N. Cardwell, S. Savage, T. Anderson, *Modeling the Performance of Short TCP Connections*, University
of Washington, 1998: equations (1) to (14), cited by their numbers alone. The same authors refined
the model in *Modeling TCP Latency*, INFOCOM 2000: `latency`. J. Padhye, V. Firoiu, D. Towsley, J.
Kurose, *Modeling TCP Throughput*, SIGCOMM 1998: `padhye`. M. Mathis, J. Semke, J. Mahdavi, T. Ott,
*The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm*, CCR 27(3), 1997: `mathis`.

Sizes and windows of a path are in bytes, ``initial_window`` in segments, times in seconds, rates in
bytes per second. ``ack_every`` is b: the number of segments that an acknowledgment covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tcpsf.models._arguments import Array, Taking, Values

DELAYED_ACK_S = 0.1
"""Mean delay of the first acknowledgment, section 3.1."""
LEAST = 1e-300
"""Substitute for a loss of zero where a formula divides by the loss."""
WINDOW_LIMIT = 65_535.0
"""Largest window without window scaling, in bytes."""


def lossless(
    size: Values,
    *,
    rtt: Values,
    mss: Values = 1460.0,
    initial_window: Values = 1.0,
    ack_every: Values = 2.0,
    flows: Values = 1.0,
    delayed_ack: Values = DELAYED_ACK_S,
) -> Array:
    """Time to open ``flows`` connections and send ``size`` bytes in slow start, without loss; (1).

    The formula is valid until the path is full: see `data_until_full_pipe`.

    >>> round(float(lossless(10_000, rtt=0.07)), 3)
    0.427
    """
    take = Taking("short_flows.lossless")
    d, r, m = take.positive("size", size), take.positive("rtt", rtt), take.positive("mss", mss)
    w, b = (
        take.positive("initial_window", initial_window),
        take.number("ack_every", ack_every, least=1.0),
    )
    k, delay = take.number("flows", flows, least=1.0), take.not_negative("delayed_ack", delayed_ack)
    take.together(size=d, rtt=r, mss=m, initial_window=w, ack_every=b, flows=k, delayed_ack=delay)
    return np.asarray(_rounds(d / (m * k), w, b) * r + r + delay)


def data_until_full_pipe(
    *,
    rate: Values,
    rtt: Values,
    mss: Values = 1460.0,
    initial_window: Values = 1.0,
    ack_every: Values = 2.0,
) -> Array:
    """Bytes sent in slow start when it reaches the bottleneck's ``rate``, in bytes per second; (2).

    The text gives 7.5 kB for a modem, which is three times rate × rtt. The equation gives 4640
    bytes.

    >>> float(data_until_full_pipe(rate=3600.0, rtt=0.7))
    4640.0
    """
    take = Taking("short_flows.data_until_full_pipe")
    rate, r, m = take.positive("rate", rate), take.positive("rtt", rtt), take.positive("mss", mss)
    w, b = (
        take.positive("initial_window", initial_window),
        take.number("ack_every", ack_every, least=1.0),
    )
    take.together(rate=rate, rtt=r, mss=m, initial_window=w, ack_every=b)
    growth = 1.0 + 1.0 / b
    return np.asarray((rate * r * growth - w * m) / (growth - 1.0))


def padhye(
    loss: Values,
    *,
    rtt: Values,
    rto: Values = 1.0,
    mss: Values = 1460.0,
    window_limit: Values = WINDOW_LIMIT,
    ack_every: Values = 2.0,
    form: Literal["approximate", "full"] = "approximate",
) -> Array:
    """Rate of an endless flow in bytes per second; valid for 0 ≤ loss < 1.

    The rate is ``window_limit`` / rtt at loss 0. The form ``approximate`` is (3). The form ``full``
    is Padhye et al. 1998, (32).

    >>> round(float(padhye(0.05, rtt=0.07))), round(float(padhye(0.05, rtt=0.07, form="full")))
    (29528, 31885)
    """
    take = Taking("short_flows.padhye")
    take.choice("form", form, ("approximate", "full"))
    p, r, timer = (
        take.probability("loss", loss),
        take.positive("rtt", rtt),
        take.positive("rto", rto),
    )
    m, most = take.positive("mss", mss), take.positive("window_limit", window_limit)
    b = take.number("ack_every", ack_every, least=1.0)
    take.together(loss=p, rtt=r, rto=timer, mss=m, window_limit=most, ack_every=b)
    limit = most / r
    if form == "approximate":
        spent = r * np.sqrt(2.0 * b * p / 3.0) + timer * _timeout_share(p, b) * p * (
            1.0 + 32.0 * p * p
        )
        with np.errstate(divide="ignore"):
            return np.minimum(limit, m / spent)
    sent = _full(np.maximum(p, LEAST), r, timer, most / m, b, send_rate=True) * m
    return np.where(p > 0.0, np.minimum(sent, limit), limit)


def mathis(loss: Values, *, rtt: Values, mss: Values = 1460.0, ack_every: Values = 1.0) -> Array:
    """Rate of congestion avoidance without timeouts, in bytes per second; 0 < loss ≤ 1.

    The rate is mss/rtt · √(3/(2 b loss)).

    >>> round(float(mathis(0.01, rtt=0.1)))
    178813
    """
    take = Taking("short_flows.mathis")
    p = take.number("loss", loss, above=0.0, most=1.0)
    r, m = take.positive("rtt", rtt), take.positive("mss", mss)
    b = take.number("ack_every", ack_every, least=1.0)
    take.together(loss=p, rtt=r, mss=m, ack_every=b)
    return np.asarray(m / r * np.sqrt(1.5 / (b * p)))


def steady_state(
    size: Values,
    loss: Values,
    *,
    rtt: Values,
    rto: Values = 1.0,
    mss: Values = 1460.0,
    window_limit: Values = WINDOW_LIMIT,
    ack_every: Values = 2.0,
    delayed_ack: Values = DELAYED_ACK_S,
    form: Literal["approximate", "full"] = "approximate",
) -> Array:
    """Time of a transfer at the steady rate of `padhye`; (4).

    The time includes the handshake and the first delayed ACK.

    >>> round(float(steady_state(10_000, 0.05, rtt=0.07)), 3)
    0.509
    """
    take = Taking("short_flows.steady_state")
    d, delay = take.positive("size", size), take.not_negative("delayed_ack", delayed_ack)
    rate = padhye(
        loss, rtt=rtt, rto=rto, mss=mss, window_limit=window_limit, ack_every=ack_every, form=form
    )
    take.together(size=d, delayed_ack=delay, rate=rate)
    return np.asarray(np.asarray(rtt, dtype=np.float64) + delay + d / rate)


def expected_losses(size: Values, loss: Values, *, mss: Values = 1460.0) -> Array:
    """Number of losses whose share of all segments sent equals ``loss`` < 1; (5).

    >>> round(float(expected_losses(10_000, 0.05)), 4)
    0.3605
    """
    take = Taking("short_flows.expected_losses")
    d, m, p = take.positive("size", size), take.positive("mss", mss), take.probability("loss", loss)
    take.together(size=d, mss=m, loss=p)
    return np.asarray(d / m * p / (1.0 - p))


def timeout_probability(loss: Values, *, ack_every: Values = 2.0) -> Array:
    """Q: probability that a loss ends in a timeout, by Padhye et al.'s approximation; (6).

    The probability is 0 without loss.

    >>> round(float(timeout_probability(0.01)), 3), float(timeout_probability(0.2))
    (0.26, 1.0)
    """
    take = Taking("short_flows.timeout_probability")
    p, b = take.probability("loss", loss), take.number("ack_every", ack_every, least=1.0)
    take.together(loss=p, ack_every=b)
    return _timeout_share(p, b)


def timeout_run_s(loss: Values, *, rto: Values) -> Array:
    """Mean duration of a sequence of timeouts, in seconds; (9).

    Each timeout is twice as long as the one before, up to 64 times the first.

    >>> round(float(timeout_run_s(0.1, rto=1.0)), 3)
    1.25
    """
    take = Taking("short_flows.timeout_run_s")
    p, timer = take.probability("loss", loss), take.positive("rto", rto)
    take.together(loss=p, rto=timer)
    return np.asarray(timer * _backoff(p) / (1.0 - p))


def short_flow(
    size: Values,
    loss: Values,
    *,
    rtt: Values,
    rto: Values = 1.0,
    mss: Values = 1460.0,
    initial_window: Values = 1.0,
    ack_every: Values = 2.0,
    delayed_ack: Values = DELAYED_ACK_S,
) -> Array:
    """Time of a transfer as slow starts with timeouts between them; (7) to (14).

    At loss = 0 this is `lossless`. The paper does not give the timeout of its simulations. Lost
    handshakes are left out, as in section 4.2.2.

    >>> round(float(short_flow(10_000, 0.05, rtt=0.07)), 3)
    0.678
    >>> float(short_flow(10_000, 0.0, rtt=0.07)) == float(lossless(10_000, rtt=0.07))
    True
    """
    take = Taking("short_flows.short_flow")
    d, p = take.positive("size", size), take.probability("loss", loss)
    r, timer, m = take.positive("rtt", rtt), take.positive("rto", rto), take.positive("mss", mss)
    w, b = (
        take.positive("initial_window", initial_window),
        take.number("ack_every", ack_every, least=1.0),
    )
    delay = take.not_negative("delayed_ack", delayed_ack)
    take.together(
        size=d, loss=p, rtt=r, rto=timer, mss=m, initial_window=w, ack_every=b, delayed_ack=delay
    )
    data = d / m
    losses = data * p / (1.0 - p)
    runs = losses * _timeout_share(p, b) * (1.0 - p)
    waited = runs * timer * _backoff(p) / (1.0 - p)
    phases = runs + 1.0
    sent = phases * _rounds((data + losses) / phases, w, b) * r
    return np.asarray(r + delay + waited + sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Parts of a transfer's expected time, in seconds; *Modeling TCP Latency*, (25)."""

    handshake_s: Array
    """Handshake: (4)."""
    slow_start_s: Array
    """First slow start: (15)."""
    first_loss_s: Array
    """Loss that ends the first slow start: (20)."""
    rest_s: Array
    """Congestion avoidance: (24)."""
    delayed_ack_s: Array

    @property
    def total_s(self) -> Array:
        """Time of the whole transfer in seconds: the sum of its parts."""
        parts = (
            self.handshake_s
            + self.slow_start_s
            + self.first_loss_s
            + self.rest_s
            + self.delayed_ack_s
        )
        return np.asarray(parts)


def latency(
    size: Values,
    loss: Values,
    *,
    rtt: Values,
    rto: Values = 1.0,
    mss: Values = 1460.0,
    initial_window: Values = 1.0,
    ack_every: Values = 2.0,
    window_limit: Values = WINDOW_LIMIT,
    delayed_ack: Values = DELAYED_ACK_S,
    loss_back: Values = 0.0,
    syn_timeout: Values = 3.0,
) -> Latency:
    """Parts of a transfer's time by *Modeling TCP Latency* (2000).

    The parts are the handshake, the first slow start, its loss and the steady state. ``loss`` and
    ``loss_back`` are below 1/2. ``loss_back`` is the loss of the return path, which affects the
    handshake. Sizes count in whole segments. Unlike (5), the first slow start never sends more
    segments than the transfer has.

    >>> found = latency(10_000, 0.05, rtt=0.07)
    >>> round(float(found.slow_start_s), 3), round(float(found.total_s), 3)
    (0.254, 0.94)
    """
    take = Taking("short_flows.latency")
    size_, p = take.positive("size", size), take.probability("loss", loss, below=0.5)
    r, timer, m = take.positive("rtt", rtt), take.positive("rto", rto), take.positive("mss", mss)
    w = take.positive("initial_window", initial_window)
    b = take.number("ack_every", ack_every, least=1.0)
    most = take.positive("window_limit", window_limit)
    delay = take.not_negative("delayed_ack", delayed_ack)
    back = take.probability("loss_back", loss_back, below=0.5)
    syn = take.positive("syn_timeout", syn_timeout)
    take.together(
        size=size_, loss=p, rtt=r, rto=timer, mss=m, initial_window=w, ack_every=b, window_limit=most,
        delayed_ack=delay, loss_back=back, syn_timeout=syn,
    )  # fmt: skip
    d = np.ceil(size_ / m)
    limit = np.maximum(most / m, w)
    safe = np.maximum(p, LEAST)
    arrives_all = (1.0 - p) ** d
    first = np.where(p > 0.0, np.minimum((1.0 - arrives_all) * (1.0 - p) / safe + 1.0, d), d)
    rounds, reached = _slow_start(first, initial_window=w, ack_every=b, limit=limit)
    timeout = _timeout_at(safe, reached)
    run = timer * _backoff(p) / (1.0 - p)
    first_loss = (1.0 - arrives_all) * (timeout * run + (1.0 - timeout) * r)
    rate = _full(safe, r, timer, limit, b, send_rate=False)
    rest = np.where(p > 0.0, (d - first) / rate, 0.0)
    return Latency(
        handshake_s=_handshake(p, back, rtt=r, timeout=syn),
        slow_start_s=r * rounds,
        first_loss_s=np.asarray(first_loss),
        rest_s=rest,
        delayed_ack_s=delay,
    )


def _handshake(loss: Array, loss_back: Array, *, rtt: Array, timeout: Array) -> Array:
    """Return the mean time of the handshake in seconds."""
    attempts = (1.0 - loss_back) / (1.0 - 2.0 * loss_back) + (1.0 - loss) / (1.0 - 2.0 * loss)
    return np.asarray(rtt + timeout * (attempts - 2.0))


def _slow_start(
    segments: Array, *, initial_window: Array, ack_every: Array, limit: Array
) -> tuple[Array, Array]:
    """Return the round trips of a slow start that sends ``segments``, and its last window."""
    growth = 1.0 + 1.0 / ack_every
    window = segments * (growth - 1.0) / growth + initial_window / growth
    log_growth = np.log(growth)
    free = np.log(segments * (growth - 1.0) / initial_window + 1.0) / log_growth
    capped = (
        np.log(limit / initial_window) / log_growth
        + 1.0
        + (segments - (growth * limit - initial_window) / (growth - 1.0)) / limit
    )
    return np.where(window > limit, capped, free), np.minimum(window, limit)


def _rounds(segments: Array, initial_window: Array, ack_every: Array) -> Array:
    """Round trips in which slow start sends ``segments`` segments: section 3.1."""
    growth = 1.0 / ack_every
    return np.asarray(np.log1p(segments * growth / initial_window) / np.log1p(growth))


def _timeout_share(loss: Array, ack_every: Array) -> Array:
    return np.minimum(1.0, 3.0 * np.sqrt(3.0 * ack_every * loss / 8.0))


def _backoff(p: Array) -> Array:
    """Polynomial 1 + p + 2p² + 4p³ + 8p⁴ + 16p⁵ + 32p⁶ of (9)."""
    return np.asarray(
        1.0
        + p
        * (1.0 + 2.0 * p * (1.0 + 2.0 * p * (1.0 + 2.0 * p * (1.0 + 2.0 * p * (1.0 + 2.0 * p)))))
    )


def _timeout_at(p: Array, window: Array) -> Array:
    """Q̂: probability that a loss in a window of ``window`` segments ends in a timeout.

    The source is Padhye et al. 1998, (24).
    """
    gone = -np.expm1(3.0 * np.log1p(-p))  # 1 − (1 − p)³
    over = np.maximum(window - 3.0, 0.0)
    beyond = -np.expm1(over * np.log1p(-p))
    among = np.maximum(-np.expm1(np.maximum(window, 1.0) * np.log1p(-p)), LEAST)
    return np.where(
        window <= 3.0, 1.0, np.minimum(1.0, gone * (1.0 + (1.0 - gone) * beyond) / among)
    )


def _full(p: Array, rtt: Array, rto: Array, limit: Array, b: Array, *, send_rate: bool) -> Array:
    """Padhye et al.'s full form in segments per second; p > 0.

    With ``send_rate`` the result is the rate sent, (32); without it, the rate that arrives
    (Latency, (22)).
    """
    shift = (2.0 + b) / (3.0 * b)
    window = shift + np.sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + shift * shift)
    free = window < limit
    at = np.minimum(window, limit)
    timeout = _timeout_at(p, at)
    before = (1.0 - p) / p
    sent = before + (at + timeout / (1.0 - p) if send_rate else at / 2.0 + timeout)
    rounds = np.where(free, b / 2.0 * window + 1.0, b / 8.0 * limit + before / limit + 2.0)
    return np.asarray(sent / (rtt * rounds + timeout * rto * _backoff(p) / (1.0 - p)))
