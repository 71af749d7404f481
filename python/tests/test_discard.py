"""Cells, ports and what they discard, and the other disciplines of a queue, as a user sees them."""

from __future__ import annotations

import pytest

from tcpsf import Balanced, Buffer, CoDel, Discard, Greedy, Link, Scenario, ScenarioError, Tcp, run


def switch(buffer: Buffer, *, duration: str = "10s", inputs: int = 5) -> Scenario:
    """Lead so many lines of 30 Mb/s, each with a greedy flow, to a port of 75 Mb/s."""
    links = [
        Link(name="port", from_="switch", to="sink", rate="75Mb/s", delay="300us", buffer=buffer),
        Link(name="back", from_="sink", to="switch", rate="75Mb/s", delay="300us", cells="aal5"),
    ]
    flows = []
    for number in range(inputs):
        host = f"host{number}"
        for name, from_, to in ((f"in{number}", host, "switch"), (f"out{number}", "switch", host)):
            links.append(
                Link(name=name, from_=from_, to=to, rate="30Mb/s", delay="300us", cells="aal5")
            )
        sender = "reno / full / iw=1"
        flows.append(
            Greedy(
                name=f"flow{number}",
                from_=host,
                to="sink",
                flows=1,
                start=f"{number}ms",
                sender=sender,
            )
        )
    tcp = Tcp(profile="ns2", mss=536, header="40B", receive_buffer="64kB")
    return Scenario(
        name="switch", duration=duration, link=tuple(links), workload=tuple(flows), tcp=tcp
    )


BPD = Discard(policy="bpd", lower=0.4, upper=0.9, gap=25)


def test_a_port_has_books_of_cells_and_others_have_none() -> None:
    links = run(switch(Buffer(cells=1200, discard=BPD)), seed=1).links
    port, *others = links.to_dicts()
    assert (
        port["offered_cells"]
        == port["delivered_cells"] + port["dropped_cells"] + port["held_cells"]
    )
    assert port["dropped_cells"] > 0
    assert port["wasted_cells"] > 0
    assert all(link["offered_cells"] is None for link in others)


def test_balanced_discard_saves_timeouts_with_cells_and_with_packets() -> None:
    def timeouts(buffer: Buffer) -> int:
        return int(run(switch(buffer), seed=1).flows["timeouts"].sum())

    early = timeouts(Buffer(cells=1200, discard=Discard(policy="epd", threshold=0.7)))
    assert timeouts(Buffer(cells=1200, discard=BPD)) * 4 < early
    balanced = Balanced(lower=0.4, upper=0.9, gap=25)
    assert timeouts(Buffer(packets=100, balanced=balanced)) * 4 < timeouts(Buffer(packets=100))


def test_controlled_delay_drops_before_the_buffer_is_full() -> None:
    def dropped(buffer: Buffer) -> tuple[int, int]:
        port = run(switch(buffer), seed=1).links.row(0, named=True)
        return port["dropped_early_packets"], port["dropped_buffer_packets"]

    early, full = dropped(Buffer(packets=100, codel=CoDel(target="1ms", interval="20ms")))
    assert early > 100
    assert full < dropped(Buffer(packets=100))[1]


def test_a_scenario_of_cells_survives_being_written() -> None:
    scenario = switch(Buffer(cells=400, discard=Discard(policy="ppd", circuit="workload")))
    assert Scenario.from_toml_text(scenario.to_toml()) == scenario
    assert (
        scenario.with_value("link.port.buffer.discard.policy", "plain").link[0].buffer
        != scenario.link[0].buffer
    )


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (Buffer(cells=9, bytes="1kB"), "link[0].buffer.bytes: does not go with `cells`"),
        (
            Buffer(packets=9, discard=BPD),
            "link[0].buffer.discard: goes with `cells`, not with `bytes` or `packets`",
        ),
        (
            Buffer(cells=9, discard=Discard(policy="epd")),
            "link[0].buffer.discard.threshold: missing; kind `epd` needs it",
        ),
        (
            Buffer(packets=9, codel=CoDel(target="1s")),
            "link[0].buffer.codel.target: CoDel with a target of 1s and an interval of 0.1s is impossible",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(buffer: Buffer, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        run(switch(buffer), seed=1)
    assert str(caught.value).startswith(message)
