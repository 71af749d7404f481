"""Result of an advice, as text and plain data: a paragraph, a table, and the assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tcpsf import __version__, stats, text
from tcpsf.advice.law_variants import LawVariant
from tcpsf.advice.population import Population
from tcpsf.advice.remedy_list import Remedy
from tcpsf.advice.replay import BYTES, MEAN, PACKETS, PERCENTILES
from tcpsf.advice.setups import ReplaySetup, counted
from tcpsf.advice.verdicts import P99, RemedyResult, ReplayedMeasure, best
from tcpsf.captures.law import LossLaw

DEPENDENCE = {
    "packet": "the same for packets of any size",
    "byte": "in proportion to the size of a packet",
    "between": "larger for larger packets, but not in proportion to their size",
    "undecided": "with an unknown dependence on the size of a packet",
    "unknown": "with an unknown dependence on the size of a packet",
}
"""Words for the dependence of losses on the size."""


AGREES = 0.1
"""Relative difference between the capture and the replay up to which they agree in any case."""

Answer: TypeAlias = Literal["remedy", "no remedy", "not enough evidence"]
"""The advice in short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A percentile of the capture beside that of the replay without a remedy.

    Both are times from the first packet to the acknowledgment of all data, at the sender.
    """

    name: str
    captured: stats.Estimate
    replayed: stats.Estimate | None
    over_laws: tuple[float, float] | None
    """Interval over the loss laws."""

    @property
    def agrees(self) -> bool:
        """Whether the intervals overlap, each wider by `AGREES`."""
        if self.over_laws is None:
            return False
        low, high = self.over_laws
        return self.captured.low <= high * (1 + AGREES) and low <= self.captured.high * (1 + AGREES)


def differing(checks: Sequence[Check]) -> list[Check]:
    """Return the checks in which the replay differs from the capture."""
    return [each for each in checks if not each.agrees]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Advice:
    """Result of `advise`. ``str(advice)`` is the text that `tcpsf advise` prints."""

    name: str
    """Name of the capture."""
    population: Population
    """The transfers that were replayed."""
    law: LossLaw
    """Losses of their direction."""
    laws: tuple[LawVariant, ...]
    """The loss laws of the replay, the fitted one first."""
    setups: tuple[ReplaySetup, ...]
    """Set-ups that stand for the transfers."""
    seeds: tuple[int, ...]
    """Random seeds, each for one run of each remedy and law."""
    transfers: int
    """Transfers of a run."""
    results: tuple[RemedyResult, ...]
    """Remedies with their measures and verdicts; the sender as it is comes first."""
    checks: tuple[Check, ...]
    """Comparison of the replay with the capture."""
    unfinished: int
    """Transfers that were not complete at the end of a run."""

    @property
    def recommended(self) -> RemedyResult | None:
        """The remedy to recommend, if any helps."""
        return best(self.results)

    @property
    def is_replay_like_capture(self) -> bool:
        """Whether all percentiles of the replay without a remedy agree with the capture."""
        return not differing(self.checks)

    @property
    def answer(self) -> Answer:
        """The advice in short."""
        if self.recommended is not None:
            return "remedy"
        verdicts = {each.verdict for each in self.results[1:]}
        return "not enough evidence" if "not enough evidence" in verdicts else "no remedy"

    def __repr__(self) -> str:
        return f"<Advice on {self.name!r}: {self.answer}>"

    def __str__(self) -> str:
        return "\n".join(advice_lines(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain data, as `tcpsf advise --json` prints it."""
        return {"version": __version__, **as_json(self)}


@dataclass(frozen=True, slots=True)
class _Shown:
    """A value with the interval to show."""

    value: float
    interval: tuple[float, float] | None


def advice_lines(found: Advice) -> Iterator[str]:
    """Yield the lines of the text."""
    yield " ".join(paragraph(found))
    yield ""
    yield from text.table(table_rows(found), left=[0, 9]).splitlines()
    yield ""
    yield from legend(found)
    yield ""
    yield "Assumptions:"
    yield from (f"- {each}" for each in assumptions(found))


def paragraph(found: Advice) -> Iterator[str]:
    """Yield the sentences of the answer."""
    yield _answer(found)
    yield from _costs(found)
    transfers = text.count(found.population.transfers.height, "transfer")
    yield (
        f"Of {transfers} in the capture, {text.plain(found.population.lossy, 0)} had "
        f"retransmissions, which cost {text.seconds(found.population.lost_time_s)} s."
    )
    yield _law_sentence(found)
    yield _check_sentence(found)


