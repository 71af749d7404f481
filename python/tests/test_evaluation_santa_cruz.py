"""The Santa Cruz evaluation, with two runs a point: rows against an independent simulator, and what is kept of runs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from conftest import Command
from test_cli import schema

from tcpsf import Scenario, ScenarioError, TcpsfError, run, stats
from tcpsf.evaluation.data import Report, TableCell
from tcpsf.evaluation.evaluate import evaluate
from tcpsf.evaluation.plan import Case, Scale, make, plan
from tcpsf.evaluation.watch import Delay, Delays, Rows
from tcpsf.pages import claims
from tcpsf.papers import santa_cruz as paper
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.santa_cruz import (
    SCALES,
    direction,
    path_changes,
    prepare,
    queue_states,
    readings,
    recovery,
    states,
)
from tcpsf.reproduce.santa_cruz.exhibit_parts import RunQuantities, case, exhibit
from tcpsf.scenario import Loss, MaskLoss
from tcpsf.store import Store
from tcpsf.summary import RunSummary

TINY = Scale("quick", 2, paper.DURATION)
FIGURES = {f"fig-{number}{part}" for number in (8, 9, 11, 13) for part in ("", "-queue")} | {
    "direction-curves",
    "states-queue-alone",
    "states-queue-back",
}
TABLES = {
    "table-2",
    "delta",
    "table-3",
    "table-3-split",
    "table-4",
    "table-4-9",
    "readings",
    "readings-3",
    "readings-4",
    "fig-1",
    "direction",
    "direction-reordered",
    "states",
    "states-windows",
    "states-agreement",
    "several-losses",
    "several-losses-vain",
    "ack-loss",
    "ack-loss-timeouts",
    "no-back-off",
    "no-back-off-idle",
    "no-back-off-cost",
    "fairness",
    "coexistence",
    "wireless",
    "delayed-acks",
    "small-window",
    "path-change",
    "path-change-queue",
    "path-change-timeouts",
    "out-of-order",
    "out-of-order-resent",
}
DELAYS = Delays(workload=paper.SOURCE)


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluate(prepare(scale=TINY, seed=11))


def values(report: Report, table: str, row: str) -> list[float]:
    (found,) = (each for section in report.sections for each in section.tables if each.key == table)
    (cells,) = (each.cells for each in found.rows if each.label == row)
    return [
        cell.ours.value for cell in cells if isinstance(cell, TableCell) and cell.ours is not None
    ]


def only_run(scenario: Scenario, *, seed: int = 1) -> RunSummary:
    wanted = Case(scenario=scenario, watches=(DELAYS,))
    (made,) = make(plan([wanted], seeds=[seed])).of(wanted)
    return made


def delay_of(scenario: Scenario) -> Delay:
    return DELAYS.of(only_run(scenario))


# What it holds


def test_every_figure_and_table_is_there(report: Report) -> None:
    shown = [figure for section in report.sections for figure in section.figures]
    tables = [table for section in report.sections for table in section.tables]
    assert Counter(each.key for each in shown) == Counter(FIGURES)
    assert claims.without_claims({"santa-cruz": report}) == []
    assert Counter(each.key for each in tables) == Counter(TABLES)
    assert all(len(series.points) > 150 for figure in shown for series in figure.series)
    for table in tables:
        assert all(len(row.cells) == len(table.columns) - 1 for row in table.rows)
    keys = [finding.key for section in report.sections for finding in section.findings]
    assert len(keys) == len(set(keys)) > 60


def test_table_2_against_an_independent_simulator(report: Report) -> None:
    """ns-2 gives Vegas 1.405 Mb/s, 55.25 ms, 0.0076e-3 s²; Reno 1.452 and, until data are in order, 100.2 and 1.93."""
    assert values(report, "table-2", "Vegas (1,3)") == pytest.approx(
        [1.405, 0.937, 55.25, 0.0076], rel=0.005
    )
    assert values(report, "table-2", "Reno") == pytest.approx([1.452, 0.968, 100.2, 1.93], rel=0.06)


def test_vegas_over_asymmetric_links_is_the_papers(report: Report) -> None:
    found = values(report, "table-4", "Vegas (1,3)")
    row = paper.VEGAS.asymmetric
    assert found[:3] == pytest.approx(
        [row.throughput_mbps, row.utilisation, row.delay_ms], rel=0.02
    )


def test_no_interval_of_a_share_leaves_the_range_of_shares(report: Report) -> None:
    tables = {table.key: table for section in report.sections for table in section.tables}
    for key, most in (("fairness", 1.0), ("coexistence", 100.0), ("out-of-order-resent", 100.0)):
        cells = [
            cell.ours for row in tables[key].rows for cell in row.cells if not isinstance(cell, str)
        ]
        seen = [
            found.interval for found in cells if found is not None and found.interval is not None
        ]
        assert seen
        assert all(0.0 <= low <= high <= most for low, high in seen)
    findings = {finding.key: finding for section in report.sections for finding in section.findings}
    busy = [
        found
        for key, found in findings.items()
        if key.endswith("-utilisation") and found.estimate is not None
    ]
    assert busy
    assert all(found.estimate.high <= 100.0 for found in busy if found.estimate is not None)


def test_published_rows_agree_with_themselves() -> None:
    """Utilisation is throughput over the line's rate, to the digit printed; that is where Fig. 12's rate comes from."""
    for sender in paper.SENDERS:
        for row, rate in (
            (sender.basic, paper.BOTTLENECK_BPS),
            (sender.reverse, paper.BOTTLENECK_BPS),
            (sender.asymmetric, paper.ASYMMETRIC_BPS),
        ):
            assert row.utilisation == pytest.approx(1e6 * row.throughput_mbps / rate, abs=0.011)


def test_the_report_in_all_its_forms(report: Report) -> None:
    content = json.loads(json.dumps(report.to_dict()))
    jsonschema.validate(content, schema("evaluation"))
    assert content["provenance"]["command"] == "tcpsf reproduce santa-cruz --quick --seed 11"
    for scenario in content["provenance"]["scenarios"].values():
        assert Scenario.from_dict(scenario).to_dict() == scenario
    assert max(map(len, as_text(report).splitlines())) <= 80
    assert "TCP Santa Cruz" in page(report)


def test_how_the_delay_is_split_matters_only_with_traffic_on_the_way_back() -> None:
    """Any split makes the same 40 ms, so that one flow alone sees no difference."""
    alone = [
        delay_of(paper.basic(sender=paper.VEGAS.sender, access_ms=split))
        for split in paper.SPLITS_MS
    ]
    assert max(each.mean_s for each in alone) - min(each.mean_s for each in alone) < 1e-4
    beside = [
        delay_of(paper.reverse(sender=paper.VEGAS.sender, access_ms=split)) for split in (2, 18)
    ]
    assert beside[0].mean_s - beside[1].mean_s > 5e-3


def test_only_some_and_from_kept_runs(tmp_path: Path) -> None:
    wanted = prepare(scale=TINY, seed=11, only=["table-2", "fig-8", "fairness"])
    heard: list[int] = []
    fresh, again = (
        evaluate(wanted, store=Store(tmp_path), workers=1, found=heard.append) for _ in range(2)
    )
    assert [section.key for section in fresh.sections] == ["basic", "fairness"]
    assert heard == [0, len(wanted.plan.runs)]
    assert [each.to_dict() for each in fresh.sections] == [
        each.to_dict() for each in again.sections
    ]
    with pytest.raises(TcpsfError, match="no figure or table is called `fig-10`"):
        prepare(only=["fig-10"])


def test_the_command(tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCALES, "quick", TINY)
    out = tmp_path / "out"
    answer = tcpsf("reproduce", "santa-cruz", "--only", "table-2", "--out", out)
    assert answer.status == 0
    assert answer.err == f"5 runs\n\nThe report: {(out / 'santa-cruz.html').as_uri()}\n"
    assert "Vegas (1,3): the row's delay, within 5 %" in answer.out
    names = {"santa-cruz.html", "report.json", "provenance.json", "data", ".runs"}
    assert {path.name for path in out.iterdir()} == names


# What is kept of a run


def test_delays_are_those_of_the_packets() -> None:
    """Without loss a delay is the packet's own way, and the least of them what the paper says: 47 ms."""
    scenario = paper.basic(sender=paper.VEGAS.sender)
    kept = delay_of(scenario)
    packets = run(scenario, seed=1).packets.filter(
        pl.col("from").cast(pl.String) == "sender", pl.col("payload_bytes") > 0
    )
    sent = packets.filter(pl.col("event").cast(pl.String) == "sent").select("packet", sent="time_s")
    came = packets.filter(pl.col("event").cast(pl.String) == "arrived").select(
        "packet", came="time_s"
    )
    ways = sent.join(came, on="packet").select(way=pl.col("came") - pl.col("sent"))["way"]
    assert kept.delivered_packets == kept.arrived_packets == ways.len()
    assert kept.arrived_bytes == paper.MSS * ways.len()
    assert kept.mean_s == pytest.approx(ways.mean())
    assert kept.variance_s2 == pytest.approx(ways.var(ddof=0))
    assert ways.min() == pytest.approx(1e-3 * (paper.DELAY_MS + paper.FORWARDING_MS), abs=1e-4)


