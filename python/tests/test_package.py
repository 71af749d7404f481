"""The package as a whole: doctests, documentation, the stub of the extension, the reference page."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY

import tcpsf
from tcpsf import _core, scenario
from tcpsf.pages import python_reference, scenario_model, scenario_reference
from tcpsf.scenario.codec import keys_of

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(tcpsf.__path__, "tcpsf.")
    if module.name not in ("tcpsf._core", "tcpsf.__main__")
)


def test_doctests() -> None:
    attempted = 0
    for name in MODULES:
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        outcome = doctest.testmod(importlib.import_module(name), optionflags=flags)
        assert outcome.failed == 0, name
        attempted += outcome.attempted
    assert attempted >= 25


@pytest.mark.parametrize("name", tcpsf.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    found = getattr(tcpsf, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert inspect.getdoc(found)


def test_the_reference_page_is_up_to_date() -> None:
    committed = (REPOSITORY / "docs" / "reference" / "scenario.md").read_text(encoding="utf-8")
    assert committed == scenario_reference.page(), (
        "write it again: python -m tcpsf.pages.scenario_reference"
    )


def test_the_python_page_is_up_to_date() -> None:
    committed = (REPOSITORY / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert committed == python_reference.page(), (
        "write it again: python -m tcpsf.pages.python_reference"
    )


def test_the_python_page_has_every_name_and_no_empty_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = python_reference.page()
    for name in set(tcpsf.__all__) - {"__version__"}:
        assert re.search(rf"^### {name}$|^\| \[?`{name}`", page, re.MULTILINE), name
    assert not re.findall(r"^\|.*\|\s*\|$", page, re.MULTILINE)
    monkeypatch.setattr(tcpsf, "__all__", [*tcpsf.__all__, "unplaced"])
    with pytest.raises(LookupError, match="no group of the page has: unplaced"):
        python_reference.page()


def test_the_classes_of_a_scenario_are_up_to_date() -> None:
    committed = Path(tcpsf.__file__).parent / "scenario" / "model.py"
    written = ast.dump(ast.parse(committed.read_text(encoding="utf-8")))
    assert written == ast.dump(ast.parse(scenario_model.module())), "write them again: make docs"


def test_the_stub_names_what_the_extension_has() -> None:
    stub = ast.parse((Path(tcpsf.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
    stubbed: dict[str, set[str]] = {}
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            stubbed[node.name] = {
                part.name for part in node.body if isinstance(part, ast.FunctionDef)
            } - {"__new__"}
        elif isinstance(node, ast.FunctionDef):
            stubbed[node.name] = set()
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            stubbed[node.target.id] = set()
    public = {name for name in vars(_core) if not name.startswith("_")}
    # Names of types begin with an underscore. The extension does not have them.
    stubbed = {name: members for name, members in stubbed.items() if not name.startswith("_")}
    assert set(stubbed) == public
    for name, members in stubbed.items():
        if members:
            actual = {
                member for member in vars(getattr(_core, name)) if not member.startswith("__")
            }
            assert members - {"__arrow_c_stream__"} == actual, name


def test_the_extension_says_what_is_wrong_and_what_to_do(small: tcpsf.Scenario) -> None:
    data = {**small.to_dict(), "route": [{"from": "a", "to": "b", "via": ["thre"]}]}
    with pytest.raises(ValueError, match="route") as caught:
        _core.Simulation(json.dumps(data), seed=1)
    message, hint = caught.value.args
    assert message == "route[0].via[0]: there is no link `thre`"
    assert hint == "did you mean `there`?"
    with pytest.raises(ValueError, match="not JSON"):
        _core.Simulation("{", seed=1)
    with pytest.raises(OverflowError):
        _core.Simulation(small.to_json(), seed=-1)


def test_a_table_can_be_read_twice_and_taken_once(small: tcpsf.Scenario) -> None:
    import polars as pl

    simulation = _core.Simulation(small.to_json(), seed=1)
    while simulation.advance(max_events=10_000):
        assert simulation.now_s <= simulation.duration_s == 20.0
    assert simulation.events > 1000
    assert simulation.buffered_rows > 0
    flows = simulation.take_flows()
    assert flows.num_rows == pl.DataFrame(flows).height == pl.DataFrame(flows).height
    assert simulation.take_flows().num_rows == 0
    simulation.take_recoveries()
    simulation.take_samples()
    simulation.take_packets()
    assert simulation.buffered_rows == 0


def test_columns_are_those_of_the_documented_tables(small: tcpsf.Scenario) -> None:
    recorded = small.with_value("samples", {"every": "1s", "workloads": ["greedy"]}).with_value(
        "trace", ["web"]
    )
    result = tcpsf.run(recorded, seed=1)
    flows = "flow workload variant class size_bytes start_s sender_s receiver_s segments sent_bytes"
    flows += " retransmitted_segments retransmitted_bytes fast_retransmits timeouts syn_timeouts"
    flows += " received_bytes waited_s srtt_s rto_s"
    assert result.flows.columns == flows.split()
    recoveries = "time_s flow workload variant class cause cwnd_bytes flight_bytes"
    assert result.recoveries.columns == recoveries.split()
    assert result.samples.columns == ["time_s", "object", "quantity", "value"]
    assert result.samples.height > 0
    assert set(result.samples["object"].cast(str)) == {"greedy/0", "greedy/1"}
    packets = "time_s flow workload packet event from control seq payload_bytes ack sack_blocks cwnd_bytes"
    assert result.packets.columns == packets.split()
    assert result.packets["workload"].cast(str).unique().to_list() == ["web"]
    assert result.links["link"].cast(str).to_list() == ["there", "back"]
    links = "link duration_s offered_packets offered_bytes delivered_packets delivered_bytes dropped_buffer_packets"
    links += " dropped_buffer_bytes dropped_early_packets dropped_early_bytes dropped_loss_packets dropped_loss_bytes"
    links += " held_packets held_bytes marked_packets marked_bytes utilisation mean_queue_packets mean_queue_bytes"
    links += " max_queue_packets max_queue_bytes offered_cells delivered_cells dropped_cells held_cells wasted_cells"
    assert result.links.columns == links.split()
    greedy = result.flows.filter(result.flows["workload"].cast(str) == "greedy")
    assert (
        greedy["size_bytes"].null_count() == greedy["sender_s"].null_count() == greedy.height == 2
    )


@pytest.mark.parametrize(
    ("path", "cls"),
    [
        ("", scenario.Scenario),
        ("link[0]", scenario.Link),
        ("link[0].changes[0]", scenario.LinkChange),
        ("link[0].reorder", scenario.Reorder),
        ("link[0].buffer", scenario.Buffer),
        ("link[0].buffer.red", scenario.Red),
        ("link[0].buffer.balanced", scenario.Balanced),
        ("link[0].buffer.codel", scenario.CoDel),
        ("link[0].buffer.discard", scenario.Discard),
        ("link[0].loss", scenario.PacketLoss),
        ("link[0].loss", scenario.ByteLoss),
        ("link[0].loss", scenario.LinearLoss),
        ("link[0].loss", scenario.BurstLoss),
        ("link[0].loss", scenario.MaskLoss),
        ("route[0]", scenario.Route),
        ("workload[0]", scenario.Greedy),
        ("workload[0]", scenario.Poisson),
        ("workload[0]", scenario.Transfers),
        ("workload[0].sizes", scenario.Sizes),
        ("workload[0].sizes.pareto", scenario.Pareto),
        ("workload[0].sizes.lognormal", scenario.LogNormal),
        ("workload[0].senders[0]", scenario.SenderShare),
        ("tcp", scenario.Tcp),
        ("samples", scenario.Samples),
    ],
)
def test_python_and_the_simulator_have_the_same_keys(
    small: tcpsf.Scenario, path: str, cls: type
) -> None:
    """An unknown key makes the simulator list those it knows."""
    data = small.to_dict()
    target: Any = data
    for part in path.split(".") if path else []:
        name, _, index = part.rstrip("]").partition("[")
        target = target.setdefault(name, [{}])[int(index)] if index else target.setdefault(name, {})
    kind = {"kind": cls.kind} if hasattr(cls, "kind") else {}
    target.clear()
    target.update(kind, **{"x" * 40: 0})
    with pytest.raises(ValueError, match="unknown key") as caught:
        _core.Simulation(json.dumps(data), seed=1)
    known = caught.value.args[1].removeprefix("known: ").split(", ")
    assert set(known) == keys_of(cls).keys() | kind.keys()
