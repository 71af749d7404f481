"""What several tests use: a small scenario, and a line to run the command with."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from link_machine import container, internet, machine, unchanged  # noqa: F401 (fixtures)

from tcpsf import Buffer, Greedy, Link, Poisson, Scenario, Sizes, Tcp
from tcpsf.cli import main

# Under `nohup` SIGHUP is ignored, and in the background of a shell script SIGINT and SIGQUIT are.
# Commands that tests start inherit that, and then these signals do not end them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines are shared, so no test depends on absolute times, and no example is too slow.
settings.register_profile(
    "shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared machine")

REPOSITORY = Path(__file__).resolve().parents[2]

LIVE = ("cure", "fetch", "host", "lab", "link", "live", "preload", "short_flows_live", "testbed")
"""Beginnings of the names of test files that run programs in network namespaces."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark live tests. Others may run beside each other, and these depend on the machine's load."""
    for item in items:
        if item.path.stem.removeprefix("test_").startswith(LIVE):
            item.add_marker(pytest.mark.live)


SMALL = """\
name = "small"
duration = "20s"
drain = "0s"

[[link]]
name = "there"
from = "a"
to = "b"
rate = "2Mb/s"
delay = "20ms"
buffer = { bytes = "15kB" }

[[link]]
name = "back"
from = "b"
to = "a"
delay = "20ms"

[[workload]]
name = "web"
kind = "poisson"
from = "a"
to = "b"
load = 0.9
of = "there"
sizes = { classes = [500, 5000, 50000] }
sender = "reno+sack / fs(n=4) / iw=1"

[tcp]
profile = "ns2"
"""


@pytest.fixture
def small() -> Scenario:
    """Twenty seconds of a busy link: a few hundred flows, losses among them."""
    link = Link(
        name="there", from_="a", to="b", rate="2Mb/s", delay="20ms", buffer=Buffer(bytes="15kB")
    )
    back = Link(name="back", from_="b", to="a", delay="20ms")
    sender = "reno+sack / fs(n=4) / iw=1"
    return Scenario(
        name="small",
        duration="20s",
        drain="0s",
        link=(link, back),
        workload=(
            Poisson(
                name="web",
                from_="a",
                to="b",
                load=0.9,
                of="there",
                sizes=Sizes(classes=(500, 5000, 50000)),
                sender=sender,
            ),
            Greedy(name="greedy", from_="a", to="b", flows=2, spread="1s", sender=sender),
        ),
        tcp=Tcp(profile="ns2"),
    )


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    """A scenario file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Answer:
    """Exit status and output of a command line."""

    status: int
    out: str
    err: str


Command = Callable[..., Answer]
"""The fixture `tcpsf`: runs the command with the given words."""


@pytest.fixture
def tcpsf(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
    """Run the command line in this process, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    for forced in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(forced, raising=False)

    def call(*arguments: str | Path) -> Answer:
        status = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Answer(status, captured.out, captured.err)

    return call
