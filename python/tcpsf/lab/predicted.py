"""Predictions of the simulator for cells of a laboratory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tcpsf import _core
from tcpsf.distribution import Distribution
from tcpsf.lab.grid import LabCell, LabPath
from tcpsf.runs import run
from tcpsf.scenario import Scenario

RESPONSES: Final = 20_000
"""Number of simulated responses."""
HEADER: Final = 60
"""Bytes of the header of a response, about."""
SMALL_PACKETS: Final = 3
"""Packets towards the client of a request besides the response: SYN-ACK, acknowledgments of the
request and of the FIN. They matter where a link has a limit."""
MEAN_WINDOW: Final = 0.85
"""Mean window of CUBIC as a share of its maximum, which it decreases to 0.7 (RFC 9438 §4.6)."""
PACKET: Final = 1500
"""Bytes of a packet in a queue that counts packets."""
JITTER: Final = {"kind": "uniform", "by": "0.15ms"}
"""Variation of the delay of acknowledgments: half of the round trips are shorter than that of the
handshake.

Live round trips are so, because the time of the programs and of the kernel varies. RACK ignores the
acknowledgment of a retransmission that arrives in less than the minimum round-trip time (RFC 8985
§6.2, step 2). Then a timeout repairs what a tail loss probe has revealed. Without a variation this
would never happen.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabPrediction:
    """Simulated responses of a cell."""

    times: Distribution
    """Time from the request to the last byte: half a round-trip time more than the transfer."""
    unfinished: int
    """Responses that had not ended at the end of the simulation."""


def predict(cell: LabCell, *, rate: float, seed: int, responses: int = RESPONSES) -> LabPrediction:
    """Simulate the responses of a cell with Linux's sender.

    Requests begin at ``rate`` per second, each on a new connection whose handshake has measured the
    round-trip time. The small packets of the connections share the link at random times. The run ends
    after about ``responses`` requests.
    """
    path = cell.path
    scenario = Scenario.from_dict(
        {
            "name": "lab",
            "duration": f"{responses / rate:.3f}s",
            "tcp": {"profile": "linux-6.18", "rtt_initial": _nanoseconds(_handshake_s(path))},
            "link": [
                {"name": "down", "from": "server", "to": "client"} | path.link(),
                {
                    "name": "up",
                    "from": "client",
                    "to": "server",
                    "delay": _nanoseconds(path.rtt_s / 2),
                    # Two acknowledgments never arrive at the same time, as in the kernel.
                    "rate": "10Gb/s",
                    "jitter": JITTER,
                },
            ],
            "workload": [
                {
                    "name": "responses",
                    "kind": "poisson",
                    "from": "server",
                    "to": "client",
                    "rate": rate,
                    "sizes": {"classes": [size + HEADER for size in cell.sizes]},
                    "sender": "linux" if cell.policy is None else cell.policy.sender,
                },
                *_small_packets(cell, rate),
                *_downloads(path.downloads),
            ],
        }
    )
    flows = run(scenario, seed=seed).flows
    flows = flows.filter(flows["workload"] == "responses")
    done = flows["receiver_s"].drop_nulls()
    request_s = path.rtt_s / 2
    times = Distribution(round((each + request_s) * 1e9) for each in done)
    return LabPrediction(times=times, unfinished=len(flows) - len(done))


def _handshake_s(path: LabPath) -> float:
    """Return the round-trip time of a handshake, which passes the queue that downloads keep."""
    if not path.downloads or path.rate is None or path.queue is None:
        return path.rtt_s
    size = path.packets * PACKET if path.packets else _core.bytes(path.queue)
    longest_s = path.rtt_s + 8 * size / _core.bits_per_second(path.rate)
    return max(path.rtt_s, MEAN_WINDOW * longest_s)


def _small_packets(cell: LabCell, rate: float) -> list[dict[str, object]]:
    """Return the workload of packets with one byte, on a link with a limit."""
    small = {
        "name": "small packets",
        "kind": "poisson",
        "from": "server",
        "to": "client",
        "rate": SMALL_PACKETS * rate,
        "sizes": {"classes": [1]},
        "sender": "linux",
    }
    return [] if cell.path.rate is None and cell.path.police is None else [small]


def _downloads(number: int) -> list[dict[str, object]]:
    """Return the workload of long downloads beside the responses."""
    beside = {
        "name": "downloads",
        "kind": "greedy",
        "from": "server",
        "to": "client",
        "flows": number,
        "sender": "linux",
    }
    return [beside] if number else []


def _nanoseconds(seconds: float) -> str:
    return f"{1e9 * seconds:.0f}ns"
