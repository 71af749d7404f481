"""Scenarios as data: to TOML and back, one value changed, size files, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import tomllib
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Union

import pytest
import tomli_w
from conftest import REPOSITORY, SMALL
from hypothesis import given
from hypothesis import strategies as st

from tcpsf import _core, run, scenario
from tcpsf.errors import ScenarioError
from tcpsf.scenario import Scenario, codec, explain
from tcpsf.scenario.model import ScenarioKeys

texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)


QUANTITIES = {
    "duration": st.integers(0, 10**6).map(lambda number: f"{number}us"),
    "rate": st.integers(1, 10**6).map(lambda number: f"{number}kb/s"),
    "size": st.integers(1, 10**6).map(lambda number: f"{number}B"),
    "sender": texts,
}


def values_of(declared: Any) -> st.SearchStrategy[Any]:
    """Anything that a field of this type may hold."""
    found = codec._unwrap(declared)
    if found.origin is Literal:
        return st.sampled_from(found.arguments)
    if found.origin in (Union, types.UnionType):
        return st.one_of(
            *(st.none() if part is type(None) else values_of(part) for part in found.arguments)
        )
    if found.origin is Sequence:
        return st.lists(values_of(found.arguments[0]), max_size=2).map(tuple)
    if found.origin is tuple:
        return st.tuples(*map(values_of, found.arguments))
    if found.is_table:
        keys = codec.keys_of(found.type).values()
        return st.builds(found.type, **{key.field: values_of(key.declared) for key in keys})
    if found.is_share:
        return st.floats(0.0, 1.0)
    if found.quantity is not None:
        return QUANTITIES[found.quantity.name]
    return {str: texts, int: st.integers(0, 2**40), float: numbers, bool: st.booleans()}[found.type]


@given(values_of(ScenarioKeys))
def test_toml_and_json_lose_nothing(keys: ScenarioKeys) -> None:
    """Keys with arbitrary values, which are not a valid scenario together."""
    plain = codec.encode(keys)
    assert codec.decode(ScenarioKeys, plain) == keys
    assert codec.decode(ScenarioKeys, json.loads(json.dumps(plain))) == keys
    assert codec.decode(ScenarioKeys, tomllib.loads(tomli_w.dumps(plain))) == keys


def test_every_example_runs_as_far_as_the_first_event() -> None:
    examples = sorted((REPOSITORY / "scenarios").glob("*.toml"))
    assert len(examples) >= 3
    for path in examples:
        loaded = Scenario.from_toml(path)
        assert loaded.name == path.stem
        simulation = _core.Simulation(loaded.to_json(), seed=1)
        assert simulation.advance(max_events=1)


def test_every_field_is_documented() -> None:
    classes = [getattr(scenario, name) for name in scenario.__all__]
    classes = [cls for cls in classes if dataclasses.is_dataclass(cls)]
    assert len(classes) == 32
    for cls in classes:
        assert cls.__doc__
        for key in codec.keys_of(cls).values():
            assert key.doc.text.endswith((".", "…")), f"{cls.__name__}.{key.name}: {key.doc.text!r}"


class TestWithValue:
    def test_entries_go_by_name_or_number(self, small: Scenario) -> None:
        assert small.with_value("link.there.rate", "5Mb/s").link[0].rate == "5Mb/s"
        assert small.with_value("link.1.delay", "5ms").link[1].delay == "5ms"
        changed: Any = small.with_value("workload.greedy.flows", 3).workload[1]
        assert changed.flows == 3

    def test_a_table_that_was_absent_begins(self, small: Scenario) -> None:
        assert small.with_value("samples.every", "1s").samples == scenario.Samples(every="1s")
        changed = small.with_value("link.there.loss", {"kind": "packet", "probability": 0.5})
        assert changed.link[0].loss == scenario.PacketLoss(probability=0.5)

    def test_none_takes_a_key_away(self, small: Scenario) -> None:
        assert small.with_value("drain", None).drain is None
        with pytest.raises(ScenarioError, match=r"workload\[0\]"):
            small.with_value("workload.web.load", None)

    def test_keys_that_exclude_each_other_are_exchanged_at_once(self, small: Scenario) -> None:
        values = {"workload.web.load": None, "workload.web.of": None, "workload.web.rate": 10}
        web: Any = small.with_values(values).workload[0]
        assert (web.rate, web.load, web.of) == (10.0, None, None)

    def test_later_values_are_inside_earlier_ones(self, small: Scenario) -> None:
        loss = {"kind": "packet", "probability": 0.5}
        values = {"link.there.loss": loss, "link.there.loss.probability": "7%"}
        assert small.with_values(values).link[0].loss == scenario.PacketLoss(probability=0.07)
        assert loss["probability"] == 0.5

    def test_a_value_may_be_an_object(self, small: Scenario) -> None:
        loss = scenario.BurstLoss(probability=0.01, run=2)
        assert small.with_value("link.there.loss", loss).link[0].loss == loss
        halves = (scenario.SenderShare(sender="reno / full / iw=1", share=1),) * 2
        values = {"workload.web.sender": None, "workload.web.senders": halves}
        assert small.with_values(values).workload[0].senders == halves

    def test_the_scenario_itself_stays(self, small: Scenario) -> None:
        small.with_value("link.there.rate", "5Mb/s")
        assert small.link[0].rate == "2Mb/s"

    @pytest.mark.parametrize(
        ("path", "message", "hint"),
        [
            ("link.ther.rate", "`link` has no entry `ther`", "did you mean `there`?"),
            ("link.9.rate", "`link` has no entry `9`", "entries: `there`, `back`"),
            ("link.there.rat", "unknown key `link[0].rat`", "did you mean `rate`?"),
            (
                "link.there",
                "`link.there` is not a key",
                "`link` is a list; append an entry's name",
            ),
            ("name.first", "`name.first` is not a key", "`name` is not a table"),
            ("name.first.letter", "`name` has no key `first`: it is the value `small`", None),
            ("tpc.mss", "unknown key `tpc`", "did you mean `tcp`?"),
        ],
    )
    def test_a_wrong_path_says_where(
        self, small: Scenario, path: str, message: str, hint: str | None
    ) -> None:
        with pytest.raises(ScenarioError) as caught:
            small.with_value(path, "1Mb/s")
        assert (str(caught.value), caught.value.hint) == (message, hint)


class TestSizeFiles:
    def load(self, folder: Path, content: str, name: str | Path = "sizes.txt") -> Any:
        (folder / "sizes.txt").write_text(content, encoding="utf-8")
        data = tomllib.loads(SMALL)
        data["workload"][0]["sizes"] = {"file": name}
        workload: Any = Scenario.from_dict(data, base=folder).workload[0]
        return workload.sizes

    def test_the_name_may_be_a_path(self, tmp_path: Path) -> None:
        found = self.load(tmp_path, "119\n", tmp_path / "sizes.txt")
        assert found == scenario.Sizes(classes=(119,))

    def test_one_column_gives_classes(self, tmp_path: Path) -> None:
        assert self.load(tmp_path, "# bytes\n119\n\n179 # small\n") == scenario.Sizes(
            classes=(119, 179)
        )

    def test_two_columns_give_a_cdf(self, tmp_path: Path) -> None:
        assert self.load(tmp_path, "100 0\n200, 1.0\n") == scenario.Sizes(
            cdf=((100, 0.0), (200, 1.0))
        )

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("119\nmany\n", "`sizes.txt`, line 2: `many` is not a size in bytes"),
            ("119\n179 0.5\n", "`sizes.txt`, line 2: `179 0.5` is not a size in bytes"),
            ("119 x\n", "`sizes.txt`, line 1: `119 x` is not a size and a probability"),
            ("1 2 3\n", "`sizes.txt`, line 1: `1 2 3` is not a size and a probability"),
            ("# nothing\n", "`sizes.txt` contains no sizes"),
        ],
    )
    def test_a_line_that_does_not_parse_is_named(
        self, tmp_path: Path, content: str, message: str
    ) -> None:
        with pytest.raises(ScenarioError) as caught:
            self.load(tmp_path, content)
        assert str(caught.value) == f"workload[0].sizes.file: {message}"
        assert caught.value.hint


def test_errors_of_the_simulator_are_explained() -> None:
    assert explain("workload[1].load") is not None
    assert (
        explain("workload[0].sizes.pareto.shape")
        == "`shape`: Tail exponent, above 1; below 2 the variance is infinite"
    )
    assert explain("link[0].loss.at") == (
        "`at`: Packet size, headers included, that is lost with `probability`; such as `150kB`"
    )
    assert explain("no.such.key") is None


class TestTextFiles:
    """Tables of a link may name a text file, whose content replaces the name."""

    def load(self, folder: Path, table: str, content: str, **keys: object) -> Any:
        (folder / "file.txt").write_text(content, encoding="utf-8")
        data = tomllib.loads(SMALL)
        link = {key: value for key, value in data["link"][0].items() if key != "rate"}
        rate = {} if table == "rate_trace" else {"rate": "2Mb/s"}
        data["link"][0] = {**link, **rate, table: {**keys, "file": "file.txt"}}
        return Scenario.from_dict(data, base=folder).link[0]

    def test_the_scenario_has_the_content(self, tmp_path: Path) -> None:
        found = self.load(tmp_path, "loss", "0 1 # one\n0", kind="mask", repeat=True)
        assert found.loss == scenario.MaskLoss(drops="0 1 # one\n0\n", repeat=True)
        found = self.load(tmp_path, "jitter", "1ms\n-2ms\n", kind="samples")
        assert found.jitter == scenario.SampledJitter(delays="1ms\n-2ms\n")
        found = self.load(tmp_path, "rate_trace", "1\n1\n5\n")
        assert found.rate_trace == scenario.RateTrace(text="1\n1\n5\n")

    @pytest.mark.parametrize(
        ("table", "content", "keys", "message"),
        [
            (
                "loss",
                "0\n2\n",
                {"kind": "mask"},
                "link[0].loss.drops: line 2: `2` is neither 0 nor 1",
            ),
            (
                "jitter",
                "1ms\n5\n",
                {"kind": "samples"},
                "link[0].jitter.delays: line 2: `5` is not a delay such as `1.5ms`",
            ),
            (
                "rate_trace",
                "5\n4\n",
                {},
                "link[0].rate_trace.text: line 2: 4 is before 5, and times must not decrease",
            ),
            (
                "rate_trace",
                "5\n",
                {"text": "5"},
                "link[0].rate_trace.file: there is `text` as well",
            ),
        ],
    )
    def test_errors_name_the_line(
        self, tmp_path: Path, table: str, content: str, keys: dict[str, object], message: str
    ) -> None:
        with pytest.raises(ScenarioError) as caught:
            self.load(tmp_path, table, content, **keys)
        assert str(caught.value) == message

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        data = tomllib.loads(SMALL)
        data["link"][0]["loss"] = {"kind": "mask", "file": "none.txt"}
        with pytest.raises(ScenarioError, match=r"cannot read `none\.txt`: no such file"):
            Scenario.from_dict(data, base=tmp_path)


def test_every_law_of_a_link_can_be_simulated() -> None:
    """Packets and bytes of each link balance, and the law has an effect."""
    laws: dict[str, dict[str, Any]] = {
        "none": {},
        "gilbert": {
            "loss": {"kind": "gilbert-elliott", "good_to_bad": 0.02, "bad_to_good": 0.3},
        },
        "trace of losses": {"loss": {"kind": "mask", "drops": "0\n" * 30 + "1\n", "repeat": True}},
        "jitter": {"jitter": {"kind": "normal", "deviation": "5ms", "reorder": True}},
        "pareto": {"jitter": {"kind": "pareto", "mean": "5ms"}},
        "trace of rates": {"rate": None, "rate_trace": {"text": "1\n3\n"}},
        "table": {"rate": None, "rate_trace": {"text": "0s 5mbit\n1s 0\n1.2s repeat\n"}},
        "policer": {"police": {"rate": "1Mb/s", "burst": "15kB"}},
        "shaper": {"shape": {"rate": "1Mb/s", "burst": "15kB"}},
        "fq_codel": {"buffer": {"packets": 50, "fq_codel": {"target": "2ms", "interval": "20ms"}}},
    }
    rows = {}
    for name, keys in laws.items():
        data = tomllib.loads(SMALL)
        data["duration"] = "20s"
        merged = {**data["link"][0], **keys}
        data["link"][0] = {key: value for key, value in merged.items() if value is not None}
        table = run(Scenario.from_dict(data), seed=1).links
        rows[name] = table.row(0, named=True)
    for name, row in rows.items():
        dropped = sum(row[f"dropped_{why}_packets"] for why in ("buffer", "early", "loss"))
        assert row["offered_packets"] == row["delivered_packets"] + dropped + row["held_packets"]
        assert name == "none" or row != rows["none"], name
