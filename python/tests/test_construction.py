"""Construction of scenarios: errors name the key, values have their types, displays are short."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args

import numpy as np
import polars as pl
import pytest
from conftest import SMALL
from html_tables import Tables

from tcpsf import (
    Buffer,
    BurstLoss,
    Greedy,
    Link,
    LogNormal,
    PacketLoss,
    Pcap,
    Poisson,
    Red,
    Samples,
    Scenario,
    ScenarioError,
    Sizes,
    Tcp,
    TcpsfError,
    Transfers,
    Workload,
    scenario,
)
from tcpsf.scenario import codec

CLASSES: list[Any] = [
    found
    for name in scenario.__all__
    if dataclasses.is_dataclass(found := getattr(scenario, name)) and found is not Scenario
]
"""The classes of the parts of a scenario."""


def link(**changes: Any) -> Link:
    return Link(**{"name": "there", "from_": "a", "to": "b", **changes})


def transfers(**changes: Any) -> Transfers:
    values = {"name": "t", "from_": "a", "to": "b", "sizes": (1000,), **changes}
    return Transfers(**values)


class TestErrors:
    """A value that exists is valid."""

    @pytest.mark.parametrize(
        ("construct", "message"),
        [
            (
                lambda: link(rate="fast"),
                "Link.rate: `fast` is not a rate above zero such as `10Mb/s` or `32kbit`",
            ),
            (lambda: link(rate=10), "Link.rate: `10` is not text such as `10Mb/s`"),
            (lambda: link(delay=0.02), "Link.delay: `0.02` is not text such as `20ms`"),
            (lambda: link(name=None), "Link.name: `None` is not text"),
            (lambda: link(from_=1), "Link.from: `1` is not text"),
            (
                lambda: link(changes=({"at": "1s", "delay": "soon"},)),
                "Link.changes[0].delay: `soon` is not a duration such as `20ms` or `1.5s`",
            ),
            (
                lambda: Buffer(bytes="15 apples"),
                "Buffer.bytes: `15 apples` is not a size such as `150kB` or `64KiB`",
            ),
            (
                lambda: PacketLoss(probability=1.5),
                "PacketLoss.probability: `1.5` is not a number from 0 to 1",
            ),
            (
                lambda: PacketLoss(probability="200%"),  # type: ignore[arg-type]
                "PacketLoss.probability: `2.0` is not a number from 0 to 1",
            ),
            (
                lambda: BurstLoss(probability=0.1, run=math.inf),
                "BurstLoss.run: `inf` is not a finite number",
            ),
            (
                lambda: LogNormal(median=10**400, sigma=1),
                "LogNormal.median: `1000000000000000000000000000000000000…` is not a finite number",
            ),
            (
                lambda: transfers(sizes=(1000, math.nan)),
                "Transfers.sizes[1]: `nan` is not a whole number",
            ),
            (
                lambda: transfers(sizes=[Path("a")]),
                "Transfers.sizes[0]: `a` is not a whole number",
            ),
            (lambda: transfers(sizes=1000), "Transfers.sizes: `1000` is not a list"),
            (
                lambda: Tcp(profile="linux"),  # type: ignore[arg-type]
                (
                    "Tcp.profile: `linux` is not one of `ns2`, `bsd`, `rfc`, `linux-6.12`, "
                    "`linux-6.18`"
                ),
            ),
            (lambda: Tcp(nagle=1), "Tcp.nagle: `1` is not true or false"),  # type: ignore[arg-type]
        ],
    )
    def test_a_part_names_its_key(self, construct: Callable[[], object], message: str) -> None:
        with pytest.raises(ScenarioError) as caught:
            construct()
        assert str(caught.value) == message
        assert caught.value.hint

    @pytest.mark.parametrize(
        ("changes", "message", "hint"),
        [
            ({"duration": "long"}, "duration: `long` is not a duration such as", "Simulated time"),
            ({"duration": "0s"}, "duration: ", "Simulated time"),
            ({"link": ()}, "link: ", "Links of the network"),
            ({"trace": ("wbe",)}, "trace[0]: there is no workload `wbe`", "did you mean `web`?"),
            (
                {"tcp": Tcp(mss=3)},
                "tcp.mss: 3 is not a segment size from 8 to 65495",
                "Maximum segment size",
            ),
        ],
    )
    def test_a_scenario_names_the_path(
        self, small: Scenario, changes: dict[str, Any], message: str, hint: str
    ) -> None:
        with pytest.raises(ScenarioError) as caught:
            dataclasses.replace(small, **changes)
        assert str(caught.value).startswith(message)
        assert hint in (caught.value.hint or "")

    def test_every_way_of_construction_checks(self, small: Scenario, tmp_path: Path) -> None:
        wrong = SMALL.replace('of = "there"', 'of = "nowhere"')
        file = tmp_path / "wrong.toml"
        file.write_text(wrong, encoding="utf-8")
        data = small.to_dict()
        data["workload"][0]["of"] = "nowhere"
        web: Any = small.workload[0]
        elsewhere = dataclasses.replace(web, of="nowhere")
        ways: list[Callable[[], object]] = [
            lambda: small.with_value("workload.web.of", "nowhere"),
            lambda: Scenario.from_toml_text(wrong),
            lambda: Scenario.from_toml(file),
            lambda: Scenario.from_dict(data),
            lambda: dataclasses.replace(small, workload=(elsewhere,)),
        ]
        for way in ways:
            with pytest.raises(
                ScenarioError, match=r"workload\[0\]\.of: there is no link `nowhere`"
            ) as caught:
                way()
            assert caught.value.hint

    def test_captures_are_checked_too(self) -> None:
        wrongs: list[dict[str, Any]] = [{"place": "middle"}, {"snap_len": 20}]
        for wrong in wrongs:
            with pytest.raises(TcpsfError, match="cannot capture"):
                Pcap(path="x.pcapng", **wrong)


def scalars(declared: Any) -> Iterator[Any]:
    """Types without ``Annotated`` and ``None`` that a value may have."""
    found = codec._unwrap(declared)
    if found.origin in (Union, types.UnionType):
        for part in found.arguments:
            yield from scalars(part)
    elif found.type is not type(None):
        yield found


def numbers_of(cls: Any) -> Iterator[tuple[codec.Key, object, object]]:
    """Each key that takes a number or a list of numbers, with a NumPy value and the stored value."""
    for key in codec.keys_of(cls).values():
        for found in scalars(key.declared):
            if found.type is int:
                yield key, np.int64(7), 7
                yield key, np.array(8), 8
            elif found.type is float:
                yield key, np.float64(0.5), 0.5
                yield key, np.float32(0.25), 0.25
                yield key, np.int32(1), 1.0
            elif found.type is bool:
                yield key, np.bool_(True), True
            elif found.origin is Sequence and (item := get_args(found.type)[0]) in (int, float):
                yield key, np.array([1, 2]), (item(1), item(2))
                yield key, pl.Series([1, 2]), (item(1), item(2))
                yield key, [np.int64(1), 2], (item(1), item(2))
                yield key, range(1, 3), (item(1), item(2))


REQUIRED: dict[Any, Any] = {str: "x", int: 1, float: 0.5, bool: True}


def required_value(declared: Any) -> Any:
    """A valid value of a key that has no default."""
    found = next(scalars(declared))
    if found.quantity is not None:
        return found.quantity.example
    if found.origin is Literal:
        return found.arguments[0]
    if found.origin is Sequence:
        return ()
    return Sizes(fixed=1) if found.is_table else REQUIRED[found.type]


NUMBERS = [
    pytest.param(cls, key, given, stored, id=f"{cls.__name__}.{key.name}-{type(given).__name__}")
    for cls in CLASSES
    for key, given, stored in numbers_of(cls)
]


@pytest.mark.parametrize(("cls", "key", "given", "stored"), NUMBERS)
def test_numbers_of_numpy_are_numbers(
    cls: Any, key: codec.Key, given: object, stored: object
) -> None:
    required = {
        each.field: required_value(each.declared)
        for each in codec.keys_of(cls).values()
        if each.required
    }
    kept = getattr(cls(**{**required, key.field: given}), key.field)
    assert kept == stored
    assert type(kept) is type(stored)
    plain = cls(**{**required, key.field: stored})
    assert cls(**{**required, key.field: given}) == plain
    assert hash(cls(**{**required, key.field: given})) == hash(plain)


def test_there_are_many_numbers() -> None:
    assert len(NUMBERS) > 100
    assert {param.values[0] for param in NUMBERS} >= {Greedy, Poisson, Tcp, Red, PacketLoss, Sizes}


def test_points_may_be_an_array() -> None:
    points = np.array([[100, 0.0], [200, 1.0]])
    with pytest.raises(ScenarioError, match=r"Sizes\.cdf\[0\]\[0\]: `100.0` is not a whole number"):
        Sizes(cdf=points)  # type: ignore[arg-type]
    assert Sizes(cdf=[(np.int64(100), 0), [200, np.float32(1)]]).cdf == ((100, 0.0), (200, 1.0))  # type: ignore[list-item]


def test_lists_of_objects_are_stored_as_tuples(small: Scenario) -> None:
    """Lists need no `type: ignore`: `mypy --strict` checks this file."""
    sizes = [100, 200]
    load = Transfers(name="t", from_="a", to="b", sender="reno / full / iw=1", sizes=sizes)
    samples = Samples(every="1s", links=["there"], workloads=["t"])
    links = [*small.link, dataclasses.replace(small.link[0], name="more", changes=[])]
    again = Scenario(
        name="lists", duration="1s", link=links, workload=[load], samples=samples, trace=["t"]
    )
    assert again.link == tuple(links)
    assert (again.workload, again.trace) == ((load,), ("t",))
    assert (load.sizes, samples.links, samples.workloads) == ((100, 200), ("there",), ("t",))
    sizes.append(300)
    assert load.sizes == (100, 200)
    assert Sizes(classes=[1, 2], weights=[1.0, 3.0]).weights == (1.0, 3.0)


def test_lists_and_tables_of_plain_data_become_objects(small: Scenario) -> None:
    data = small.to_dict()
    again = Scenario(
        name=data["name"],
        duration=data["duration"],
        drain=data["drain"],
        link=data["link"],
        workload=list(small.workload),
        tcp=data["tcp"],
    )
    assert again == small
    assert hash(again) == hash(small)
    assert isinstance(again.workload, tuple)


@pytest.mark.parametrize("made", [lambda s: s, lambda s: s.link[0], lambda s: s.workload[0]])
def test_scenarios_have_copies(small: Scenario, made: Callable[[Scenario], object]) -> None:
    value = made(small)
    for copied in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):  # noqa: S301
        assert copied == value
        assert type(copied) is type(value)


class TestDisplays:
    def test_a_scenario_is_short(self, small: Scenario) -> None:
        assert repr(small) == "<Scenario 'small': 2 links, 2 workloads, 20s>"
        one = dataclasses.replace(small, workload=small.workload[1:])
        assert repr(one) == "<Scenario 'small': 2 links, 1 workload, 20s>"

    def test_a_part_has_no_default_values(self, small: Scenario) -> None:
        assert repr(small.link[1]) == "Link(name='back', from_='b', to='a', delay='20ms')"
        assert repr(Tcp()) == "Tcp()"
        for part in (*small.link, *small.workload, small.tcp):
            assert eval(repr(part), dict(vars(scenario))) == part  # noqa: S307
        many = repr(transfers(sizes=range(1000)))
        assert many == "Transfers(name='t', from_='a', to='b', sizes=(0, 1, 2, 3, 4, 5, 6, 7, …))"

    def test_html_has_every_key(self, small: Scenario) -> None:
        loss = PacketLoss(probability=0.5)
        named: list[Workload] = [dataclasses.replace(small.workload[1], name="<b>")]
        shown = dataclasses.replace(
            small,
            link=(dataclasses.replace(small.link[0], loss=loss), small.link[1]),
            workload=(
                *small.workload,
                *named,
                transfers(sizes=range(1, 11), sender="reno / full / iw=1"),
            ),
        )
        html = shown._repr_html_()
        assert "<b>" not in html
        rows = Tables(html).rows
        assert len(rows) == 3 + len(small.link) + 4 + len(["name", "duration", "drain", "tcp"])
        cells = {cell for row in rows for cell in row}
        assert {"<b>", "2Mb/s", "bytes = 15kB", "kind = packet, probability = 0.5"} <= cells
        assert {"1, 2, 3, 4, … (10)", "classes = [500, 5000, 50000]", "profile = ns2"} <= cells
