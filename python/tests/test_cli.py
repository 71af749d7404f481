"""The command line: help, JSON by its schema, text, version; fast to start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import Answer, Command
from syrupy.assertion import SnapshotAssertion

from tcpsf import __version__


def schema(name: str) -> Any:
    content = (
        resources.files("tcpsf.report")
        .joinpath("schema", f"{name}.json")
        .read_text(encoding="utf-8")
    )
    found = json.loads(content)
    jsonschema.Draft202012Validator.check_schema(found)
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sim"],
        ["compare"],
        ["check"],
        ["explain"],
        ["examples"],
        ["init"],
        ["link"],
        ["serve"],
        ["proxy"],
        ["demo"],
        ["schema"],
        ["reproduce"],
        ["reproduce", "all"],
        ["reproduce", "packet-discard"],
        ["reproduce", "smart-framing"],
        ["reproduce", "santa-cruz"],
        ["reproduce", "smart-framing", "table-1"],
        ["reproduce", "smart-framing", "table-2"],
        ["reproduce", "smart-framing", "table-3"],
        ["reproduce", "short-flows"],
        ["reproduce", "short-flows", "live"],
        ["model"],
        ["model", "smart-framing"],
        ["cure"],
        ["cure", "attach"],
        ["drill"],
        ["model", "short-flow"],
        ["model", "packet-discard"],
        ["model", "best-framing"],
    ],
    ids=" ".join,
)
def test_help(tcpsf: Command, arguments: list[str], snapshot: SnapshotAssertion) -> None:
    answer = tcpsf(*arguments, "--help")
    assert (answer.status, answer.err) == (0, "")
    assert max(map(len, answer.out.splitlines())) <= 80
    assert answer.out == snapshot


def test_nothing_asked_gets_the_help_and_status_2(tcpsf: Command) -> None:
    for arguments in ([], ["reproduce"], ["model"]):
        answer = tcpsf(*arguments)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith("Usage: tcpsf")


def test_version(tcpsf: Command) -> None:
    assert tcpsf("--version") == Answer(0, f"tcpsf {__version__}\n", "")


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from tcpsf.cli import main; main(['--help']); sys.exit(str(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "Usage: tcpsf" in answer.stdout
    assert "'tcpsf.cli.app'" in answer.stderr
    for heavy in ("polars", "jinja2", "rich.progress", "numpy"):
        assert f"'{heavy}'" not in answer.stderr


def test_sim_prints_tables(tcpsf: Command, small_file: Path) -> None:
    answer = tcpsf("sim", small_file, "--runs", "2", "--set", "workload.web.load=0.5")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(
        "small: 2 runs of 20s, seeds 1 to 2\n\nFlows of `web`, reno+sack / fs(n=4) / iw=1\n"
    )
    rows = [
        line.split(" ") for line in re.sub(" +", " ", answer.out).replace("\n ", "\n").splitlines()
    ]
    assert [row[1] for row in rows if row and row[0] in ("1", "2", "3")] == [
        "500",
        "5000",
        "50\u202f000",
    ]
    assert [row[0] for row in rows if row and row[0] in ("there", "back")] == ["there", "back"]
    legend = answer.out.split("\n\n")[-1]
    for column in (
        "mean",
        "p50",
        "p95",
        "%FR",
        "resent",
        "used",
        "dropped",
        "lost",
        "queue",
        "max",
        "[low,high]",
    ):
        assert column in legend


@pytest.mark.parametrize("runs", [1, 2])
def test_sim_json_keeps_to_its_schema(tcpsf: Command, small_file: Path, runs: int) -> None:
    answer = tcpsf("sim", small_file, "--json", "--runs", str(runs), "--seed", "5")
    found = json.loads(answer.out)
    jsonschema.validate(found, schema("sim"))
    assert found["seeds"] == list(range(5, 5 + runs))
    assert len(found["links"]) == 2 * runs
    for group in found["flows"]:
        assert (group["completion_s"]["interval"] is None) == (runs == 1)
        for name in ("median", "p95"):
            assert (group[f"{name}_interval_s"] is None) == (runs == 1)
            low, high = group[f"{name}_interval_s"] or (group[f"{name}_s"],) * 2
            assert low <= group[f"{name}_s"] <= high
        assert group["delivery_s"]["value"] < group["completion_s"]["value"]
        assert group["completed"] <= group["flows"]


def test_more_workers_print_the_same(tcpsf: Command, small_file: Path) -> None:
    one, two = (
        tcpsf("sim", small_file, "--json", "--runs", "3", "--workers", str(n)) for n in (1, 2)
    )
    assert one == two


def test_a_scenario_without_completed_flows(tcpsf: Command, small_file: Path) -> None:
    answer = tcpsf("sim", small_file, "--set", "duration=1ms")
    assert (answer.status, answer.err) == (0, "")


def test_reproduce(tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcpsf.evaluation.plan import Scale
    from tcpsf.reproduce.smart_framing.table_1 import SCALES

    monkeypatch.setitem(SCALES, "quick", Scale("quick", 2, "20s"))
    words = ["reproduce", "smart-framing", "table-1", "--out", tmp_path / "out"]
    text = tcpsf(*words)
    assert text.status == 0
    assert text.out.startswith("TCP Smart Framing, Table I\n2 runs of 20s for each sender")
    assert text.err == f"\nThe page: {(tmp_path / 'out' / 'table-1.html').as_uri()}\n"
    assert max(map(len, text.out.splitlines())) <= 80
    as_json = tcpsf(*words, "--json", "--workers", "1", "--force")
    assert as_json.out == (tmp_path / "out" / "table-1.json").read_text(encoding="utf-8")
    jsonschema.validate(json.loads(as_json.out), schema("table-1"))
    assert tcpsf(*words).status == 2
    other = tcpsf(
        *words[:3], "--set", "workload.web.load=0.5", "--set", "workload.web.handshake=true"
    )
    assert (
        "Changed: workload.web.load = 0.5.\nChanged: workload.web.handshake = true.\n" in other.out
    )


def test_demo(tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcpsf.evaluation.plan import Scale
    from tcpsf.reproduce.smart_framing.table_1 import SCALES

    monkeypatch.setitem(SCALES, "demo", Scale("demo", 2, "20s"))
    for _ in range(2):  # a second demo takes the place of the first
        answer = tcpsf("demo", "--out", tmp_path / "demo")
        assert answer.status == 0
        assert f"The page: {(tmp_path / 'demo' / 'demo.html').as_uri()}\n" in answer.err
        page = (tmp_path / "demo" / "demo.html").read_text(encoding="utf-8")
        assert "<title>TCP Smart Framing: one loss, and Table I</title>" in page
        report = json.loads((tmp_path / "demo" / "report.json").read_text(encoding="utf-8"))
        jsonschema.validate(report, schema("evaluation"))
    told = answer.out
    assert max(map(len, told.splitlines())) <= 80
    for sentence in report[
        "conclusion"
    ].values():  # the same three sentences in text, page and data
        assert sentence.replace("`", "") in told.replace("\n", " ")
        assert escape(sentence.split("`")[0]) in page
    assert re.search(r"^Classic +1460  timeout +3\.", told, re.MULTILINE)
    assert re.search(r"^FS-TCP-SF +365  fast retransmit +0\.", told, re.MULTILINE)
    assert len(re.findall("text +closest +paper", told)) == 3
    assert 'class="ladder"' in page
