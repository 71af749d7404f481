"""Summary of an analysed capture: what repaired each loss, and the time that it cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tcpsf import text
from tcpsf.captures.law import LossLaw
from tcpsf.captures.law_text import law_lines
from tcpsf.captures.laws import LossLaws
from tcpsf.captures.reader import CaptureFacts, CaptureTables, NeededColumns
from tcpsf.distribution import Distribution

if TYPE_CHECKING:
    import polars as pl

CAUSES = {
    "three_duplicates": "three duplicate ACKs",
    "sack": "three duplicate ACKs (SACK)",
    "fack": "forward acknowledgment (FACK)",
    "early_retransmit": "early retransmit",
    "rack": "RACK, at once",
    "rack_timer": "RACK, timer",
    "tail_loss_probe": "tail loss probe",
    "probe_of_new_data": "tail loss probe with new data",
    "timeout": "retransmission timeout",
    "recovery": "further repair of a fast recovery",
    "slow_start": "further repair after a timeout",
    "lost_retransmission": "repair of a lost repair",
    "syn_timeout": "timeout of a SYN",
    "syn_ack_timeout": "timeout of a SYN-ACK",
    "path_mtu": "path MTU",
    "unknown": "unknown",
}
"""Causes in the data, and their words in the text."""

VANTAGES = ("sender", "receiver", "middle", "unknown")
"""Positions of a capture with respect to the sender of a direction."""

LIMITS = {
    "idle": "idle_s",
    "application": "application_limited_s",
    "receive_window": "window_limited_s",
    "congestion_window": "congestion_limited_s",
    "recovery": "recovery_s",
}
"""Reasons for which a sender waited before new data, and their columns."""

WORST = 10
"""Number of the longest episodes that a summary lists."""

NANOSECONDS = 1_000_000_000


NEEDED = NeededColumns(
    flows=frozenset(
        [
            "flow",
            "direction",
            "closing",
            "vantage",
            "kind",
            *LIMITS.values(),
            "packets",
            "data_packets",
            "payload_bytes",
            "retransmitted_bytes",
            "policing",
            "policer_rate_bps",
        ]
    ),
    transfers=frozenset(["flow"]),
)
"""Columns that a summary and the loss laws read."""


class CaptureSummary:
    """Counts and distributions of one capture. Memory does not grow with the capture."""

    def __init__(self) -> None:
        self._connections = 0
        self._one_sided = 0
        self._payload_bytes = 0
        self._retransmitted_bytes = 0
        self._vantages: Counter[str] = Counter()
        self._closings: Counter[str] = Counter()
        self._senders: Counter[str] = Counter()
        self._limited_s: defaultdict[str, float] = defaultdict(float)
        self._lossy: set[int] = set()
        self._episodes: Counter[str] = Counter()
        self._spurious: Counter[str] = Counter()
        self._tails: Counter[str] = Counter()
        self._retransmissions: Counter[str] = Counter()
        self._unnecessary: Counter[str] = Counter()
        self._delays: defaultdict[str, Distribution] = defaultdict(Distribution)
        self._total_s: defaultdict[str, float] = defaultdict(float)
        self._worst: list[dict[str, Any]] = []
        self._laws = LossLaws()

    def add(self, batch: CaptureTables) -> None:
        """Add rows."""
        import polars as pl

        self._add_flows(batch.flows)
        self._add_episodes(batch.episodes)
        self._laws.add(batch)
        counted = batch.retransmissions.group_by("cause").agg(
            pl.len(), (pl.col("spurious") != "no").sum().alias("unnecessary")
        )
        for cause, count, unnecessary in counted.iter_rows():
            self._retransmissions[cause] += count
            self._unnecessary[cause] += unnecessary

    def _add_flows(self, flows: pl.DataFrame) -> None:
        opened = flows.filter(direction="originator")
        self._connections += opened.height
        self._one_sided += int((flows["packets"] == 0).sum())
        self._closings.update(opened["closing"])
        with_data = flows.filter(flows["data_packets"] > 0)
        self._vantages.update(with_data["vantage"])
        self._senders.update(with_data["kind"])
        for what, column in LIMITS.items():
            self._limited_s[what] += float(with_data[column].sum())
        self._payload_bytes += int(with_data["payload_bytes"].sum())
        self._retransmitted_bytes += int(with_data["retransmitted_bytes"].sum())

    def _add_episodes(self, episodes: pl.DataFrame) -> None:
        if episodes.is_empty():
            return
        for (cause,), rows in episodes.group_by("cause"):
            needed = rows.filter(rows["spurious"] < rows["retransmissions"])
            self._episodes[cause] += rows.height
            self._spurious[cause] += rows.height - needed.height
            self._tails[cause] += int((rows["following"] == 0).sum())
            self._lossy.update(needed["flow"])
            self._total_s[cause] += float(needed["delay_s"].sum())
            nanoseconds = (needed["delay_s"] * NANOSECONDS).round().cast(int)
            self._delays[cause].update(Distribution(nanoseconds.to_list()))
        self._worst.extend(episodes.sort("delay_s", descending=True).head(WORST).to_dicts())
        self._worst.sort(key=lambda row: -row["delay_s"])
        del self._worst[WORST:]

    def to_dict(self, facts: CaptureFacts) -> dict[str, Any]:
        """Return the summary as plain data, as `tcpsf analyze --json` prints it."""
        damage = facts.damage
        return {
            "start_ns": facts.start_ns,
            "duration_s": facts.duration_s,
            "damage": None if damage is None else {"offset": damage[0], "reason": damage[1]},
            "packets": facts.counts,
            "connections": self._connections,
            "connections_with_loss": len(self._lossy),
            "one_sided_connections": self._one_sided,
            "closings": dict(sorted(self._closings.items())),
            "senders": dict(sorted(self._senders.items())),
            "waiting_s": {what: self._limited_s[what] for what in LIMITS},
            "vantages": {vantage: self._vantages[vantage] for vantage in VANTAGES},
            "payload_bytes": self._payload_bytes,
            "retransmitted_bytes": self._retransmitted_bytes,
            "causes": [self._cause(cause) for cause in CAUSES if self._seen(cause)],
            "longest": self._worst,
            "loss_laws": [law.to_dict() for law in self.laws()],
        }

    def laws(self) -> tuple[LossLaw, ...]:
        """Return the loss laws of the directions with data."""
        return self._laws.laws()

    def _seen(self, cause: str) -> bool:
        return bool(self._episodes[cause] or self._retransmissions[cause])

    def _cause(self, cause: str) -> dict[str, Any]:
        delays = self._delays[cause]
        return {
            "cause": cause,
            "episodes": self._episodes[cause],
            "spurious_episodes": self._spurious[cause],
            "episodes_at_the_tail": self._tails[cause],
            "retransmissions": self._retransmissions[cause],
            "unnecessary_retransmissions": self._unnecessary[cause],
            "delay_s": {
                "total": self._total_s[cause],
                "p50": delays.quantile(0.5),
                "p95": delays.quantile(0.95),
                "p99": delays.quantile(0.99),
                "max": delays.quantile(1.0),
            },
        }


def summary_lines(name: str, data: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the text about one capture, given its plain data."""
    packets, duration = data["packets"], text.seconds(data["duration_s"])
    yield (
        f"{name}: {text.count(packets['packets'], 'packet')} in {duration} s, "
        f"{text.count(data['connections'], 'connection')}"
    )
    yield from notes_of(data)
    causes = data["causes"]
    episodes = sum(cause["episodes"] for cause in causes)
    if not episodes:
        yield "No loss episode."
        return
    yield (
        f"{text.count(episodes, 'loss episode')} in "
        f"{text.plain(data['connections_with_loss'], 0)} of {text.count(data['connections'], 'connection')}; "
        f"{_share(data['retransmitted_bytes'], data['payload_bytes'])} of the bytes were sent again"
    )
    yield ""
    yield from text.table(cause_table(causes), left=[0]).splitlines()
    yield ""
    yield from text.table(longest_table(data["longest"]), left=[0]).splitlines()
    yield from law_lines(data["loss_laws"])