def test_what_waits_for_a_lost_packet_is_delayed_with_it() -> None:
    """Five packets leave at once, the second is lost: the three behind it are handed over when its copy comes."""
    loss: Loss = MaskLoss(drops="0,1")
    network = paper.basic(sender="fixed(n=5) / full / iw=1", duration="1s")
    lossy = replace(
        network,
        link=tuple(
            replace(each, loss=loss) if each.name == "last" else each for each in network.link
        ),
    )
    plain, kept = delay_of(network), delay_of(lossy)
    assert kept.variance_s2 > 10 * plain.variance_s2
    # Copy and original together are one packet's data.
    assert kept.arrived_packets >= kept.delivered_packets
    packets = run(lossy, seed=1).packets.filter(pl.col("payload_bytes") > 0).sort("time_s")
    first = packets.filter(
        (pl.col("seq") == 1 + paper.MSS) & (pl.col("event").cast(pl.String) == "sent")
    )["time_s"][0]
    copy = packets.filter(
        (pl.col("seq") == 1 + paper.MSS) & (pl.col("event").cast(pl.String) == "arrived")
    )["time_s"]
    assert copy.len() == 1
    assert copy[0] - first > 0.15


def test_samples_and_bytes_are_kept() -> None:
    scenario = paper.basic(sender=paper.RENO.sender, flows=2, spread="1s", duration="3s")
    samples = Rows(
        table="samples",
        columns=("time_s", "object", "quantity", "value"),
        where=(("object", (paper.FORWARD,)), ("quantity", ("queue_packets",))),
    )
    flows = Rows(table="flows", columns=("received_bytes",))
    wanted = Case(scenario=scenario, watches=(samples, flows))
    (kept,) = make(plan([wanted], seeds=[4])).of(wanted)
    result = run(scenario, seed=4)
    rows = result.samples.filter(
        pl.col("object").cast(pl.String) == paper.FORWARD,
        pl.col("quantity").cast(pl.String) == "queue_packets",
    )
    curve = list(samples.curve(kept, object=paper.FORWARD, quantity="queue_packets"))
    assert curve == list(zip(rows["time_s"], rows["value"], strict=True))
    assert len(curve) > 40
    assert [row["received_bytes"] for row in flows.of(kept)] == result.flows[
        "received_bytes"
    ].to_list()


