"""The chains of the small-window region: closed form against matrix, what is known of them, what they refuse."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpsf.errors import ModelError, TcpsfError
from tcpsf.models import smart_framing as sf
from tcpsf.models._passage_sums import BLOCK
from tcpsf.papers.smart_framing import CLASS_BYTES

LOSSES = np.array([0.0, 1e-9, 0.01, 0.05, 0.2, 0.45])

PASSAGES: dict[str, Callable[..., sf.Passage]] = {
    "classic A": sf.classic,
    "classic B": partial(sf.classic, reading="B"),
    "classic to 16": partial(sf.classic, threshold=16),
    "fixed": sf.fixed_size,
    "fixed constant": partial(sf.fixed_size, law="constant"),
    "fixed all": partial(sf.fixed_size, counted="all"),
    "fixed whole": partial(sf.fixed_size, wait="whole"),
    "variable": sf.variable_size,
    "variable power": partial(sf.variable_size, law=0.5),
    "variable all": partial(sf.variable_size, counted="all"),
}
for count, threshold in itertools.product((1, 2, 3, 5, 8), (2, 3, 8, 16)):
    PASSAGES[f"fixed {count} to {threshold}"] = partial(
        sf.fixed_size, segments=count, threshold=threshold
    )
for count, alpha in itertools.product((2, 3, 4, 6), (1.1, 1.5, 4.0)):
    PASSAGES[f"variable {count} by {alpha}"] = partial(
        sf.variable_size, segments=count, alpha=alpha
    )


@pytest.mark.parametrize("name", PASSAGES)
def test_closed_form_and_matrix_agree(name: str) -> None:
    passage = PASSAGES[name](LOSSES)
    chain = passage.chain
    np.testing.assert_allclose(chain.transition[..., :-1, :].sum(axis=-1), 1.0, rtol=1e-12)
    assert (chain.transition >= -1e-15).all()
    assert not chain.transition[..., -1, :].any(), "the exit's row stays zero"
    for reward, total in (
        (chain.time_s, passage.duration_s),
        (chain.offered, passage.offered_segments),
        (chain.delivered, passage.segments),
        (chain.offered_bytes, passage.offered_bytes),
        (chain.delivered_bytes, passage.bytes),
    ):
        np.testing.assert_allclose(chain.collected(reward), total, rtol=1e-9)
        np.testing.assert_allclose((chain.visits() * reward).sum(axis=-1), total, rtol=1e-9)
    np.testing.assert_allclose(chain.visits()[..., -1], 1.0, rtol=1e-9)


def test_classic_is_the_printed_sum() -> None:
    """Equations (2), (3) and the printed D_c."""
    p = LOSSES[1:]
    q, r, t = 1.0 - p, 0.2, sf.mean_timeout(p, rto=1.5)
    lost = 1.0 - q**2
    passage = sf.classic(p)
    np.testing.assert_allclose(passage.duration_s, q * r + p * (t + r) + (t + r) * lost / q**2 + r)
    np.testing.assert_allclose(passage.segments, 3.0 + (2.0 * p * q / lost + 1.0) * lost / q**2)


def test_readings_of_classic_agree_on_segments_alone() -> None:
    a, b = sf.classic(LOSSES), sf.classic(LOSSES, reading="B")
    np.testing.assert_allclose(a.segments, b.segments)
    np.testing.assert_allclose(a.offered_segments, b.offered_segments)
    assert (b.duration_s[2:] > a.duration_s[2:]).all()


def test_fixed_size_of_one_segment_is_classic() -> None:
    ours, theirs = sf.fixed_size(LOSSES, segments=1), sf.classic(LOSSES, reading="B")
    np.testing.assert_allclose(ours.duration_s, theirs.duration_s)
    np.testing.assert_allclose(ours.waste_fraction, theirs.waste_fraction)


@pytest.mark.parametrize("name", ["classic A", "classic B", "fixed", "fixed constant", "fixed all"])
def test_what_arrives_is_what_is_not_lost(name: str) -> None:
    """A check of every consistent reading: delivered = (1 − loss) × offered."""
    passage = PASSAGES[name](LOSSES)
    loss = LOSSES / 4.0 if name in ("fixed", "fixed all") else LOSSES
    np.testing.assert_allclose(passage.segments, (1.0 - loss) * passage.offered_segments)


def test_what_arrives_of_each_size_is_what_is_not_lost() -> None:
    """With a constant loss it holds for all sizes of VS-TCP-SF together."""
    passage = sf.variable_size(LOSSES, law="constant")
    np.testing.assert_allclose(passage.bytes, (1.0 - LOSSES) * passage.offered_bytes)
    np.testing.assert_allclose(passage.segments, (1.0 - LOSSES) * passage.offered_segments)


def test_the_states_of_the_paper() -> None:
    assert sf.classic(0.1).chain.states == ("S1", "FR1", "S2", "S2FR1", "S2FR2", "TO", "S4")
    fixed = sf.fixed_size(0.1).chain
    assert fixed.states == ("S4", "FR1", "FR2", "FR3", "FR4", "S8", "TO", "S16")
    np.testing.assert_allclose(fixed.transition[0, 1], 0.025 * 0.975**3)
    variable = sf.variable_size(0.1).chain
    assert [name for name in variable.states if name.startswith("S")] == [
        "S1",
        "S2",
        "S3",
        "S4",
        "S5",
        "S6",
    ]
    assert [name for name in variable.states if name.startswith("2FR")] == [
        f"2FR{i}" for i in range(2, 7)
    ]
    leads = dict(
        zip(variable.states, variable.transition[variable.states.index("1FR2")], strict=True)
    )
    assert leads["S3"] == 1.0


def test_gains_begin_at_zero_gross_and_below_it_net() -> None:
    """At P = 0 (4) and (11) give no gain; the printed negative gain appears net of headers."""
    classic, fixed, variable = sf.classic(0.0), sf.fixed_size(0.0), sf.variable_size(0.0)
    assert float(sf.gain_percent(fixed, classic)) == 0.0
    assert float(sf.gain_percent(fixed, classic, net=True)) < 0.0
    assert float(sf.gain_percent(variable, classic, net=True)) < 0.0


def test_section_vii_by_counting() -> None:
    regime = 50 * 1460
    full = {
        each: sf.lossless_segments(regime, framing=each)
        for each in ("classic", "fixed-size", "variable-size")
    }
    assert float(full["fixed-size"]) == 26 + np.ceil((regime - 26 * 365) / 1460)
    both = sf.lossless_segments(regime, framing="fixed-size", at_threshold="small")
    assert float(both) == 28 + np.ceil((regime - 28 * 365) / 1460)
    found = [
        round(
            float(
                sf.overhead_percent(
                    CLASS_BYTES, framing=framing, header=header, at_threshold="small"
                )
            ),
            2,
        )
        for header in (40, 80)
        for framing in ("classic", "fixed-size", "variable-size")
    ]
    assert found[:3] == [2.85, 4.03, 3.29]
    assert found[3:] == pytest.approx([5.6, 8.0, 6.5], abs=0.11)


def test_alpha_sends_a_little_more_than_classic() -> None:
    """With 1.32, which is the fifth root of 4 rounded, the second window carries 2.10 full-sized segments and not 2."""
    assert float(sf.variable_size(0.0).bytes) / 1460 == pytest.approx(1.0 + 2.10, abs=0.005)
    assert float(sf.classic(0.0).bytes) / 1460 == 3.0


@given(loss=st.floats(0, 0.49), rtt=st.floats(1e-3, 2), rto=st.floats(0.01, 10))
def test_more_round_trip_or_timeout_takes_longer(loss: float, rtt: float, rto: float) -> None:
    for make in (sf.classic, sf.fixed_size, sf.variable_size):
        base = float(make(loss, rtt=rtt, rto=rto).duration_s)
        assert base > 0.0
        assert float(make(loss, rtt=2 * rtt, rto=rto).duration_s) > base
        assert float(make(loss, rtt=rtt, rto=2 * rto).duration_s) >= base


def test_points_are_the_same_in_a_large_grid() -> None:
    losses = np.linspace(0.0, 0.4, BLOCK + 17)
    for make in (sf.classic, sf.fixed_size, sf.variable_size):
        whole = make(losses[:, None], rtt=[0.1, 0.2])
        assert whole.duration_s.shape == (BLOCK + 17, 2)
        np.testing.assert_allclose(whole.duration_s[-3, 1], make(losses[-3], rtt=0.2).duration_s)
        np.testing.assert_allclose(
            whole.waste_fraction[-3, 1], make(losses[-3], rtt=0.2).waste_fraction
        )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"loss": 0.5}, "`loss` is 0.5"),
        ({"loss": [0.1, 0.7]}, "`loss` is 0.7"),
        ({"loss": -0.1}, "`loss` is -0.1"),
        ({"loss": []}, "`loss` is empty"),
        ({"loss": np.nan}, "`loss` is nan"),
        ({"loss": "much"}, "`loss` is `much`"),
        ({"loss": 0.1, "rtt": -0.2}, "`rtt` is -0.2"),
        ({"loss": [0.1, 0.2], "rtt": [1, 2, 3]}, "`loss` has (2,), `rtt` has (3,)"),
        ({"loss": 0.1, "law": "liner"}, "`law` is `liner`"),
        ({"loss": 0.1, "law": 1.5}, "`law` is 1.5"),
        ({"loss": 0.1, "segments": 0}, "`segments` is 0"),
        ({"loss": 0.1, "segments": 2.5}, "`segments` is 2.5"),
        ({"loss": 0.1, "wait": "all"}, "`wait` is `all`"),
    ],
)
def test_bad_input(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the text is looked at below)
        sf.fixed_size(**arguments)
    assert isinstance(caught.value, TcpsfError)
    assert isinstance(caught.value, ModelError)
    assert told in str(caught.value)
    assert str(caught.value).startswith("cannot compute smart_framing.")
    assert caught.value.hint


def test_growth_that_never_arrives_is_refused() -> None:
    with pytest.raises(ModelError, match=r"`alpha` is 1\.001"):
        sf.variable_size(0.1, alpha=1.001)
