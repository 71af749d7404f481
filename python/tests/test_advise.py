"""Advice from captures: simulated runs whose law of loss is known, rules of verdicts, errors."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from conftest import Command

from tcpsf import BurstLoss, ByteLoss, Link, PacketLoss, Pcap, Poisson, Scenario, Sizes, Tcp, run
from tcpsf.advice import REMEDIES, Advice, advise_on, remedy
from tcpsf.advice.law_variants import scaled, variants
from tcpsf.advice.path_losses import loss_factors, with_classes
from tcpsf.advice.population import population
from tcpsf.advice.remedy_list import NONE
from tcpsf.advice.replay import ReplayArm, ReplayRun
from tcpsf.advice.setups import MOST_SETUPS, drawn, setups
from tcpsf.advice.verdicts import results
from tcpsf.captures import CaptureResult, CaptureTables, analyze
from tcpsf.captures.law import LossLaw, PolicerTest, SizeClass
from tcpsf.distribution import Distribution
from tcpsf.errors import TcpsfError

TAILS = tuple(map(remedy, ("tail(n=4)", "dup-tail")))


def captured(
    folder: Path,
    loss: PacketLoss | ByteLoss | None,
    sizes: Sizes,
    rate: float = 20.0,
    sender: str = "linux",
    bottleneck: str = "1Gb/s",
) -> Path:
    """Capture responses of a Linux server at the server, over a round trip of 40 ms."""
    path = folder / "server.pcapng"
    ends = ("server", "client"), ("client", "server")
    links = [
        Link(
            name=name,
            from_=one,
            to=other,
            rate="1Gb/s" if back else bottleneck,
            delay="20ms",
            loss=None if back else loss,
        )
        for back, (name, (one, other)) in enumerate(zip(("down", "up"), ends, strict=True))
    ]
    replies = Poisson(
        name="replies",
        from_="server",
        to="client",
        rate=rate,
        sizes=sizes,
        sender=sender,
        handshake=True,
        opener="receiver",
    )
    made = Scenario(
        name="replies",
        duration="60s",
        tcp=Tcp(profile="linux-6.18"),
        link=links,
        workload=[replies],
    )
    run(made, seed=3, pcap=Pcap(path=path, replace=True, place="sender"))
    return path


@pytest.fixture(scope="module")
def by_packet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packet")
    return captured(folder, PacketLoss(probability=0.03), Sizes(classes=[1200, 14_000]))


@pytest.fixture(scope="module")
def by_byte(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("byte")
    # The sizes of the segments show how loss depends on size.
    sizes = Sizes(classes=[200, 1400], weights=[1.0, 3.0])
    return captured(folder, ByteLoss(probability=1.5e-5), sizes, rate=150.0)


def advised(path: Path, **options: object) -> Advice:
    options = {"remedies": TAILS, "runs": 6} | options
    return advise_on(analyze(path), name="server", **options)  # type: ignore[arg-type]


def verdicts(found: Advice) -> dict[str, str | None]:
    return {each.remedy.name: each.verdict for each in found.results}


def test_tail_framing_hurts_if_each_packet_is_lost_alike(by_packet: Path) -> None:
    found = advised(by_packet)
    assert verdicts(found) == {"none": None, "tail(n=4)": "hurts", "dup-tail": "helps"}
    assert (found.answer, found.recommended.remedy.name) == ("remedy", "dup-tail")  # type: ignore[union-attr]
    assert found.population.initial_window == 10
    (part,) = found.setups
    assert (part.control.name, part.mss_bytes, part.sack, part.window) == ("linux", 1448, True, 10)
    assert part.rtt_s == pytest.approx(0.04, rel=0.01)
    assert len(part.sizes) == found.population.transfers.height > 1000
    assert all(check.agrees for check in found.checks)
    assert "`dup-tail` helps" in str(found)
    # The loss of a segment, of its copy too: 3 % and 0.09 %.
    assert found.results[2].measures["packets"].percent.value > 10  # type: ignore[union-attr]


def test_tail_framing_helps_if_each_byte_is_lost_alike(by_byte: Path) -> None:
    found = advised(by_byte)
    assert found.law.dependence in ("byte", "between")
    assert verdicts(found)["tail(n=4)"] == "helps"
    p99 = found.results[1].measures["p99_s"].percent
    assert p99 is not None
    assert p99.value < -50


@pytest.mark.parametrize("name", ["dup-tail", "rto-min(ms=20)"])
def test_the_prediction_is_that_of_the_remedy(by_packet: Path, tmp_path: Path, name: str) -> None:
    loss, sizes = PacketLoss(probability=0.03), Sizes(classes=[1200, 14_000])
    captured(tmp_path, loss, sizes, rate=200.0, sender=f"linux / {name}")
    measured = analyze(tmp_path / "server.pcapng").tables.transfers.filter(direction="responder")
    # Acknowledgments need another half of the round-trip time.
    p99_s = float(measured["completion_s"].drop_nulls().quantile(0.99) or 0.0) - 0.02
    found = advised(by_packet, remedies=[remedy(name)])
    p99 = found.results[1].measures["p99_s"]
    assert p99.value is not None
    assert p99.over_laws is not None
    low, high = p99.over_laws
    assert abs(p99.value.value - p99_s) < 0.1 * p99_s or low <= p99_s <= high


def test_the_advice_depends_on_the_seed_alone(by_packet: Path) -> None:
    one, same = (advised(by_packet, runs=2, workers=workers).to_dict() for workers in (1, 2))
    assert one == same
    assert advised(by_packet, runs=2, seed=9).to_dict()["remedies"] != one["remedies"]


def test_a_single_run_is_not_enough(by_packet: Path) -> None:
    found = advised(by_packet, runs=1)
    assert found.answer == "not enough evidence"
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_other_senders(by_packet: Path) -> None:
    found = advised(by_packet, runs=2, sender="reno+sack", remedies=REMEDIES)
    assert {part.control.name for part in found.setups} == {"reno+sack"}
    assert found.results[1].measures["packets"].value is not None


def law(**values: object) -> LossLaw:
    usual: dict[str, object] = {
        "direction": "responder",
        "evidence": "enough",
        "reason": "",
        "connections": 100,
        "packets": 10_000,
        "losses": 200,
        "excluded": 0,
        "reference_size": 1500,
        "loss": 0.02,
        "loss_interval": (0.018, 0.022),
        "exponent": 0.3,
        "exponent_interval": (-0.2, 0.8),
        "exponent_reason": "",
        "mean_run": 1.02,
        "mean_run_interval": (1.0, 1.05),
        "independent_run": 1.02,
        "bursty": False,
        "run_lengths": (),
        "sizes": (),
        "positions": (),
        "policer": PolicerTest(verdict="not found", tested=0, matching=0, rate_bps=None, reason=""),
    }
    return LossLaw(**(usual | values))  # type: ignore[arg-type]


def survival(losses: tuple[PacketLoss | ByteLoss | BurstLoss, ...], size: int) -> float:
    found = 1.0
    for loss in losses:
        assert not isinstance(loss, BurstLoss)
        found *= (1.0 - loss.probability) ** (size if isinstance(loss, ByteLoss) else 1)
    return found


def test_losses_in_series_have_the_loss_and_the_slope_of_the_law() -> None:
    given = law()
    fitted, *ends = variants(given)
    assert 1 - survival(fitted.losses, 1500) == pytest.approx(given.loss)
    slopes = (
        (loss(1510) - loss(1490)) / 20
        for loss in (given.loss_at, lambda size: 1 - survival(fitted.losses, size))
    )
    one, other = slopes
    assert one == pytest.approx(other, rel=1e-3)
    assert [each.name for each in ends] == [
        "lowest loss",
        "highest loss",
        "lowest exponent",
        "highest exponent",
    ]
    assert [type(each.losses[0]) for each in ends] == [PacketLoss] * 4
    assert survival(ends[2].losses, 40) == survival(ends[2].losses, 1500) == pytest.approx(0.98)


def test_ends_of_other_laws() -> None:
    bursts = law(bursty=True, mean_run=3.0, mean_run_interval=(2.0, float("inf")))
    assert variants(bursts)[0].losses == (BurstLoss(probability=0.02, run=3.0),)
    assert [each.name for each in variants(bursts)] == [
        "fitted",
        "lowest loss",
        "highest loss",
        "shortest runs",
        "longest runs",
    ]
    unknown = law(exponent=None, exponent_interval=None)
    assert "highest exponent" in [each.name for each in variants(unknown)]
    few = law(evidence="not enough", loss_interval=None, exponent=None, mean_run_interval=None)
    assert survival(variants(few)[0].losses, 40) == pytest.approx(0.98)
    sized = law(
        exponent_interval=(0.3, 1.0),
        sizes=(
            SizeClass(bytes=300.0, packets=5000, lost=20, interval=(0.0, 0.1)),
            SizeClass(bytes=1500.0, packets=5000, lost=100, interval=(0.0, 0.1)),
        ),
    )
    (*_, bytewise) = variants(sized)
    assert bytewise.name == "highest exponent"
    expected = sum(5000 * (1 - survival(bytewise.losses, size)) for size in (300, 1500))
    assert expected == pytest.approx(120)


def test_set_ups_are_few_and_keep_every_transfer(by_packet: Path) -> None:
    result = analyze(by_packet)
    chosen = population("x", result)
    count = chosen.transfers.height
    spread = chosen.transfers.with_columns(
        rtt_s=pl.int_range(1, count + 1) / 1000.0,
        mss=pl.int_range(0, count) % 11 * 100 + 500,
    )
    object.__setattr__(chosen, "transfers", spread)
    parts = setups(chosen)
    assert 10 < len(parts) <= MOST_SETUPS
    assert sum(len(part.sizes) for part in parts) == count
    runs = [drawn(parts, 700, seed) for seed in range(20)]
    assert {sum(map(len, sizes)) for sizes in runs} == {700}
    shares = [sum(len(sizes[at]) for sizes in runs) / 14_000 for at in range(len(parts))]
    assert shares == pytest.approx([len(part.sizes) / count for part in parts], abs=0.001)


def test_the_replay_has_the_rate_of_the_slowest_link(tmp_path: Path) -> None:
    # 28 kB need 46 ms at this rate, more than a round trip.
    sizes = Sizes(classes=[28_000])
    path = captured(tmp_path, PacketLoss(probability=0.02), sizes, 8.0, bottleneck="5Mb/s")
    found = advised(path, remedies=TAILS)
    assert all(part.rate_bps == pytest.approx(5e6, rel=0.01) for part in found.setups)
    assert all(check.agrees for check in found.checks), found.checks
    assert found.checks[0].captured.value > 0.08
    without = found.population.transfers.with_columns(rate_bps=pl.lit(None, dtype=pl.Float64))
    assert setups(replace(found.population, transfers=without))[0].rate_bps is None


def by_address(losses: list[int]) -> CaptureTables:
    """Rows of connections to several addresses, with 1000 first transmissions to each."""
    count = len(losses)
    numbers = pl.int_range(0, count, eager=True)
    flows = pl.DataFrame({"flow": numbers, "destination": numbers.cast(pl.String)})
    flows = flows.with_columns(direction=pl.lit("responder"))
    transmissions = flows.select("flow", "direction").with_columns(
        lost=pl.Series(losses), packets=pl.lit(1000)
    )
    empty = pl.DataFrame()
    return CaptureTables(
        flows=flows,
        episodes=empty,
        retransmissions=empty,
        transmissions=transmissions,
        losses=empty,
        transfers=empty,
    )


def test_losses_may_differ_between_addresses() -> None:
    given = law(packets=10_000, losses=200)
    assert loss_factors(by_address([18, 22, 25, 16, 20, 19, 21, 24, 15, 20]), given) is None
    factors = loss_factors(by_address([110, 10, 10, 10, 10, 10, 10, 10, 10, 10]), given)
    assert factors is not None
    transfers = pl.DataFrame({"flow": [0, 1, 2, 0], "loss_factor": [1.0] * 4})
    classes = with_classes(transfers, factors)["loss_factor"].to_list()
    assert classes == pytest.approx([5.4, 0.5, 0.5, 5.4], rel=0.1)
    losses = (PacketLoss(probability=0.02), ByteLoss(probability=1e-5))
    assert survival(scaled(losses, 3.0), 1000) == pytest.approx(survival(losses, 1000) ** 3)


def arm(times_ms: Callable[[int], float], packets: int = 100) -> ReplayArm:
    """Four runs of 2500 transfers."""
    found = ReplayArm()
    for number in range(4):
        times = Distribution(
            round(1e6 * times_ms(at)) + 1000 * ((at * 7 + number * 13) % 100) for at in range(2500)
        )
        found.runs.append(
            ReplayRun(
                transfers=2500,
                completed=2500,
                receiver=times,
                sender=times,
                packets=packets + number % 2,
                bytes=1000 * packets,
            )
        )
    return found


USUAL = arm(lambda at: 300 if at % 25 == 0 else 20)
SHORT = arm(lambda at: 100 if at % 25 == 0 else 20)
LONG = arm(lambda at: 400 if at % 25 == 0 else 30)


@pytest.mark.parametrize(
    ("arms", "lack", "verdict"),
    [
        ([SHORT, SHORT], None, "helps"),
        ([SHORT, SHORT], "too few losses", "not enough evidence"),
        ([SHORT, USUAL], None, "not enough evidence"),
        ([USUAL, USUAL], None, "no effect"),
        ([USUAL, SHORT], None, "not enough evidence"),
        ([LONG, LONG], None, "hurts"),
        ([LONG, SHORT], None, "not enough evidence"),
    ],
)
def test_verdicts(arms: list[ReplayArm], lack: str | None, verdict: str) -> None:
    laws = variants(law(exponent_interval=(0.3, 0.3), loss_interval=(0.01, 0.02)))
    assert len(laws) == 2
    found = results((NONE, remedy("dup-tail")), laws, [[USUAL, each] for each in arms], lack=lack)
    assert found[1].verdict == verdict, found[1].reason


def kept(path: Path, target: Path, keep: Callable[[bytes], bool]) -> Path:
    """Write the packets of a capture for which ``keep`` is true, given their IP packets."""
    content, at, out = path.read_bytes(), 0, bytearray()
    while at < len(content):
        kind, size = struct.unpack_from("<II", content, at)
        if kind != 6 or keep(content[at + 28 : at + size]):
            out += content[at : at + size]
        at += size
    target.write_bytes(out)
    return target


def is_from_server(packet: bytes) -> bool:
    return packet[12:16] == bytes([10, 0, 0, 1])


def has_syn(packet: bytes) -> bool:
    return bool(packet[33] & 0x02)


class TestCommand:
    def test_text_and_json(self, tcpsf: Command, by_packet: Path) -> None:
        words = ("advise", by_packet, "--runs", "6", "--remedy", "dup-tail", "--remedy", "iw=20")
        answer = tcpsf(*words)
        assert (answer.status, answer.err) == (0, "")
        lines = answer.out.splitlines()
        assert lines[0].startswith(f"{by_packet}: `dup-tail` helps. p99 of the completion time ")
        assert [line.split("  ")[0] for line in lines if "  helps" in line] == ["dup-tail"]
        assert "Assumptions:" in lines
        data = json.loads(tcpsf(*words, "--json").out)
        file = resources.files("tcpsf.report").joinpath("schema", "advise.json")
        jsonschema.validate(data, json.loads(file.read_text(encoding="utf-8")))
        assert [each["name"] for each in data["remedies"]] == ["none", "dup-tail", "iw=20"]
        assert data["recommended"] == "dup-tail"

    def test_page(self, tcpsf: Command, by_packet: Path, tmp_path: Path) -> None:
        page = tmp_path / "advice.html"
        words = ("advise", by_packet, "--runs", "2", "--remedy", "dup-tail", "--report", page)
        assert tcpsf(*words).status == 0
        content = page.read_text(encoding="utf-8")
        assert "Completion time by remedy" in content
        assert "<code>dup-tail</code>" in content
        assert "already exists" in tcpsf(*words).err

    @pytest.mark.parametrize(
        ("words", "error"),
        [
            (["--port", "81"], "cannot advise on `{file}`: it has no connection to port 81"),
            (["--remedy", "tail / iw=3"], "`--remedy tail / iw=3`: expected the framing of a"),
            (["--remedy", "iw=x"], "`--remedy iw=x`: `x` is not a whole number from 1 to 64"),
            (["--remedy", "dup-tail", "--remedy", "dup-tail"], "remedy `dup-tail` is given twice"),
            (["--remedy", "tail(n=1)"], "`1` is not a whole number from 2 to 64"),
            (["--sender", "cubik"], "unknown congestion control `cubik`"),
        ],
    )
    def test_bad_options(
        self, tcpsf: Command, by_packet: Path, words: list[str], error: str
    ) -> None:
        answer = tcpsf("advise", by_packet, *words)
        assert answer.status == 2
        assert error.format(file=by_packet) in answer.err
        assert "hint: " in answer.err

    def test_captures_without_an_answer(
        self, tcpsf: Command, by_packet: Path, tmp_path: Path
    ) -> None:
        silent = captured(tmp_path, None, Sizes(classes=[1200]))
        one_sided = kept(by_packet, tmp_path / "half.pcapng", is_from_server)
        handshakes = kept(by_packet, tmp_path / "syn.pcapng", has_syn)
        for path, error in (
            (silent, "nothing was retransmitted in"),
            (one_sided, "most of its data has no acknowledgment"),
            (handshakes, "it has no TCP connection with data of the responder"),
        ):
            answer = tcpsf("advise", path)
            assert answer.status == 2
            assert answer.err.startswith(f"error: cannot advise on `{path}`: ")
            assert error in answer.err
            assert len(answer.err.splitlines()) == 2

    def test_too_few_transfers(self, by_packet: Path) -> None:
        result = analyze(by_packet)
        few = result.tables.transfers.filter(pl.col("retransmitted_packets") > 0).head(10)
        short = CaptureResult(tables=result.tables._replace(transfers=few), facts=result.facts)
        with pytest.raises(
            TcpsfError, match="10 of its transfers can be replayed, and at least 20"
        ):
            advise_on(short, name="x")


@pytest.mark.parametrize(
    ("text", "policy", "way"),
    [
        ("fs", "fs(n=40, min=11)", "cure attach"),
        ("larger window", "iw=20", "initcwnd N"),
        ("rto-min(ms=20)", "rto-min(ms=20)", "rto_min 20ms"),
        ("tail(n=3)+rto-min(ms=50)", "tail(n=3)+rto-min(ms=50)", "cure attach"),
        ("vs", None, "proxy"),
        ("dup-tail(delay=5ms)", "dup-tail(delay=5ms)", "tcpsf cure attach"),
        # `tcpsf cure` cuts into at most 14 pieces.
        ("tail(n=40)", None, "proxy"),
    ],
)
def test_a_remedy_names_how_a_server_gets_it(text: str, policy: str | None, way: str) -> None:
    chosen = remedy(text)
    sender = chosen.sender("linux", 10, 10, 64)
    found = chosen.policy(sender)
    assert (None if found is None else str(found)) == policy
    assert way in chosen.application(sender)
    assert ("cure attach" in chosen.application(sender)) is (policy is not None)


def test_no_remedy_is_not_applied() -> None:
    sender = NONE.sender("linux", 10, 10, 64)
    assert (NONE.policy(sender), NONE.application(sender)) == (None, "")