def test_measured_values_are_of_whole_packets() -> None:
    wanted = case(paper.basic(sender=paper.VEGAS.sender), once=True)
    seen: list[RunQuantities] = []

    def build(runs: dict[str, list[RunQuantities]]) -> None:
        seen.extend(runs["vegas"])

    made = make(plan([wanted], seeds=[1]))
    exhibit("x", "y", {"vegas": wanted}, build, rate_bps=paper.BOTTLENECK_BPS, what="z").build(made)  # type: ignore[arg-type]
    (found,) = seen
    assert found.throughput_mbps == pytest.approx(8e-6 * 1000 * 1756 / 10)
    assert max(found.cwnd) < 20


@pytest.mark.parametrize(
    ("shares", "index"), [([5.0, 5.0, 5.0], 1.0), ([1.0, 0.0, 0.0, 0.0], 0.25), ([3.0, 1.0], 0.8)]
)
def test_jains_index(shares: list[float], index: float) -> None:
    assert stats.jain(shares) == pytest.approx(index)


# Readings, direction, recovery


def findings(report: Report) -> dict[str, str]:
    return {
        finding.key: finding.verdict for section in report.sections for finding in section.findings
    }


def test_the_readings_reach_the_sender(report: Report) -> None:
    """Each of the three changes something, and the adopted rows are Table 2's."""
    for sender in paper.SANTA_CRUZ:
        shown = [
            values(report, "readings", f"{sender.label}, {each.label}")
            for each in readings.READINGS
        ]
        adopted = values(report, "table-2", sender.label)
        assert shown[0] == [adopted[0], *adopted[2:]]
        _, held, windows_end, at_once, _ = shown
        assert shown[0] not in (held, at_once)
        # Slow start with n = 1.5 ends with a relative delay, before n is known.
        assert (shown[0] == windows_end) == (sender.key == "sc-1.5")


