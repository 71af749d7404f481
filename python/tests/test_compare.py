"""Comparisons of senders: paired statistics, `tcpsf.compare`, and the command."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from conftest import Command
from html_tables import Tables

from tcpsf import Poisson, Scenario, ScenarioError, TcpsfError, compare, paired, replicate, stats
from tcpsf.comparison import AS_WRITTEN, with_sender
from tcpsf.distribution import Distribution
from tcpsf.intervals import Same, Student
from tcpsf.stats import Estimate

FULL = "reno+sack / full / iw=1"
FRAMED = "reno+sack / fs(n=4) / iw=1"
SECOND = 1_000_000_000


# ---- statistics


def medians(one: list[Distribution], other: list[Distribution]) -> paired.Difference | None:
    return paired.quantiles(one, other, stats.quantile(one, 0.5), stats.quantile(other, 0.5))


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
    median = medians(times, times)
    assert median is not None
    assert (median.absolute.interval, paired.p_value(median.absolute)) == (None, None)


def evenly_spaced(shift_s: float, effects: Sequence[int]) -> list[Distribution]:
    """Runs of 1000 times from 0 to 10 s; an effect moves the times of a run by whole percents."""
    return [
        Distribution(
            round((at * 0.01 * (1.0 + effect / 100.0) + shift_s) * SECOND) for at in range(1, 1001)
        )
        for effect in effects
    ]


def test_difference_of_percentiles_uses_what_pairs_have_in_common() -> None:
    effects = (-8, 4, 3, -6, 10, 2, -5, 0)
    one, other = evenly_spaced(0.0, effects), evenly_spaced(1.0, effects)
    pairs = medians(one, other)
    mixed = medians(one, other[::-1])
    assert pairs is not None
    assert mixed is not None
    assert pairs.absolute.value == pytest.approx(1.0, abs=0.02)
    assert pairs.percent is not None
    assert pairs.percent.value == pytest.approx(20.0, abs=0.5)
    # Each pair differs by one second, so only the steps of the times are left.
    assert pairs.absolute.high - pairs.absolute.low < 0.05
    assert mixed.absolute.high - mixed.absolute.low > 0.3


def test_difference_of_percentiles_of_independent_runs_adds_variances() -> None:
    one = evenly_spaced(0.0, (-8, 4, 3, -6, 10, 2, -5, 0))
    other = evenly_spaced(1.0, (5, 5, -5, 5, 5, -5, -5, -5))
    found = medians(one, other)
    assert found is not None
    halves = [
        (each.high - each.low) / 2.0
        for each in (stats.quantile(one, 0.5), stats.quantile(other, 0.5))
        if each
    ]
    together = math.hypot(*halves)
    # The effects of both have no correlation; the steps of the proportions leave a little.
    assert (found.absolute.high - found.absolute.low) / 2.0 == pytest.approx(together, rel=0.15)


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
        assert entry(found, "web", "median_s").values[at].value == pytest.approx(
            done["sender_s"].quantile(0.5, "lower"), rel=0.02
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


def test_a_comparison_has_a_short_repr_html_and_copies(small: Scenario) -> None:
    senders = [FULL, FRAMED, "reno / full / iw=1"]
    found = compare(small.with_value("name", "<i>"), senders=senders, seeds=[1, 2])
    assert repr(found) == "<Comparison of 3 senders in '<i>': 2 seeds>"
    html = found._repr_html_()
    assert "<i>" not in html
    read = Tables(html)
    assert read.text.startswith("<i>: 2 paired runs of 20s per sender, seeds 1 to 2")
    lines = [" ".join(line.split()) for line in str(found).splitlines()]
    assert len(read.rows) > 20
    for row in read.rows:
        assert " ".join(" ".join(row).split()) in lines
    for copied in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):  # noqa: S301
        assert copied == found
        assert str(copied) == str(found)


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