def _answer(found: Advice) -> str:
    best = found.recommended
    if best is None:
        before = _milliseconds(found.results[0].measures[P99.key])
        if found.answer == "no remedy":
            return (
                f"{found.name}: no remedy helps. Of the {len(found.results) - 1} that were "
                f"replayed, each has no effect on p99 ({before} ms) or makes times longer."
            )
        reason = _missing(found)
        return f"{found.name}: not enough evidence for a remedy. {reason}"
    p99 = best.measures[P99.key]
    percent = p99.percent
    before = _milliseconds(found.results[0].measures[P99.key])
    change = "" if percent is None else f" ({text.estimate(percent, 0)} %)"
    return (
        f"{found.name}: `{best.remedy.name}` helps. p99 of the completion time decreases from "
        f"{before} to {_milliseconds(p99)} ms{change}."
    )


def _missing(found: Advice) -> str:
    """Return the sentence on missing evidence."""
    if found.law.evidence != "enough":
        reason = found.law.reason.rstrip(".")
        return f"{reason[:1].upper()}{reason[1:]}." if reason else "The capture has too few losses."
    if not found.is_replay_like_capture:
        return "The replay does not predict the times of the present sender."
    undecided = [each for each in found.results[1:] if each.verdict == "not enough evidence"]
    lowest = min(undecided, key=_p99)
    return f"For `{lowest.remedy.name}`, {lowest.reason}."


def _p99(result: RemedyResult) -> float:
    value = result.measures[P99.key].value
    return math.inf if value is None else value.value


def _costs(found: Advice) -> Iterator[str]:
    best = found.recommended
    if best is not None:
        packets, bytes_ = (best.measures[each.key].percent for each in (PACKETS, BYTES))
        yield (
            f"It sends {_added(packets)} data packets and {_added(bytes_)} bytes. "
            f"To apply it: {best.remedy.application(_sender(found, best.remedy))}."
        )


def _sender(found: Advice, remedy: Remedy) -> str:
    """Return the name of the most frequent sender, with a remedy."""
    part = found.setups[0]
    initial = found.population.initial_window
    return remedy.sender(part.control.name, initial, initial, part.control.most_window)


def _added(percent: Any) -> str:
    """Return a change in words."""
    if percent is None or abs(percent.value) < 0.05:
        return "as many"
    shown = text.plain(abs(percent.value), 0 if abs(percent.value) >= 10 else 1)
    return f"{shown} % {'more' if percent.value > 0 else 'fewer'}"


def _law_sentence(found: Advice) -> str:
    law = found.law
    loss = text.plain(100 * law.loss, 2)
    if law.loss_interval is not None:
        low, high = law.loss_interval
        loss += f" [{text.plain(100 * low, 2)},{text.plain(100 * high, 2)}]"
    runs = "in bursts" if law.bursty else "without bursts"
    if law.bursty and law.mean_run is not None:
        runs += f" of {text.plain(law.mean_run, 1)} packets on average"
    return (
        f"Loss is {loss} % for packets of {text.plain(law.reference_size, 0)} bytes, "
        f"{DEPENDENCE[law.dependence]}, {runs}."
    )


def _check_sentence(found: Advice) -> str:
    different = differing(found.checks)
    shown = different[0] if different else found.checks[-1]
    replayed = "nothing" if shown.replayed is None else text.plain(1e3 * shown.replayed.value, 0)
    values = (
        f"{shown.name} until the last acknowledgment is "
        f"{text.plain(1e3 * shown.captured.value, 0)} ms in the capture and {replayed} ms in the replay"
    )
    if different:
        return f"The replay of the present sender differs from the capture: {values}."
    return f"The replay of the present sender agrees with the capture: {values}."


def _milliseconds(found: ReplayedMeasure) -> str:
    """Return a time in milliseconds with its interval over the loss laws."""
    if found.value is None:
        return text.NOTHING
    value = 1e3 * found.value.value
    ends = found.over_laws
    shown = _Shown(value, None if ends is None else (1e3 * ends[0], 1e3 * ends[1]))
    return text.estimate(shown, 0 if value >= 100 else 1)


def table_rows(found: Advice) -> list[list[str]]:
    """Return the table: a row for each remedy."""
    heads = ["remedy", *(f"{measure.title} ms" for measure in PERCENTILES)]
    rows = [[*heads, "p99 %", "mean %", "packets %", "bytes %", "verdict"]]
    rows.extend(
        [
            each.remedy.name,
            *(_milliseconds(each.measures[measure.key]) for measure in PERCENTILES),
            *_changes(each),
            each.verdict or "",
        ]
        for each in found.results
    )
    return rows


def _changes(each: RemedyResult) -> Iterator[str]:
    """Yield the cells with changes in percent."""
    for measure in (P99, MEAN, PACKETS, BYTES):
        entry = each.measures[measure.key]
        if entry.percent is None:
            yield text.NOTHING if each.verdict else ""
            continue
        value = entry.percent.value
        digits = 0 if abs(value) >= 10 else 1
        shown = (
            text.estimate(entry.percent, digits) if measure is P99 else text.plain(value, digits)
        )
        sign = "+" if value > 0 and shown.strip("0.") else ""
        yield f"{sign}{shown}{'*' if entry.is_significant else ''}"


