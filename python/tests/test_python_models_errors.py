"""Models written in Python that fail, that are wrong, or that are interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from example_models import AcceptAll, Bernoulli, Reno, with_first_link

from tcpsf import PacketLoss, Pcap, Scenario, TcpsfError, replicate, run
from tcpsf.python_models import (
    AckFacts,
    ControllerStart,
    PacketFacts,
    QueueFacts,
    ReductionFacts,
)


class FaultError(Exception):
    pass


class Faulty(Bernoulli):
    def loses(self, packet: PacketFacts) -> bool:
        if packet.time_s > 5:
            raise FaultError("no more")
        return False


class FaultyQueue:
    def __init__(self) -> None:
        raise FaultError("no queue")

    def decide(self, _packet: QueueFacts) -> str:
        return "accept"


class FaultyController(Reno):
    def on_ack(self, _ack: AckFacts) -> None:
        raise OSError(5, "a model's own error")


class UnpackedFault(Bernoulli):
    def loses(self, _packet: PacketFacts) -> bool:
        raise ValueError("a model's own error")


@pytest.mark.parametrize(
    ("models", "error", "method"),
    [
        ({"loss": {"there": Faulty}}, FaultError, "loses"),
        ({"loss": {"there": UnpackedFault}}, ValueError, "loses"),
        ({"queue": {"there": FaultyQueue}}, FaultError, "__init__"),
        ({"controllers": {"web": FaultyController}}, OSError, "on_ack"),
    ],
)
@pytest.mark.parametrize("captured", [False, True])
def test_exceptions_propagate_with_their_traceback(
    small: Scenario,
    tmp_path: Path,
    models: Any,
    error: type[Exception],
    method: str,
    captured: bool,
) -> None:
    pcap = Pcap(path=tmp_path / "run.pcapng") if captured else None
    with pytest.raises(error) as raised:
        run(small, pcap=pcap, **models)
    assert raised.traceback[-1].name == method
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(error):
        replicate(small, seeds=[1, 2, 3], workers=2, **models)


class Undecided:
    def loses(self, _packet: PacketFacts) -> None:
        return None


class Misspelt:
    def decide(self, _packet: QueueFacts) -> str:
        return "acept"


class Closed(Reno):
    def on_loss(self, _loss: ReductionFacts) -> None:
        self.cwnd = 0


class Textual(Reno):
    def __init__(self, start: ControllerStart) -> None:
        super().__init__(start)
        self.ssthresh = "high"  # type: ignore[assignment]


class Bare:
    """No base class, and no method."""

    cwnd = ssthresh = 1

    def __init__(self, _start: ControllerStart) -> None: ...


@pytest.mark.parametrize(
    ("models", "message", "hint"),
    [
        (
            {"loss": {"thre": Bernoulli}},
            "cannot use a Python model: loss: there is no link `thre`",
            "did you mean `there`?",
        ),
        (
            {"queue": {"web": AcceptAll}},
            "cannot use a Python model: queue: there is no link `web`",
            "known: there, back",
        ),
        (
            {"controllers": {"wbe": Reno}},
            "cannot use a Python model: controllers: there is no workload `wbe`",
            "did you mean `web`?",
        ),
        (
            {"loss": {"there": Bernoulli()}},
            'cannot use `loss["there"]`: <example_models.Bernoulli object',
            "pass the class itself: every run needs a new model",
        ),
        ({"loss": Bernoulli}, "cannot use `loss`: expected a mapping", "for example"),
        (
            {"loss": {"there": AcceptAll}},
            "cannot use a Python model: `example_models.AcceptAll` has no method `loses`",
            "pass the class or a function that makes the model, without calling it",
        ),
        (
            {"controllers": {"web": Bare}},
            "cannot use a Python model: `test_python_models_errors.Bare` has no method `on_ack`",
            "derive the class from `tcpsf.CongestionController`",
        ),
        (
            {"loss": {"there": Undecided}},
            (
                "cannot use a Python model: `Undecided.loses` returned `None`, expected `True` or `False`"
            ),
            "each path through the method needs a `return`",
        ),
        (
            {"queue": {"there": Misspelt}},
            (
                "cannot use a Python model: `Misspelt.decide` returned `'acept'`, expected `accept`, `mark` or `drop`"
            ),
            "each path through the method needs a `return`",
        ),
        (
            {"controllers": {"greedy": Closed}},
            (
                "cannot use a Python model: `test_python_models_errors.Closed.cwnd` is `0`, expected a number"
            ),
            "sizes and windows are in bytes, not in segments",
        ),
        (
            {"controllers": {"greedy": Textual}},
            "cannot use a Python model: `test_python_models_errors.Textual.ssthresh` is `'high'`",
            "sizes and windows are in bytes, not in segments",
        ),
    ],
)
def test_wrong_models_are_errors_with_a_hint(
    small: Scenario, models: Any, message: str, hint: str
) -> None:
    with pytest.raises(TcpsfError) as raised:
        run(small, **models)
    assert str(raised.value).startswith(message)
    assert raised.value.hint is not None
    assert raised.value.hint.startswith(hint)


def test_a_model_does_not_replace_one_of_the_scenario(small: Scenario) -> None:
    lossy = with_first_link(small, loss=PacketLoss(probability=0.1))
    with pytest.raises(TcpsfError, match="link `there` already has a loss model") as raised:
        run(lossy, loss={"there": Bernoulli})
    assert raised.value.hint == "remove it from the scenario: `link[0].loss`"


ENDLESS = """
import sys, tcpsf
from tcpsf.papers.smart_framing import CLASSIC, web_scenario

class Slow:
    def loses(self, packet):
        if packet.packet == 0 and packet.flow_index == 3:
            print("running", flush=True)
        return sum(range(100)) < 0

web = web_scenario(sender=CLASSIC.sender, duration="100000s")
models = {link.name: Slow for link in web.link[:1]}
if sys.argv[1] == "run":
    tcpsf.run(web, loss=models)
else:
    tcpsf.replicate(web, seeds=[1, 2], workers=2, loss=models)
"""


@pytest.mark.parametrize("function", ["run", "replicate"])
def test_ctrl_c_ends_a_run_with_a_model(function: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, function],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "running" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0
