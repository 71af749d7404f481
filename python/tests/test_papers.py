"""The published numbers, against what else the paper says about them."""

from __future__ import annotations

import pytest

from tcpsf import Poisson, _core
from tcpsf.papers import smart_framing as paper


def test_table_1_is_complete() -> None:
    assert len(paper.CLASS_BYTES) == 15
    for variant in paper.VARIANTS:
        assert len(variant.published) == 15
        times = [cell.completion_s for cell in variant.published]
        assert times == sorted(times), "longer flows take longer in every column"
        assert all(
            cell.fast_percent is None or 0 < cell.fast_percent < 100 for cell in variant.published
        )


@pytest.mark.parametrize(
    ("variant", "size"),
    [(paper.CLASSIC, 13681), (paper.VARIABLE_SIZE, 1650), (paper.FIXED_SIZE, 1650)],
)
def test_fast_retransmit_begins_where_the_text_says(variant: paper.Variant, size: int) -> None:
    seen = [cell.fast_percent is not None for cell in variant.published]
    assert seen.index(True) == paper.CLASS_BYTES.index(size)
    assert all(seen[seen.index(True) :])


def test_most_flows_are_short() -> None:
    """Section II-B: more than 80 % are shorter than 14 kB, more than half are one segment."""
    assert sum(size < 14_000 for size in paper.CLASS_BYTES) / 15 > 0.8
    assert sum(size <= 1460 for size in paper.CLASS_BYTES) / 15 > 0.5


def test_the_longest_class_has_195_segments() -> None:
    """Section IV-A.1."""
    assert -(-paper.CLASS_BYTES[-1] // 1460) == 195


def test_the_network_is_that_of_section_iv() -> None:
    scenario = paper.web_scenario(sender=paper.CLASSIC.sender)
    bottleneck, back = scenario.link
    assert (bottleneck.rate, bottleneck.delay) == (back.rate, back.delay) == ("10Mb/s", "50ms")
    assert bottleneck.buffer is not None
    assert bottleneck.buffer.bytes == "150kB"
    assert scenario.duration == "4000s"
    web = scenario.workload[1]
    assert isinstance(web, Poisson)
    assert web.sizes.classes == paper.CLASS_BYTES
    assert web.load == 0.8
    # 0.8 × 10 Mb/s / (8 × the mean of 23 030 bytes)
    assert 0.8 * 10e6 / 8 / (sum(paper.CLASS_BYTES) / 15) == pytest.approx(43.42, abs=0.005)
    _core.Simulation(scenario.to_json(), seed=1)


def test_the_example_file_is_the_same_network() -> None:
    from conftest import REPOSITORY

    from tcpsf import Scenario

    example = Scenario.from_toml(REPOSITORY / "scenarios" / "smart-framing-web.toml")
    ours = paper.web_scenario(sender=paper.CLASSIC.sender, duration=example.duration)
    assert (example.link, example.workload) == (ours.link, ours.workload)


def test_readings_are_sentences() -> None:
    assert len(paper.READINGS) >= 5
    assert all(reading.endswith(".") for reading in paper.READINGS)