def legend(found: Advice) -> Iterator[str]:
    """Yield the explanations of the table."""
    laws = text.count(len(found.laws), "loss law")
    yield (
        "Times until the receiver has all data. [low,high] or ±: 95 % interval, over all loss laws for "
        "times. %: change from `none`."
    )
    yield (
        f"{text.count(len(found.seeds), 'run')} of {text.count(found.transfers, 'transfer')} with each "
        f"remedy and each of {laws}: {', '.join(law.name for law in found.laws)}. *: significant (Holm)."
    )
    if found.unfinished:
        yield f"{text.count(found.unfinished, 'transfer')} did not complete and have no time."


def assumptions(found: Advice) -> Iterator[str]:
    """Yield what the replay assumes, as sentences."""
    population, law = found.population, found.law
    replayed = ", ".join(
        f"`{name}` for {text.count(count, 'transfer')}"
        for name, count in counted(found.setups).items()
    )
    if population.reading is not None:
        yield population.reading
    yield f"Senders are replayed as {replayed}; receivers as Linux 6.18{_delays(found)}."
    yield f"The initial window is {text.count(population.initial_window, 'segment')}."
    yield (
        f"{text.count(len(found.setups), 'simulated path represents', 'simulated paths represent')} those "
        "of the capture. Each has a round-trip time, which contains the queues of other traffic, and "
        "the losses of the law."
    )
    limited = [part for part in found.setups if part.rate_bps is not None]
    if limited:
        count = sum(len(part.sizes) for part in limited)
        yield (
            f"For {text.count(count, 'transfer')}, the slowest link has the rate at which the receiver "
            "acknowledged flights, and an unlimited buffer. All other links have no limit."
        )
    else:
        yield "No link has a limited rate or a queue."
    yield "Each transfer is one write, on a connection whose round-trip time is known."
    if population.losses_differ:
        classes = sorted({part.loss_factor for part in found.setups})
        shown = ", ".join(text.plain(each, 2) for each in classes)
        yield (
            f"Losses differ between addresses. Their classes have {shown} times the losses of the law."
        )
    else:
        yield "The losses of all connections follow one law."
    yield "Acknowledgments and requests are not lost."
    if law.bursty:
        yield (
            "A burst has a number of packets that does not depend on their sizes. Transfers to the "
            "same address share it, at the rate of the capture or one in a round trip."
        )
    if not law.is_expressible:
        yield "The loss law of the capture is only approximated: its bursts and its sizes together."
    for reason, count in population.left_out.items():
        yield f"{text.count(count, 'transfer is', 'transfers are')} left out: {reason}."


def _delays(found: Advice) -> str:
    """Return the words about receivers that delay acknowledgments."""
    delayed = [(part.ack_delay_s, len(part.sizes)) for part in found.setups if part.ack_delay_s]
    if not delayed:
        return ""
    count = text.count(sum(number for _, number in delayed), "transfer")
    times = ", ".join(text.plain(1e3 * each, 0) for each in sorted({delay for delay, _ in delayed}))
    return f". For {count} they delay acknowledgments of lone segments by {times} ms, as in the capture"


def as_json(found: Advice) -> dict[str, Any]:
    """Return plain data."""
    best, population = found.recommended, found.population
    return {
        "file": found.name,
        "answer": found.answer,
        "recommended": None if best is None else best.remedy.name,
        "text": " ".join(paragraph(found)),
        "assumptions": list(assumptions(found)),
        "direction": population.direction,
        "port": population.port,
        "transfers": population.transfers.height,
        "transfers_with_retransmissions": population.lossy,
        "transfers_left_out": population.left_out,
        "lost_time_s": population.lost_time_s,
        "initial_window_segments": population.initial_window,
        "loss_law": found.law.to_dict(),
        "setups": [each.to_dict() for each in found.setups],
        "laws": [each.name for each in found.laws],
        "seeds": list(found.seeds),
        "transfers_of_a_run": found.transfers,
        "unfinished": found.unfinished,
        "checks": [
            {
                "percentile": each.name,
                "captured_s": each.captured.to_dict(),
                "replayed_s": None if each.replayed is None else each.replayed.to_dict(),
                "over_laws_s": None if each.over_laws is None else list(each.over_laws),
                "agrees": each.agrees,
            }
            for each in found.checks
        ],
        "remedies": [_remedy_data(each, _sender(found, each.remedy)) for each in found.results],
    }


def _remedy_data(result: RemedyResult, sender: str) -> dict[str, Any]:
    policy = result.remedy.policy(sender)
    return {
        "name": result.remedy.name,
        "verdict": result.verdict,
        "reason": result.reason,
        "apply": result.remedy.application(sender),
        "policy": None if policy is None else str(policy),
        "measures": {key: value.to_dict() for key, value in result.measures.items()},
    }