def test_n_at_every_report_ends_slow_start_before_the_buffer_fills(report: Report) -> None:
    adopted, windows_end = (
        values(report, "readings", f"SC n=5, {readings.READINGS[at].label}") for at in (0, 2)
    )
    assert 3 * adopted[2] < windows_end[2]


def test_delays_say_in_which_direction_the_congestion_is(report: Report) -> None:
    trip, there, waited_there, back, waited_back = values(
        report, "direction", "Reno on the return path"
    )
    alone = values(report, "direction", "alone")
    assert trip == pytest.approx(there + back)
    assert back > alone[3] + direction.PACKET_MS
    assert alone[4] == pytest.approx(0.0, abs=0.01)
    assert there == pytest.approx(waited_there, abs=direction.PACKET_MS)
    assert back == pytest.approx(waited_back, abs=direction.PACKET_MS)
    assert values(report, "fig-1", "two packets of Fig. 1") == [4, 5, 0, 1]
    assert findings(report)["direction-several-paths"] == "holds"


def test_the_sign_of_d_is_the_state_of_the_queue(report: Report) -> None:
    """D and the link's sampled queue, which have no number in common, agree in most pairs."""
    for network in states.NETWORKS:
        for kind, name in queue_states.KINDS.items():
            pairs, true, opposite, farther, behind, *_ = values(
                report, "states-agreement", f"{network.label}: {name}"
            )
            assert pairs > 50
            assert true > 80
            assert opposite < 0.1
            assert farther < 2
            assert behind > 80
            table = "states" if kind == "reports" else f"states-{kind}"
            shares = [
                values(report, table, f"{network.label}: {each} by D")
                for each in queue_states.STATES
            ]
            assert sum(map(sum, shares)) == pytest.approx(100)
            assert sum(shares[at][at] for at in range(3)) == pytest.approx(true)
    *_, by_round_trip, misled = values(
        report, "states-agreement", "Reno on the return path: successive"
    )
    assert by_round_trip < 70
    assert misled > 2
    assert findings(report)["states-within-a-packet"] == "holds"


