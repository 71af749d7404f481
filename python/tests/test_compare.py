"""Comparisons of senders: paired statistics, `tcpsf.compare`, and the command."""

from __future__ import annotations

import json
import math
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from conftest import Command

from tcpsf import Poisson, Scenario, ScenarioError, TcpsfError, compare, paired, replicate
from tcpsf.comparison import AS_WRITTEN, with_sender
from tcpsf.distribution import Distribution
from tcpsf.intervals import Between, Quantile, Same, Student, Wilson
from tcpsf.stats import Estimate

FULL = "reno+sack / full / iw=1"
FRAMED = "reno+sack / fs(n=4) / iw=1"
SECOND = 1_000_000_000


# ---- statistics


def test_difference_of_means_of_equal_weights_is_the_paired_t_test() -> None:
    one, other = [2.0, 3.0, 5.0, 4.0], [2.5, 3.2, 6.0, 4.1]
    found = paired.ratios([(x, 1) for x in one], [(y, 1) for y in other])
    assert found is not None
    gaps = [y - x for x, y in zip(one, other, strict=True)]
    middle = sum(gaps) / 4
    error = math.sqrt(sum((gap - middle) ** 2 for gap in gaps) / 3 / 4)
    assert found.absolute.value == pytest.approx(middle)
    assert isinstance(found.absolute.spread, Student)
    assert found.absolute.spread.error == pytest.approx(error)
    assert found.absolute.spread.degrees == 3
    # t = 2.2017; the tabulated quantiles of three degrees of freedom are 1.638 (80 % two-sided)
    # and 2.353 (90 %).
    p_value = paired.p_value(found.absolute)
    assert p_value is not None
    assert 0.1 < p_value < 0.2


def test_values_equal_in_every_pair_have_no_p_value() -> None:
    found = paired.ratios([(0, 5), (0, 6)], [(0, 5), (0, 6)])
    assert found is not None
    assert (found.absolute, found.percent) == (Estimate(0.0, Same(), 2), None)
    assert paired.p_value(found.absolute) is None


def test_one_run_gives_values_without_uncertainty() -> None:
    found = paired.ratios([(4, 2)], [(6, 2)])
    assert found is not None
    assert found.absolute == Estimate(1.0, None, 1)
    assert paired.p_value(found.absolute) is None
    times = [Distribution([SECOND, 2 * SECOND])]
    median = paired.quantiles(times, times, 0.5)
    assert median is not None
    assert (median.absolute.interval, paired.p_value(median.absolute)) == (None, None)


def quantile_of_straight_line(correlation: float) -> Between:
    """Quantiles at 50 % and 40 % of evenly spaced times, each with a standard error of 250 s."""
    times = Distribution(range(SECOND, 10_001 * SECOND, SECOND))
    ours = Quantile(times, 0.5, Wilson(400.0, 10_000.0, 7))
    theirs = Quantile(times, 0.4, Wilson(384.0, 10_000.0, 7))
    return Between((5000.0, ours), (4000.0, theirs), correlation, 7)


def test_between_is_students_interval_where_quantile_functions_are_straight() -> None:
    # The standard errors of both proportions are sqrt(0.5 · 0.5 / 400) = sqrt(0.4 · 0.6 / 384) =
    # 0.025, which is 250 s. Wilson's interval is about 1 % narrower at this size.
    for correlation in (-0.5, 0.0, 0.9):
        low, high = quantile_of_straight_line(correlation).interval(1000.0, 0.95)
        half = 2.3646 * 250.0 * math.sqrt(2.0 - 2.0 * correlation)
        assert high - 1000.0 == pytest.approx(half, rel=0.03)
        assert 1000.0 - low == pytest.approx(half, rel=0.03)


def test_intervals_of_percentiles_are_nested() -> None:
    lumps = Distribution([SECOND] * 40 + [3 * SECOND] * 55 + [9 * SECOND] * 5)
    other = Distribution([2 * SECOND] * 55 + [3 * SECOND] * 45)
    spread = Between(
        (3.0, Quantile(lumps, 0.5, Wilson(90.0, 100.0, 7))),
        (2.0, Quantile(other, 0.5, Wilson(90.0, 100.0, 7))),
        0.9,
        7,
    )
    ends = [spread.interval(1.0, confidence) for confidence in (0.5, 0.9, 0.95, 0.99, 0.9999)]
    assert all(a[0] >= b[0] and a[1] <= b[1] for a, b in pairwise(ends))


def test_p_value_agrees_with_the_interval() -> None:
    spread = quantile_of_straight_line(0.5)
    found = Estimate(1000.0, spread, 8)
    p_value = paired.p_value(found)
    assert p_value is not None
    below, above = found.interval_at(1.0 - 1.01 * p_value), found.interval_at(1.0 - 0.99 * p_value)
    assert below is not None
    assert above is not None
    assert below[0] > 0 >= above[0]


def test_holm_adjusts_in_order_and_keeps_gaps() -> None:
    # Holm (1979): the k-th smallest of m p-values times m − k + 1, never below an earlier one.
    assert paired.holm([0.02, None, 0.001, 0.02, 0.5]) == [0.06, None, 0.004, 0.06, 0.5]
    assert paired.holm([]) == []


# ---- runs


def entry(found: Any, name: str, measure: str, size_class: int | None = None) -> Any:
    return next(
        each
        for each in found.entries
        if (each.name, each.measure.key, each.size_class) == (name, measure, size_class)
    )


