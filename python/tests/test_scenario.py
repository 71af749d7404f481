"""Scenarios as data: to TOML and back, one value changed, size files, and what is refused."""

from __future__ import annotations

import dataclasses
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from conftest import REPOSITORY
from hypothesis import given
from hypothesis import strategies as st

from tcpsf import _core, scenario
from tcpsf.errors import ScenarioError
from tcpsf.scenario import Scenario, codec, explain

texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)


def values_of(declared: Any) -> st.SearchStrategy[Any]:
    """Anything that a field of this type may hold."""
    declared, _, _ = codec._unwrap(declared)
    arguments = get_args(declared)
    if get_origin(declared) is Literal:
        return st.sampled_from(arguments)
    if get_origin(declared) in (Union, types.UnionType):
        return st.one_of(
            *(st.none() if part is type(None) else values_of(part) for part in arguments)
        )
    if get_origin(declared) is tuple:
        if arguments[1] is Ellipsis:
            return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
        return st.tuples(*map(values_of, arguments))
    if isinstance(declared, type) and dataclasses.is_dataclass(declared):
        keys = codec.keys_of(declared).values()
        return st.builds(declared, **{key.field: values_of(key.type) for key in keys})
    return {str: texts, int: st.integers(0, 2**40), float: numbers, bool: st.booleans()}[declared]


@given(values_of(Scenario))
def test_toml_and_json_lose_nothing(any_scenario: Scenario) -> None:
    assert Scenario.from_toml_text(any_scenario.to_toml()) == any_scenario
    assert Scenario.from_dict(codec.encode(any_scenario)) == any_scenario


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
    assert len(classes) == 24
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
        by_rate = small.with_value("workload.web.load", None).with_value("workload.web.of", None)
        web: Any = by_rate.with_value("workload.web.rate", 10).workload[0]
        assert (web.rate, web.load, web.of) == (10.0, None, None)

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
    def load(self, folder: Path, content: str) -> Any:
        (folder / "sizes.txt").write_text(content, encoding="utf-8")
        data = {
            "name": "x",
            "kind": "poisson",
            "from": "a",
            "to": "b",
            "sizes": {"file": "sizes.txt"},
        }
        base = {"name": "x", "duration": "1s", "link": [], "workload": [data]}
        workload: Any = Scenario.from_dict(base, base=folder).workload[0]
        return workload.sizes

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