def test_several_losses_of_a_window_need_no_timer(report: Report) -> None:
    assert set(values(report, "several-losses", "SC n=3")) == {0}
    assert min(values(report, "several-losses", "Reno")[3:]) > 0
    for sender in recovery.FIVE:
        assert min(values(report, "several-losses-vain", sender.label)) >= 0


def test_without_back_off_the_sender_waits_less_and_sends_more(report: Report) -> None:
    keys = ("no-back-off-idle", "no-back-off-cost")
    (idle, cost), (idle_sc, _), (idle_sack, _) = (
        [values(report, key, label)[-1] for key in keys]
        for label in (recovery.NO_BACK_OFF.label, recovery.SC.label, recovery.SACK.label)
    )
    assert idle < idle_sc < idle_sack
    assert cost > 1.0


# Paths that change or reorder


def test_a_longer_path_is_a_queue_to_who_remembers_the_shortest(report: Report) -> None:
    """Vegas and Santa Cruz take the 40 ms more for packets that wait: so many of them as they aim at are in flight."""
    before, longer, after = values(report, "path-change", "Reno")
    assert longer > 0.9 * before
    waiting = {"Vegas (1,3)": 2.0, "SC n=1.5": 1.5, "SC n=3": 3.0, "SC n=5": 5.0}
    for sender, packets in waiting.items():
        before, longer, after = values(report, "path-change", sender)
        assert min(before, after) > 1.3
        # That many packets in 40 ms, or in 80 there and back where the round trip is looked at.
        seconds = 0.08 if sender.startswith("Vegas") else 0.04
        assert 0.8 * packets < 1e6 * longer * seconds / (8 * paper.MSS) < 2.0 * packets
        assert values(report, "path-change-queue", sender)[1] < 1.0


def test_packets_out_of_order_are_resent_in_vain(report: Report) -> None:
    for sender in paper.SENDERS:
        none, some, many = values(report, "out-of-order", sender.label)
        assert none > some > many > 0.3
        none, some, many = values(report, "out-of-order-resent", sender.label)
        assert none == 0 < some < many < 6


def test_a_longer_path_takes_longer() -> None:
    """A fixed window of one packet turns once a round trip: 87.8 ms with its transmission, 80 more from 20 s on."""
    one = path_changes.changing(sender="fixed(n=1) / full / iw=1", duration_s=40)
    (flow,) = run(one, seed=1).flows.select("start_s", "segments").rows()
    assert flow[1] == pytest.approx(
        (path_changes.PERIOD_S - flow[0]) / 0.0878 + path_changes.PERIOD_S / 0.1678, abs=5
    )


# The senders and their settings


def test_vegas_holds_the_queue_small() -> None:
    """Between alpha and beta packets wait, whatever the line's rate."""
    for rate in ("500kb/s", "1.5Mb/s", "3Mb/s"):
        scenario = paper.basic(sender=paper.VEGAS.sender, duration="20s").with_value(
            "link.forward.rate", rate
        )
        samples = run(scenario, seed=1).samples.filter(
            pl.col("quantity").cast(pl.String) == "queue_packets", pl.col("time_s") > 10.0
        )
        mean = samples["value"].mean()
        assert isinstance(mean, float)
        assert 1.0 <= mean <= 4.0, rate


def test_where_slow_start_ends() -> None:
    def first_loss_s(ssthresh: str | None) -> float:
        scenario = paper.basic(sender=paper.RENO.sender, duration="6s")
        tcp = replace(scenario.tcp, ssthresh_initial=ssthresh)
        return float(run(replace(scenario, tcp=tcp), seed=1).recoveries["time_s"].to_list()[0])

    assert first_loss_s("8kB") > first_loss_s(None) + 1.0


@pytest.mark.parametrize("value", ["0B", "2GB"])
def test_a_threshold_out_of_range(value: str) -> None:
    scenario = paper.basic(sender=paper.RENO.sender)
    with pytest.raises(ScenarioError, match="ssthresh_initial: must be from 1 B to 1 GiB"):
        scenario.with_value("tcp.ssthresh_initial", value)