def test_the_same_sender_differs_in_nothing(small: Scenario) -> None:
    found = compare(small, senders=[FRAMED], seeds=[1, 2, 3])
    assert found.senders == (AS_WRITTEN, FRAMED)
    assert found.paired
    for each in found.entries:
        difference = each.differences[1]
        assert difference is None or difference.absolute.value == 0
        assert not each.is_significant(1)


def test_values_are_those_of_separate_runs(small: Scenario) -> None:
    found = compare(small, senders=[FULL, FRAMED], workloads=["web"], seeds=[4, 5])
    for at, sender in enumerate((FULL, FRAMED)):
        runs = replicate(with_sender(small, sender, ["web"]), seeds=[4, 5])
        flows = pl.concat([run.flows for run in runs]).filter(workload="web")
        done = flows.drop_nulls("sender_s")
        assert entry(found, "web", "mean_s").values[at].value == pytest.approx(
            done["sender_s"].mean()
        )
        assert entry(found, "web", "p95_s").values[at].value == pytest.approx(
            done["sender_s"].quantile(0.95, "higher"), rel=0.02
        )
        assert entry(found, "web", "timeouts_per_flow").values[at].value == pytest.approx(
            flows["timeouts"].mean()
        )
        assert entry(found, "web", "unfinished_per_flow").values[at].value == pytest.approx(
            1 - done.height / flows.height
        )
        dropped = sum(run.links["dropped_buffer_packets"][0] for run in runs)
        offered = sum(run.links["offered_packets"][0] for run in runs)
        assert entry(found, "there", "dropped_share").values[at].value == pytest.approx(
            dropped / offered
        )
    # The greedy flows keep their sender, and are compared as well.
    assert entry(found, "greedy", "goodput_mbps").values[0].value > 0


def test_percentiles_need_flows_beyond_them(small: Scenario) -> None:
    found = compare(small, senders=[FULL, FRAMED], workloads=["web"], seeds=[1, 2])
    assert entry(found, "web", "median_s").values[0] is not None
    assert entry(found, "web", "p999_s").values == (None, None)


def test_senders_with_shares_are_replaced(small: Scenario) -> None:
    data = small.to_dict()
    web = data["workload"][0]
    del web["sender"]
    web["senders"] = [{"sender": FULL, "share": 1.0}, {"sender": FRAMED, "share": 1.0}]
    mixed = Scenario.from_dict(data)
    changed = with_sender(mixed, FULL, ["web"]).workload[0]
    assert isinstance(changed, Poisson)
    assert (changed.sender, changed.senders) == (FULL, None)


def test_frame_has_a_row_per_entry_and_sender(small: Scenario) -> None:
    found = compare(small, senders=[FULL, FRAMED, "reno / full / iw=1"], seeds=[1, 2])
    frame = found.to_frame()
    assert frame.height == 3 * len(found.entries)
    assert frame.filter(sender=FULL)["difference_value"].null_count() == len(found.entries)
    assert frame["size_bytes"].dtype == pl.Float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"senders": [FULL, FULL]}, f"sender `{FULL}` is given twice"),
        ({"senders": []}, "no sender is given"),
        ({"senders": [FULL], "seeds": [1, 1]}, "seed `1` is given twice"),
        ({"senders": [FULL], "workloads": ["wbe"]}, "no workload `wbe`"),
        ({"senders": ["cubix"], "seeds": [1]}, "cubix"),
    ],
)
def test_bad_arguments_are_refused(
    small: Scenario, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TcpsfError) as raised:
        compare(small, **arguments)
    assert message in str(raised.value)
    assert raised.value.hint or isinstance(raised.value, ScenarioError)


# ---- the command


def test_json_keeps_to_its_schema(tcpsf: Command, small_file: Path) -> None:
    answer = tcpsf("compare", small_file, "--sender", FULL, "--runs", "2", "--json")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    schema = resources.files("tcpsf.report").joinpath("schema", "compare.json")
    jsonschema.validate(found, json.loads(schema.read_text(encoding="utf-8")))
    assert found["senders"] == [AS_WRITTEN, FULL]
    assert found["tests"] == sum(
        difference is not None and difference["p_value"] is not None
        for each in found["entries"]
        for difference in each["differences"]
    )


def test_text_names_senders_and_significance(tcpsf: Command, small_file: Path) -> None:
    answer = tcpsf("compare", small_file, "--sender", FULL, "--sender", FRAMED, "--runs", "4")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(
        f"small: 4 paired runs of 20s per sender, seeds 1 to 4\n  A  {FULL}\n  B  {FRAMED}\n"
    )
    for part in ("B compared with A", "Flows of `web`", "by size class", "Link `there`", "Holm"):
        assert part in answer.out


def test_out_is_written_whole(tcpsf: Command, small_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    arguments = ("compare", small_file, "--sender", FULL, "--runs", "2", "--out", folder)
    assert tcpsf(*arguments).status == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "comparison.json",
        "comparison.parquet",
        "provenance.json",
    ]
    rows = pl.read_parquet(folder / "comparison.parquet")
    assert set(rows["sender"].unique()) == {AS_WRITTEN, FULL}
    again = tcpsf(*arguments)
    assert again.status == 2
    assert "it contains earlier results" in again.err


def test_unknown_sender_and_workload_name_the_value(tcpsf: Command, small_file: Path) -> None:
    answer = tcpsf("compare", small_file, "--sender", "cubix / full", "--runs", "1")
    assert (answer.status, answer.out) == (2, "")
    assert "cubix" in answer.err
    assert "hint: " in answer.err
    answer = tcpsf("compare", small_file, "--sender", FULL, "--workload", "wbe")
    assert (answer.status, answer.out) == (2, "")
    assert "`wbe`" in answer.err
    assert "did you mean `web`?" in answer.err
