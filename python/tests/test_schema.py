"""The JSON Schema of a scenario: it accepts what the simulator accepts, and refuses wrong names and types."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import Command

from tcpsf import Scenario, ScenarioError
from tcpsf.cli.app import SCHEMAS
from tcpsf.scenario.schema import json_schema

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"

EVERYTHING = """
name = "everything"
duration = "2 s"
warm_up = ".5s"
trace = ["list"]

[samples]
every = "1.5 s"
workloads = ["web"]
links = ["there"]

[tcp]
profile = "ns2"
mss = 1000
rto_min = ".01 min"
ssthresh_initial = "64KiB"
nagle = false

[[link]]
name = "there"
from = "a"
to = "b"
rate = "10 Mbit"
delay = "20ms"
changes = [{ at = "1s", delay = "10ms" }]
reorder = { probability = "1 %", by = "3ms" }
buffer = { bytes = "30kB", red = { min_bytes = "3kB", max_bytes = "9kB", max_p = 0.1 } }
loss = { kind = "burst", probability = "0.5%", run = 2 }

[[link]]
name = "back"
from = "b"
to = "a"
rate = "512KBIT"
loss = { kind = "mask", drops = "1,0" }

[[route]]
from = "a"
to = "b"
via = ["there"]

[[workload]]
name = "web"
kind = "poisson"
from = "a"
to = "b"
load = 1
of = "there"
sizes = { cdf = [[1, 0], [1000, 1]] }
senders = [{ sender = "reno / full / iw=1", share = 1 }, { sender = "tahoe / fs(n=4) / iw=2", share = 3 }]
handshake = true
opener = "receiver"
tcp = { ack_every = 2, ack_delay = "100ms" }

[[workload]]
name = "list"
kind = "transfers"
from = "a"
to = "b"
sizes = [1, 2]
sender = "vegas / full / iw=rfc3390"

[[workload]]
name = "endless"
kind = "greedy"
from = "a"
to = "b"
flows = 2
sender = "santa-cruz(n=3) / full / iw=1"
"""


def valid(data: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(json_schema()).is_valid(data))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: str(path.name))
def test_examples_are_valid(path: Path) -> None:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    assert valid(data)
    assert valid(Scenario.from_toml(path).to_dict())


def test_every_table_and_spelling_is_valid() -> None:
    data = tomllib.loads(EVERYTHING)
    assert _checked(data)
    jsonschema.validate(data, json_schema())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("link.there.rtae", "1Mb/s"),
        ("link.there.rate", 10),
        ("link.there.rate", "10MB/s"),
        ("link.there.delay", "20"),
        ("link.there.loss", {"kind": "packets", "probability": 0.1}),
        ("link.there.loss", {"kind": "packet"}),
        ("link.there.buffer.packets", 1.5),
        ("workload.web.handshake", "yes"),
        ("workload.web.kind", "posson"),
        ("workload.list.sizes", "many"),
        ("tcp.profile", "linux"),
        ("samples.every", 1),
    ],
)
def test_what_the_schema_refuses_the_simulator_refuses_too(path: str, value: object) -> None:
    data: Any = tomllib.loads(EVERYTHING)
    *parents, last = path.split(".")
    target = data
    for part in parents:
        target = (
            next(entry for entry in target if entry["name"] == part)
            if isinstance(target, list)
            else target[part]
        )
    target[last] = value
    assert not valid(data)
    with pytest.raises(ScenarioError):
        _ = Scenario.from_dict(data).to_json() and _checked(data)


def _checked(data: Any) -> bool:
    from tcpsf import run

    run(Scenario.from_dict(data), seed=1)
    return True


def test_the_command_prints_it(tcpsf: Command) -> None:
    assert json.loads(tcpsf("schema").out) == json_schema()
    assert json.loads(tcpsf("schema", "sim").out)["$schema"]
    files = resources.files("tcpsf.report").joinpath("schema").iterdir()
    assert {f"{name}.json" for name in SCHEMAS} == {"scenario.json", *(file.name for file in files)}
    wrong = tcpsf("schema", "scenarios")
    assert wrong.status == 2
    assert "scenarios" in wrong.err
