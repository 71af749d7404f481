"""Short flows, packet discard and Santa Cruz: known values, limits, brute force, what they refuse."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tcpsf.errors import ModelError
from tcpsf.models import packet_discard as pd
from tcpsf.models import santa_cruz as sc
from tcpsf.models import short_flows as sf


def test_lossless_counts_the_rounds_of_slow_start() -> None:
    """(1): windows 1, 1.5, 2.25, … move 4.75 segments in three round trips."""
    found = sf.lossless(4.75 * 1460, rtt=0.1, delayed_ack=0.0)
    assert float(found) == pytest.approx(0.4)
    wider = [sf.lossless(20_000, rtt=0.1, **{name: 2}) for name in ("initial_window", "flows")]
    assert wider[0] == wider[1] == sf.lossless(20_000, rtt=0.1, mss=2920)


def test_padhye_has_its_limits() -> None:
    assert float(sf.padhye(0.0, rtt=0.1)) == sf.WINDOW_LIMIT / 0.1
    assert float(sf.padhye(0.0, rtt=0.1, form="full")) == sf.WINDOW_LIMIT / 0.1
    losses = np.array([1e-12, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9])
    for form in ("approximate", "full"):
        rates = sf.padhye(losses, rtt=0.1, form=form)
        assert (np.diff(rates) <= 1e-9).all()
    small = sf.padhye(1e-5, rtt=0.1, rto=0.4, window_limit=1e9)
    assert float(small) == pytest.approx(float(sf.mathis(1e-5, rtt=0.1, ack_every=2)), rel=0.03)
    forms = [
        sf.padhye(0.01, rtt=0.1, window_limit=1e9, form=form) for form in ("approximate", "full")
    ]
    assert float(forms[0]) == pytest.approx(float(forms[1]), rel=0.15)


def test_short_flow_without_loss_is_the_lossless_one() -> None:
    sizes = np.array([500.0, 10_000.0, 512_000.0])
    np.testing.assert_allclose(
        sf.short_flow(sizes, 0.0, rtt=0.07), sf.lossless(sizes, rtt=0.07), rtol=1e-14
    )
    losses = np.array([0.0, 0.001, 0.01, 0.1])
    assert (np.diff(sf.short_flow(10_000, losses, rtt=0.07)) > 0.0).all()


def test_latency_of_2000() -> None:
    """Without loss it is a handshake, slow start, and the delayed ACK; with a limit the window stops growing."""
    found = sf.latency(14_600, 0.0, rtt=0.1)
    assert float(found.total_s) == pytest.approx(float(sf.lossless(14_600, rtt=0.1)))
    limited = sf.latency(1_460_000, 0.0, rtt=0.1, window_limit=14_600)
    assert float(limited.slow_start_s) > 0.1 * 90
    lossy = sf.latency(146_000, 0.02, rtt=0.1, loss_back=0.02)
    assert float(lossy.handshake_s) > 0.1
    assert min(float(lossy.first_loss_s), float(lossy.rest_s)) > 0.0
    almost = sf.latency(146_000, 1e-12, rtt=0.1)
    assert float(almost.total_s) == pytest.approx(
        float(sf.latency(146_000, 0.0, rtt=0.1).total_s), rel=1e-6
    )


@pytest.mark.parametrize("rule", ["cwnd", "flight"])
def test_sums_and_sender_agree_on_what_recovers(rule: pd.Rule) -> None:
    seen = {1: 0, 2: 0, 3: 0, 4: 0}
    for window in range(1, 17):
        for count in range(1, min(window, 4) + 1):
            patterns = list(itertools.combinations(range(window), count))
            ours = pd.recovers(window, patterns, ssthresh_rule=rule)
            played = [pd.reno_recovers(window, pattern, ssthresh_rule=rule) for pattern in patterns]
            assert ours.tolist() == played, (window, count)
            seen[count] += sum(played)
    assert min(seen[1], seen[2]) > 0
    assert (seen[3] > 0) == (rule == "flight")
    assert seen[4] == 0


def test_the_conditions_are_those_of_the_sender() -> None:
    """(1) to (3), exactly; (2) as printed is wrong for two patterns alone."""
    wrong = []
    for window in range(2, 41):
        for pattern in itertools.combinations(range(window), 2):
            found = pd.reno_recovers(window, pattern)
            assert found == bool(pd.second_repaired(window, 2, apart=pattern[1] - pattern[0]))
            if (window / 2 - 2 >= 3) != found and window % 2 == 0:
                wrong.append((window, pattern))
    assert wrong == [(8, (0, 7))]
    assert pd.reno_recovers(9, [0, 8])
    for first, second in itertools.product(range(3), range(1, 28)):
        for third in range(first + second + 1, 28):
            three = (first, first + second, third)
            assert pd.reno_recovers(28, three) == bool(pd.third_repaired(28, apart=second)), three
    assert all(
        pd.reno_recovers(w, [n]) == bool(pd.first_repaired(w, 1))
        for w in range(1, 30)
        for n in range(w)
    )
    windows = np.arange(4, 200)
    assert not pd.fourth_repaired(windows, apart_second=windows - 3, apart_third=windows - 2).any()


def test_queue_estimate_is_exact_on_a_busy_link() -> None:
    """Packets sent in bursts of growing windows over a link that serves one every 10 ms and is never idle."""
    service, sent, received = 0.01, [], []
    free = 0.0
    for burst, count in enumerate((4, 6, 5)):
        for _ in range(count):
            at = 0.035 * burst
            sent.append(at)
            free = max(free, at) + service
            received.append(free + 0.1)
    found = sc.queue_estimate(sent, np.array(received) - 7.0, windows=[4, 6, 5])
    waits = (np.array(received) - 0.1 - service - np.array(sent)) / service
    np.testing.assert_allclose(found.packets, waits[[3, 9, 14]])
    np.testing.assert_allclose(found.service_s, service)
    assert float(sc.packet_service_time(received)) == pytest.approx(service)


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (sf.lossless, {"size": 0, "rtt": 0.1}, "`size` is 0"),
    (sf.lossless, {"size": 1, "rtt": -0.1}, "`rtt` is -0.1"),
    (sf.lossless, {"size": [1, 2], "rtt": [1, 2, 3]}, "`size` has (2,), `rtt` has (3,)"),
    (sf.data_until_full_pipe, {"rate": [], "rtt": 1}, "`rate` is empty"),
    (sf.padhye, {"loss": 1.0, "rtt": 1}, "`loss` is 1"),
    (sf.padhye, {"loss": 0.1, "rtt": 1, "form": "fll"}, "`form` is `fll`"),
    (sf.mathis, {"loss": 0.0, "rtt": 1}, "`loss` is 0"),
    (sf.steady_state, {"size": 1, "loss": 0.1, "rtt": 1, "rto": 0}, "`rto` is 0"),
    (sf.short_flow, {"size": 1, "loss": 2, "rtt": 1}, "`loss` is 2"),
    (sf.latency, {"size": 1, "loss": 0.1, "rtt": 1, "loss_back": 0.5}, "`loss_back` is 0.5"),
    (sf.timeout_probability, {"loss": 0.1, "ack_every": 0.5}, "`ack_every` is 0.5"),
    (pd.recovers, {"window": 8, "lost": [3, 3]}, "`lost` is [3.0, 3.0]"),
    (pd.recovers, {"window": 8, "lost": [8]}, "`lost` is [8.0]"),
    (pd.recovers, {"window": 8, "lost": [1], "ssthresh_rule": "half"}, "`ssthresh_rule` is `half`"),
    (pd.reno_recovers, {"window": 8, "lost": []}, "`lost` is []"),
    (pd.cells, {"datagram": -1}, "`datagram` is -1"),
    (sc.relative_delay, {"sent_s": [1, 2], "received_s": [1]}, "shape (2,), `received_s` (1,)"),
    (sc.packet_service_time, {"received_s": [1.0]}, "1 packet"),
    (
        sc.queue_estimate,
        {"sent_s": [1, 2], "received_s": [2, 3], "windows": [3]},
        "`windows` is [3]",
    ),
]


@pytest.mark.parametrize(("function", "arguments", "told"), REFUSED)
def test_bad_input(function: Callable[..., Any], arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ModelError) as caught:
        function(**arguments)
    assert isinstance(caught.value, ValueError)
    assert told in str(caught.value)
    assert caught.value.hint
