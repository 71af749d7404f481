"""Studies: their points, runs, results and store."""

from __future__ import annotations

import itertools
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tcpsf import (
    AxisPoint,
    KeptResults,
    Replication,
    Scenario,
    StoppingRule,
    Study,
    StudyAxis,
    StudyBaseline,
    StudyError,
    StudySample,
    TcpsfError,
    compare,
    sweep,
)
from tcpsf.storage import open_storage
from tcpsf.studies import sweep as sweep_module
from tcpsf.studies.points import points_of, scenario_at
from tcpsf.studies.running import Shard, rounds

PLAIN, FRAMED = "reno+sack / full / iw=1", "reno+sack / fs(n=4) / iw=1"


@pytest.fixture
def study(small: Scenario) -> Study:
    """Two loads and two senders, with three runs each."""
    return Study(
        name="loads",
        scenario=small,
        set_={"duration": "10s"},
        axis=(
            StudyAxis(key="workload.web.load", values=(0.3, 0.8)),
            StudyAxis(key="workload.web.sender", values=(PLAIN, FRAMED), labels=("plain", "fs")),
        ),
        runs=Replication(count=3),
        compare=StudyBaseline(axis="sender"),
    )


def files_of(store: Path) -> dict[str, bytes]:
    """Return the content of all files of a store."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }


# ---- points


def shown(axis: StudyAxis, small: Scenario, **more: Any) -> list[Any]:
    study = Study(name="points", scenario=small, axis=(axis,), **more)
    return [point.shown[0] for point in points_of(study)]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (StudyAxis(key="a.b", from_=0.1, to=0.9, steps=5), [0.1, 0.3, 0.5, 0.7, 0.9]),
        (StudyAxis(key="a.b", from_=1, to=1000, steps=4, scale="log"), [1, 10, 100, 1000]),
        (
            StudyAxis(key="a.b", from_="10ms", to="160ms", steps=5, scale="log"),
            ["10ms", "20ms", "40ms", "80ms", "160ms"],
        ),
        (StudyAxis(key="a.b", from_="1 Mb/s", to="2 Mb/s", steps=2), ["1Mb/s", "2Mb/s"]),
        (StudyAxis(key="a.b", from_="5µs", to="15µs", steps=3), ["5µs", "10µs", "15µs"]),
        (StudyAxis(key="a.b", from_="1%", to="2%", steps=2), ["1%", "2%"]),
        (StudyAxis(key="a.b", from_=10, to=1, steps=4), [10, 7, 4, 1]),
        (StudyAxis(key="a.b", values=(1, "2ms"), labels=("one", "two")), ["one", "two"]),
        (StudyAxis(key="a.b", values=range(3)), [0, 1, 2]),  # type: ignore[arg-type]
    ],
)
def test_positions_of_an_axis(axis: StudyAxis, expected: list[Any], small: Scenario) -> None:
    assert shown(axis, small) == expected


def test_latin_hypercube_has_one_point_in_each_stratum(small: Scenario) -> None:
    axes = (
        StudyAxis(key="workload.web.load", from_=0.0, to=1.0),
        StudyAxis(key="link.there.delay", from_="1ms", to="1000ms", scale="log"),
        StudyAxis(key="tcp.mss", values=(500, 1460)),
    )
    study = Study(name="drawn", scenario=small, axis=axes, sample=StudySample(points=10))
    points = points_of(study)
    assert len(points) == 20
    loads = [float(point.shown[0]) for point in points if point.shown[2] == 500]
    delays = [float(str(point.shown[1])[:-2]) for point in points if point.shown[2] == 500]
    assert sorted(int(load * 10) for load in loads) == list(range(10))
    assert [sum(low <= delay < 10 * low for delay in delays) for low in (1, 10, 100)] == [
        3,
        3,
        3,
    ] or (
        sorted(sum(low <= delay < 10 * low for delay in delays) for low in (1, 10, 100))
        == [3, 3, 4]
    )
    assert loads == [float(point.shown[0]) for point in points if point.shown[2] == 1460]
    # Another axis does not change the drawn points. Another seed does.
    alone = points_of(replace(study, axis=axes[:1]))
    assert [point.shown[0] for point in alone] == loads
    other = points_of(replace(study, axis=axes[:1], sample=StudySample(points=10, seed=2)))
    assert [point.shown[0] for point in other] != loads


def test_equal_drawn_points_are_cells_of_their_own(small: Scenario, tmp_path: Path) -> None:
    axes = (
        StudyAxis(key="tcp.mss", from_=1000, to=1001),
        StudyAxis(key="workload.web.sender", values=(PLAIN, FRAMED), labels=("plain", "fs")),
    )
    study = Study(
        name="drawn",
        scenario=small,
        axis=axes,
        set_={"duration": "5s"},
        sample=StudySample(points=5),
        runs=Replication(count=2),
        compare=StudyBaseline(axis="sender"),
    )
    cells = sweep_module.checked_plan(study, open_storage(tmp_path)).cells
    assert [[point.shown[1] for point in cell] for cell in cells] == [["plain", "fs"]] * 5
    found = sweep(study, store=tmp_path).frame.filter(measure="mean_s", name="web")
    assert found.height == 10
    assert found.filter(sender="plain")["difference_value"].null_count() == 5
    assert found.filter(sender="fs")["difference_value"].null_count() == 0


def test_random_points_are_independent_and_within_the_range(small: Scenario) -> None:
    axis = StudyAxis(key="workload.web.load", from_=0.2, to=0.6)
    found = shown(axis, small, sample=StudySample(points=400, method="random"))
    assert all(0.2 <= value <= 0.6 for value in found)
    quarter = sum(value < 0.3 for value in found)
    assert 65 <= quarter <= 135  # 100 ± 4 standard deviations of 8.7
    assert quarter != 100 or len(set(found)) == 400


def test_a_point_changes_the_scenario(small: Scenario) -> None:
    both = StudyAxis(name="delay", keys=("link.0.delay", "link.1.delay"), values=("5ms",))
    queue = StudyAxis(
        name="queue",
        points=(
            AxisPoint(label="small", set_={"link.there.buffer.bytes": "3kB"}),
            AxisPoint(label="endless", set_={"link.there.buffer": ""}),
        ),
    )
    study = Study(name="points", scenario=small, axis=(both, queue), set_={"duration": "7s"})
    first, second = (scenario_at(study, point) for point in points_of(study))
    assert [link.delay for link in first.link] == ["5ms", "5ms"]
    assert first.duration == "7s"
    assert first.link[0].buffer is not None
    assert first.link[0].buffer.bytes == "3kB"
    assert second.link[0].buffer is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"axis": ()}, "no axis is given"),
        ({"name": "a/b"}, "name: `a/b` cannot be the name of a file"),
        ({"axis": (StudyAxis(key="tcp.mss"),)}, "expected exactly one of `values`"),
        ({"axis": (StudyAxis(values=(1,)),)}, "expected one of `key` and `keys`"),
        ({"axis": (StudyAxis(key="a.value", values=(1,)),)}, "cannot be the name of an axis"),
        ({"axis": (StudyAxis(key="a.b", from_=1, to=2),)}, "range without `steps`"),
        ({"axis": (StudyAxis(key="a.b", from_=1, steps=2),)}, "needs both `from` and `to`"),
        (
            {"axis": (StudyAxis(key="a.b", values=(1,), labels=("x", "y")),)},
            "2 labels for 1 values",
        ),
        (
            {"axis": (StudyAxis(key="a.b", values=(1,)), StudyAxis(key="c.b", values=(1,)))},
            "two axes are called `b`",
        ),
        ({"compare": StudyBaseline(axis="sendr")}, "compare.axis: no axis is called `sendr`"),
        (
            {"runs": Replication(until=StoppingRule(measure="mean_s", half_width="5%", batch=2))},
            "runs.until.batch: 2 is not at least 4",
        ),
        ({"sample": StudySample(points=3)}, "no axis is a range without `steps`"),
        ({"set_": {"link": {"rate": "1Mb/s"}}}, "set.link: it is a table"),
        ({"runs": Replication(count=0)}, "runs.count: 0 is not at least 1"),
    ],
)
def test_contradictions_are_refused(study: Study, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=message.replace("(", r"\(")):
        replace(study, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"axis": (StudyAxis(key="workload.web.lod", values=(1,)),), "compare": None},
            "point lod = 1: unknown key `workload[0].lod`",
        ),
        (
            {"axis": (StudyAxis(key="link.thare.rate", values=("1Mb/s",)),), "compare": None},
            "`link` has no entry `thare`",
        ),
        (
            {"axis": (StudyAxis(key="link.there.rate", values=("fast",)),), "compare": None},
            "point rate = fast: link[0].rate: `fast`",
        ),
        (
            {"axis": (StudyAxis(key="a.b", from_="1ms", to="2s", steps=2),), "compare": None},
            "have different units",
        ),
        (
            {"axis": (StudyAxis(key="a.b", from_=1, to=3, steps=9),), "compare": None},
            "axis `b`: it has `1` twice",
        ),
        (
            {"axis": (StudyAxis(key="a.b", values=(1, 2, 1)),), "compare": None},
            "axis `b`: it has `1` twice",
        ),
        (
            {"axis": (StudyAxis(key="a.b", values=({"x": 1},)),), "compare": None},
            "its values are tables or lists and need names",
        ),
        ({"keep": KeptResults(measures=("men_s",))}, "keep.measures: unknown measure `men_s`"),
        (
            {"compare": StudyBaseline(axis="sender", baseline="vegas")},
            "compare.baseline: the axis has no value `vegas`",
        ),
        (
            {"runs": Replication(until=StoppingRule(measure="mean_s", half_width="wide"))},
            "runs.until.half_width: `wide` is not a number above 0",
        ),
    ],
)
def test_points_that_cannot_be_simulated_are_refused_before_anything_runs(
    study: Study, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(StudyError) as caught:
        sweep(replace(study, **changes), store=tmp_path / "store")
    assert message in str(caught.value)
    assert not (tmp_path / "store").exists()


# ---- results


def test_values_and_differences_are_those_of_compare(study: Study, tmp_path: Path) -> None:
    found = sweep(study, store=tmp_path)
    assert found.is_complete
    scenario = study.scenario.with_values({"duration": "10s", "workload.web.load": 0.8})
    expected = compare(
        scenario, senders=[PLAIN, FRAMED], workloads=["web"], seeds=[1, 2, 3]
    ).to_frame()
    mine = found.frame.filter(load=0.8)
    for number, sender in enumerate(("plain", "fs")):
        theirs = expected.filter(
            (pl.col("sender") == (PLAIN, FRAMED)[number]) & pl.col("class").is_null()
        )
        ours = mine.filter(sender=sender)
        columns = ["name", "measure", "value", "low", "high", "difference_value", "percent_low"]
        assert ours.select(*columns, "p_value").equals(theirs.select(*columns, "p_value"))


def test_classes_senders_and_selected_measures(study: Study, tmp_path: Path) -> None:
    keep = KeptResults(
        measures=("mean_s", "utilisation"), workloads=("web", "there"), by=("class",)
    )
    found = sweep(replace(study, keep=keep), store=tmp_path).frame
    assert set(found["measure"]) == {"mean_s", "utilisation"}
    assert set(found["name"]) == {"web", "there"}
    at_one = found.filter(number=0, measure="mean_s")
    assert at_one["class"].to_list() == [None, 1, 2, 3]
    shares = "workload.web.senders"
    mixed = [{"sender": PLAIN, "share": 1}, {"sender": FRAMED, "share": 1}]
    several = replace(
        study,
        axis=(StudyAxis(name="mix", key=shares, values=(mixed,), labels=("half",)),),
        compare=None,
        keep=KeptResults(measures=("mean_s",), workloads=("web",), by=("sender",)),
    )
    found = sweep(several, store=tmp_path).frame
    assert found["variant"].to_list() == [None, FRAMED, PLAIN]


def test_rows_of_flows_are_kept_on_request(study: Study, tmp_path: Path) -> None:
    kept = replace(study, keep=KeptResults(rows=True))
    sweep(study, store=tmp_path)
    assert not (tmp_path / "rows").exists()
    sweep(kept, store=tmp_path)
    rows = pl.scan_parquet(tmp_path / "rows" / "*.parquet").group_by("point", "seed").len()
    sums = (
        pl.scan_parquet(tmp_path / "runs" / "*.parquet")
        .filter(kind="flows")
        .group_by("point", "seed")
        .agg(pl.col("flows").sum())
    )
    both = rows.join(sums, on=["point", "seed"]).collect()
    assert both.height == 12
    assert (both["len"] == both["flows"]).all()


# ---- stopping rules


def narrow(width: str, **more: Any) -> Replication:
    rule = StoppingRule(measure="mean_s", half_width=width, workload="web", batch=4, **more)
    return Replication(until=rule)


def test_a_stopping_rule_stops_when_the_interval_is_narrow(study: Study, tmp_path: Path) -> None:
    wide = sweep(replace(study, runs=narrow("200%", maximum=16)), store=tmp_path).frame
    assert set(wide["runs"]) == {4}
    assert set(wide["stopped"]) == {"width"}
    tight = sweep(replace(study, runs=narrow("0.01%", maximum=10)), store=tmp_path).frame
    assert set(tight["runs"]) == {10}
    assert set(tight["stopped"]) == {"maximum"}
    fixed = sweep(replace(study, runs=Replication(count=10)), store=tmp_path).frame
    same = ["value", "difference_value"]
    assert tight.select(same).equals(fixed.select(same))
    # Four rounds at most: each interval has 98.75 % instead of 95 %.
    assert rounds(StoppingRule(measure="mean_s", half_width=1, batch=4, maximum=10)) == [4, 8, 10]
    means = [each.filter(measure="mean_s", name="web", number=0) for each in (tight, fixed)]
    widths = [(each["high"] - each["low"]).item() for each in means]
    assert widths[0] > 1.2 * widths[1]


def test_points_of_a_cell_have_the_same_number_of_runs(study: Study, tmp_path: Path) -> None:
    runs = narrow("60%", of="difference", maximum=32)
    found = sweep(replace(study, runs=runs), store=tmp_path).frame
    cells = found.group_by("load").agg(pl.col("runs").unique())
    assert all(len(runs) == 1 for runs in cells["runs"])


# ---- the store


def test_bytes_do_not_depend_on_workers_shards_and_executors(study: Study, tmp_path: Path) -> None:
    sweep(study, store=tmp_path / "one", workers=1)
    sweep(study, store=tmp_path / "two", workers=2)
    for part in (2, 1, 3):
        sweep(study, store=tmp_path / "parts", shard=Shard(part, 3))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        sweep(study, store=tmp_path / "processes", executor=executor, workers=2)
    for part in (3, 1, 2):
        sweep(study, store=tmp_path / f"part-{part}", shard=Shard(part, 3))
    sources: list[str | Path] = [tmp_path / f"part-{part}" for part in (2, 3, 1)]
    sweep_module.merge(study, store=tmp_path / "merged", sources=sources)
    expected = files_of(tmp_path / "one")
    assert len(expected) == 12 + 2
    for store in ("two", "parts", "processes", "merged"):
        assert files_of(tmp_path / store) == expected, store


def test_only_missing_runs_are_simulated(study: Study, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []

    def found(there: int, missing: int) -> None:
        heard.append((there, missing))

    sweep(study, store=tmp_path, found=found)
    sweep(study, store=tmp_path, found=found)
    more = replace(study, runs=Replication(count=4))
    sweep(more, store=tmp_path, found=found)
    wider = replace(study.axis[0], values=(0.3, 0.5, 0.8))
    sweep(replace(study, axis=(wider, study.axis[1])), store=tmp_path, found=found)
    sweep(replace(study, title="Another title"), store=tmp_path, found=found)
    assert heard == [(0, 12), (12, 0), (12, 4), (12, 6), (12, 0)]


def test_damaged_runs_are_simulated_again(study: Study, tmp_path: Path) -> None:
    sweep(study, store=tmp_path)
    expected = files_of(tmp_path)
    runs = sorted((tmp_path / "runs").iterdir())
    runs[0].write_bytes(b"")
    runs[5].write_bytes(runs[5].read_bytes()[:-40])
    (results,) = tmp_path.rglob("results.parquet")
    results.unlink()
    assert sweep(study, store=tmp_path).is_complete
    assert files_of(tmp_path) == expected


def test_a_second_process_on_the_same_part_is_refused(study: Study, tmp_path: Path) -> None:
    identity = sweep_module.checked_plan(study, open_storage(tmp_path)).folder
    with open_storage(tmp_path).claimed(f"{identity}/.1-of-1.lock", "testing"):
        with pytest.raises(TcpsfError, match="another tcpsf process is running study `loads`"):
            sweep(study, store=tmp_path)
        sweep(study, store=tmp_path, shard=Shard(1, 2))
    assert sweep(study, store=tmp_path).is_complete


def test_a_store_at_a_url(study: Study, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    sweep(study, store=tmp_path)
    url = f"memory://{tmp_path.name}-store"
    assert sweep(study, store=url).frame.equals(sweep(study, store=tmp_path).frame)
    storage = open_storage(url)
    for name, content in files_of(tmp_path).items():
        assert storage.read(name) == content
    with pytest.raises(TcpsfError, match="cannot open `nonsense://x`"):
        sweep(study, store="nonsense://x")


def test_every_order_of_keys_gives_the_same_study(small: Scenario) -> None:
    axes = [
        StudyAxis(key="tcp.mss", values=(536, 1460)),
        StudyAxis(key="workload.web.load", values=(0.2, 0.4)),
    ]
    found = set()
    for order in itertools.permutations(axes):
        study = Study(name="order", scenario=small, axis=order)
        found.add(frozenset(scenario_at(study, point).to_json() for point in points_of(study)))
    assert len(found) == 1
