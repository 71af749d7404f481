"""The command `tcpsf sweep`: its output, its files and its errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from conftest import REPOSITORY, Command

from tcpsf import Study
from tcpsf.studies.study_figures import figures


def schema_of(name: str) -> Any:
    """Return the schema of a JSON output."""
    file = resources.files("tcpsf.report").joinpath("schema", f"{name}.json")
    return json.loads(file.read_text(encoding="utf-8"))


STUDY = """
name = "queue"
scenario = "small.toml"
set = { duration = "10s" }

[[axis]]
key = "link.there.buffer.bytes"
values = ["6kB", "30kB"]

[runs]
count = 3

[keep]
workloads = ["web", "there"]
"""


@pytest.fixture
def study_file(small_file: Path) -> Path:
    """A study file beside its scenario."""
    path = small_file.parent / "queue.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_run_status_and_show(tcpsf: Command, study_file: Path) -> None:
    before = tcpsf("sweep", "status", study_file)
    assert "missing   6 runs" in before.out
    answer = tcpsf("sweep", study_file)
    assert (answer.status, answer.err) == (0, "6 runs\n")
    assert "`web`: mean completion time, s" in answer.out
    assert answer.out.count("kB") == 4
    shown = tcpsf("sweep", "show", study_file)
    assert (shown.out, shown.err) == (answer.out, "")
    assert tcpsf("sweep", "run", study_file).err == "6 runs, 6 of them already stored\n"
    other = tcpsf("sweep", "show", study_file, "--measure", "p95_s", "--measure", "utilisation")
    assert "`web`: p95 completion time, s" in other.out
    assert "`there`: utilisation" in other.out
    after = tcpsf("sweep", "status", study_file)
    assert "complete  2 points" in after.out
    assert "missing   0 runs" in after.out


def test_init_writes_a_study_that_runs(tcpsf: Command, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert tcpsf("sweep", "init", file).err == (
        f"wrote `{file}`; next: tcpsf sweep {file} --out results\n"
    )
    assert f"tcpsf sweep {file} --out results" in file.read_text(encoding="utf-8")
    words = ("--runs", "2", "--set", "duration=6s", "--out", tmp_path / "out")
    answer = tcpsf("sweep", file, *words)
    assert answer.status == 0
    assert sorted(path.name for path in (tmp_path / "out").glob("*.svg")) == [
        "gain.svg",
        "time.svg",
    ]
    again = tcpsf("sweep", "init", file)
    assert (again.status, again.out) == (2, "")
    assert "--force" in again.err


def test_json_and_files_follow_their_schemas(tcpsf: Command, study_file: Path) -> None:
    out = study_file.parent / "out"
    answer = tcpsf("sweep", study_file, "--json", "--out", out)
    data = json.loads(answer.out)
    jsonschema.validate(data, schema_of("study"))
    assert {row["measure"] for row in data["results"]} == {"mean_s"} | {
        row["measure"] for row in data["results"]
    }
    assert json.loads((out / "study.json").read_text(encoding="utf-8")) == data
    frame = pl.read_parquet(out / "results.parquet")
    assert frame.height == len(data["results"])
    status = json.loads(tcpsf("sweep", "status", study_file, "--json").out)
    jsonschema.validate(status, schema_of("study-status"))
    assert (status["runs"], status["missing_runs"], status["complete_points"]) == (6, 0, 2)


def test_shards_and_merge(tcpsf: Command, study_file: Path) -> None:
    stores = [str(study_file.parent / f"part-{part}") for part in (1, 2)]
    for part, store in enumerate(stores, start=1):
        answer = tcpsf("sweep", "run", study_file, "--shard", f"{part}/2", "--store", store)
        assert (answer.status, answer.out) == (0, "")
        assert "1 of 2 points" in answer.err
    incomplete = tcpsf("sweep", "show", study_file, "--store", stores[0])
    assert "note: 1 of 2 points are complete" in incomplete.err
    merged = tcpsf("sweep", "merge", study_file, *stores)
    assert "copied 3 runs from" in merged.err
    assert "2 of 2 points are complete" in merged.err
    assert tcpsf("sweep", "show", study_file).status == 0


def test_a_changed_study_is_named(tcpsf: Command, study_file: Path) -> None:
    tcpsf("sweep", study_file)
    study_file.write_text(STUDY.replace("10s", "9s"), encoding="utf-8")
    answer = tcpsf("sweep", "show", study_file)
    assert (answer.status, answer.out) == (2, "")
    assert "no point has all its runs" in answer.err
    assert "has changed since other runs were stored" in answer.err
    assert "1 other version of this study" in tcpsf("sweep", "status", study_file).out


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--shard", "9"], "`--shard 9`: `9` is not one of several parts", "`1/8` to `8/8`"),
        (["--shard", "3/2"], "`--shard 3/2`: `3/2` is not one of several", "`1/8` to `8/8`"),
        (["--set", "link.there.rat=1"], "unknown key `link[0].rat`", "did you mean `rate`?"),
        (
            ["--measure", "mean"],
            "`--measure mean`: unknown measure `mean`",
            "did you mean `mean_s`?",
        ),
        (["--store", "{file}"], "cannot write", "finished runs are kept"),
        (["--dask", "tcp://127.0.0.1:9"], "cannot connect to Dask", "start a scheduler"),
        (["--dask", "nowhere"], "cannot connect to Dask", "tcp://HOST:8786"),
    ],
)
def test_bad_options(
    tcpsf: Command, study_file: Path, words: Sequence[str], message: str, hint: str
) -> None:
    if "--dask" in words:
        pytest.importorskip("distributed")
    given = [word.format(file=study_file) for word in words]
    answer = tcpsf("sweep", "run", study_file, *given)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert hint in answer.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('example = "starter"\nname = 1', "name: `1` is not text"),
        (STUDY.replace('scenario = "small.toml"', ""), "missing key `scenario`"),
        (STUDY.replace("small.toml", "none.toml"), "none.toml`: no such file"),
        (STUDY.replace("small.toml", "queue.toml"), "unknown key"),
        (STUDY.replace('scenario = "small.toml"', 'example = "smal"'), "cannot find example"),
        (STUDY.replace("count", "cont"), "unknown key `runs.cont`"),
        ("x = [", "not TOML"),
        (STUDY + "[[plot]]\n", "missing key `plot[0].name`"),
    ],
)
def test_bad_files(tcpsf: Command, study_file: Path, text: str, message: str) -> None:
    study_file.write_text(text, encoding="utf-8")
    for command in ("run", "status", "show"):
        answer = tcpsf("sweep", command, study_file)
        assert (answer.status, answer.out) == (2, "")
        assert message in answer.err
        assert str(study_file) in answer.err


@pytest.mark.parametrize(
    ("name", "duration"),
    [
        ("framing-by-loss", "12s"),
        ("initial-window", "12s"),
        ("buffer-size", "12s"),
        # A 99th percentile needs 2500 replies of each size.
        ("remedies", "70s"),
        ("remedies-congestion", "650s"),
    ],
)
def test_example_studies_at_small_scale(
    tcpsf: Command, name: str, duration: str, tmp_path: Path
) -> None:
    study = REPOSITORY / "docs" / "examples" / f"{name}.toml"
    settings = ("--set", f"duration={duration}", "--set", "warm_up=2s")
    words = ("--store", tmp_path, "--runs", "2", *settings)
    answer = tcpsf("sweep", "run", study, *words)
    assert (answer.status, "error" in answer.err) == (0, False)
    assert "ranges from" in answer.out
    shown = tcpsf("sweep", "show", study, *words, "--out", tmp_path / "out")
    assert shown.status == 0
    drawn = sorted(path.name for path in (tmp_path / "out").glob("*.svg"))
    assert drawn == sorted(f"{plot.name}.svg" for plot in Study.from_toml(study).plot)
    page = (tmp_path / "out" / f"{name}.html").read_text(encoding="utf-8")
    assert page.count("<figure") == len(drawn)


def plotted(study_file: Path, lines: str) -> Path:
    study_file.write_text(f"{STUDY}\n[[plot]]\nname = 'p'\n{lines}", encoding="utf-8")
    return study_file


def test_plot_has_the_values_and_intervals_of_the_results(tcpsf: Command, study_file: Path) -> None:
    plotted(study_file, "measure = 'mean_s'\nx = 'bytes'")
    answer = tcpsf("sweep", study_file, "--json", "--measure", "mean_s")
    rows = json.loads(answer.out)["results"]
    found = Study.from_toml(study_file)
    frame = pl.DataFrame(rows)
    (figure,) = figures(found, frame)
    (panel,) = figure.panels
    (curve,) = panel.curves
    assert (panel.x.label, panel.x.unit, list(curve.x)) == ("bytes", "kB", [6.0, 30.0])
    whole = [row for row in rows if row["class"] is None]
    assert list(curve.y) == [row["value"] for row in whole]
    assert list(curve.low) == [row["low"] for row in whole]
    assert panel.y.label == "mean completion time"


def test_plot_is_limited_to_a_position(tcpsf: Command, study_file: Path) -> None:
    by_class = STUDY.replace("[keep]", '[keep]\nby = ["class"]')
    plots = "\n[[plot]]\nname = 'both'\nmeasure = 'mean_s'\nx = 'class'\n" * 2
    last = plots.rindex("both")
    plots = f"{plots[:last]}one{plots[last + 4 :]}only = {{ bytes = '6kB' }}\n"
    study_file.write_text(by_class + plots, encoding="utf-8")
    answer = tcpsf("sweep", study_file, "--json")
    frame = pl.DataFrame(json.loads(answer.out)["results"])
    both, one = figures(Study.from_toml(study_file), frame)
    assert [len(plot.panels[0].curves) for plot in (both, one)] == [2, 1]
    assert list(one.panels[0].curves[0].y) == list(both.panels[0].curves[0].y)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("measure = 'mean_s'\nx = 'byte'", "plot[0].x: no axis is called `byte`"),
        ("measure = 'goodput_mbps'\nx = 'bytes'", "plot `p`: no result has the measure"),
        ("measure = 'p999_s'\nx = 'bytes'", "plot `p`: `p999_s` has no value at any point"),
        ("measure = 'mean_s'\nx = 'bytes'\nvalue = 'percent'", "needs a table `[compare]`"),
        (
            "measure = 'mean_s'\nx = 'class'\nonly = { byte = 6 }",
            "plot[0].only: no axis is called `byte`",
        ),
        (
            "measure = 'mean_s'\nx = 'class'\nonly = { bytes = '7kB' }",
            "no result has the measure `mean_s` and bytes = `7kB`",
        ),
        ("measure = 'mean_s'\nx = 'bytes'\nonly = { bytes = '6kB' }", "`bytes` is given twice"),
    ],
)
def test_bad_plots(tcpsf: Command, study_file: Path, lines: str, message: str) -> None:
    out = study_file.parent / "out"
    answer = tcpsf("sweep", plotted(study_file, lines), "--out", out)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert not out.exists()