def notes_of(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield remarks on what the capture has, and where it was made."""
    packets = data["packets"]
    if data["damage"] is not None:
        damage = data["damage"]
        yield f"Reading ended at byte {text.plain(damage['offset'], 0)}: {damage['reason']}"
    for key, one, many in (
        ("fragments", "IP fragment is not analysed", "IP fragments are not analysed"),
        ("cut_short", "packet has no complete header", "packets have no complete header"),
        ("malformed", "packet has contradictory lengths", "packets have contradictory lengths"),
        (
            "unknown_link_type",
            "packet has an unknown link type",
            "packets have an unknown link type",
        ),
        ("unanswered", "packet was not answered", "packets were not answered"),
        ("refused", "connection was refused", "connections were refused"),
    ):
        if packets[key]:
            yield text.count(packets[key], one, many)
    if data["one_sided_connections"]:
        yield (
            f"{text.count(data['one_sided_connections'], 'connection has', 'connections have')} packets of "
            "one direction only: lost time and most causes need both"
        )
    seen = {vantage: count for vantage, count in data["vantages"].items() if count}
    if seen:
        where = ", ".join(
            f"at an unknown place {text.plain(count, 0)}"
            if vantage == "unknown"
            else f"{'in the' if vantage == 'middle' else 'at the'} {vantage} {text.plain(count, 0)}"
            for vantage, count in seen.items()
        )
        how = "" if data["stated"]["vantage"] == "auto" else " (stated)"
        yield f"Place of the capture{how}, by directions with data: {where}"
    if data["senders"]:
        how = "" if data["stated"]["sender"] == "auto" else " (stated)"
        kinds = (f"{kind} {text.plain(count, 0)}" for kind, count in data["senders"].items())
        yield f"Senders{how}, by directions with data: {', '.join(kinds)}"


def _share(part: int, whole: int) -> str:
    return f"{text.plain(100 * part / whole, 2)} %" if whole else "0 %"


def cause_table(causes: list[dict[str, Any]]) -> list[list[str]]:
    """Return the cells of the table of causes, with the heads in the first row."""
    rows = [
        [
            "first repair by",
            "episodes",
            "at the tail",
            "spurious",
            "median s",
            "p99 s",
            "max s",
            "total s",
        ]
    ]
    for cause in causes:
        if not cause["episodes"]:
            continue
        delay = cause["delay_s"]
        rows.append(
            [
                CAUSES[cause["cause"]],
                text.plain(cause["episodes"], 0),
                text.plain(cause["episodes_at_the_tail"], 0),
                text.plain(cause["spurious_episodes"], 0),
                *(text.seconds(delay[key]) for key in ("p50", "p99", "max")),
                text.seconds(delay["total"]),
            ]
        )
    return rows


def longest_table(longest: list[dict[str, Any]]) -> list[list[str]]:
    """Return the cells of the table of the longest episodes, with the heads in the first row."""
    rows = [
        [
            "longest: first repair by",
            "delay s",
            "at s",
            "connection",
            "packet",
            "repaired in",
            "segments after",
        ]
    ]
    rows.extend(
        [
            CAUSES[row["cause"]],
            text.seconds(row["delay_s"]),
            text.seconds(row["lost_s"]),
            str(row["flow"]),
            str(row["lost_frame"] or "–"),
            str(row["repaired_frame"]),
            str(row["following"]),
        ]
        for row in longest
    )
    return rows
