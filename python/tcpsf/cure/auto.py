"""Trials of several remedies by prefix of the peers' addresses.

The clients of a network share a path. So each prefix with enough connections is a *part* with trials,
verdicts and a remedy of its own. Prefixes with fewer connections are one part together, the rest. A part
tries the candidates in turn and independently of other parts: it measures connections as they are, gives
the remedy to half of the new ones, and then keeps it for most or tries the next one. It ends without a
remedy if none helps.

The error is divided among all trials: that with the number k has ``ERROR / (k (k + 1))``, and the sum of
these is ``ERROR``. So the intervals of all effects together, of every part and remedy, contain the true
effects at all times with the probability ``1 - ERROR`` (the union bound).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tcpsf.cure.peers import ALL, PeerPrefix
from tcpsf.cure.policy import CurePolicy
from tcpsf.cure.trial import (
    HALF,
    LEAST_CONNECTIONS,
    CureTrial,
    Row,
    TrialResult,
    TrialRule,
    TrialVerdict,
)
from tcpsf.sequential import ERROR

MOST = 240
"""Share with the remedy after the trial, in 256ths: the others show whether it still helps."""
MOST_PREFIXES = 1024
"""Most prefixes with trials of their own; later ones stay in the rest."""
MOST_SEEN = 4096
"""Most prefixes of the rest whose connections are counted; beyond, the oldest is forgotten."""
LEAST_REST = 5 * LEAST_CONNECTIONS
"""Connections of the rest before its trial, so that large prefixes leave it first."""
SMALL_REST = 0.05
"""Share of the connections below which the rest is not waited for."""
MOST_ARMS = 64
"""Most candidates: their numbers have six bits in the kernel."""


class AutoKernel(Protocol):
    """Assignment of connections, as `_core.RemedyTrial` has it."""

    def assign(self, prefix: tuple[int, int], *, share: int, arm: int, trial: int) -> None:
        """Assign the connections with a prefix from now on."""

    def end(self, trial: int) -> None:
        """End the copies for all connections of a trial."""


class AutoPhase(enum.Enum):
    """State of a part."""

    BEFORE = "before"
    """Connections are measured without a remedy."""
    TRIAL = "trial"
    """Half of the connections have the remedy."""
    KEPT = "kept"
    """Most connections have the remedy."""
    NONE = "none"
    """No remedy has helped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoRule:
    """How parts are made and trials are decided."""

    least_gain: float
    """Least useful reduction of the mean completion time, as a share of it."""
    prefix_v4: int = 24
    """Length of IPv4 prefixes in bits."""
    prefix_v6: int = 48
    """Length of IPv6 prefixes in bits."""
    longest_s: float | None = None
    """Longest time of a trial in seconds."""


@dataclass(frozen=True, slots=True)
class AutoVerdict:
    """Verdict of a trial."""

    part: AutoPart
    policy: CurePolicy
    result: TrialResult


@dataclass(slots=True, eq=False)
class AutoPart:
    """Peers with the same trials."""

    prefix: PeerPrefix | None
    """``None`` for the rest."""
    measured: CureTrial
    """Transfers of the current trial."""
    phase: AutoPhase = AutoPhase.BEFORE
    candidate: int = 0
    """Number of the remedy in the current trial."""
    trial: int = 0
    """Number of the trial in the kernel's records."""
    began_s: float = 0.0
    connections: int = 0
    """Connections with a transfer so far, of all trials."""
    is_changed: bool = False
    latest: AutoVerdict | None = None

    @property
    def name(self) -> str:
        """The prefix, or that the part is the rest."""
        return "others" if self.prefix is None else str(self.prefix)


@dataclass(slots=True)
class _Seen:
    """A prefix of the rest."""

    measured: CureTrial
    connections: int = 0


@dataclass(slots=True, eq=False)
class _Rest(AutoPart):
    seen: dict[PeerPrefix, _Seen] = field(default_factory=dict)
    """The prefixes in the order of their latest transfer."""
    forgotten: CureTrial | None = None
    """Transfers of the current trial with prefixes that are no longer counted."""

    def parts(self) -> list[CureTrial]:
        """Return the transfers of the current trial by prefix."""
        found = [each.measured for each in self.seen.values()]
        return found if self.forgotten is None else [*found, self.forgotten]

    def forget_oldest(self) -> None:
        """Count the connections of the prefix with the oldest transfer no longer."""
        oldest = self.seen.pop(next(iter(self.seen)))
        if self.forgotten is None:
            self.forgotten = self.measured.empty()
        self.forgotten.update(oldest.measured)


class AutoTrials:
    """Parts with their trials. Time is an argument, in seconds."""

    def __init__(
        self,
        kernel: AutoKernel,
        candidates: Sequence[CurePolicy],
        rule: AutoRule,
        *,
        attach: Callable[[int], bool],
        now_s: float,
    ) -> None:
        """Begin with one part for all peers.

        ``attach`` attaches the candidate with a number, unless it is, and returns whether the kernel
        can apply it.
        """
        self._kernel, self._candidates, self._rule = kernel, candidates, rule
        self._attach = attach
        self._trials = self._numbers = 0
        self._by_trial: dict[int, AutoPart] = {}
        self.rest = _Rest(None, CureTrial(TrialRule(least_gain=rule.least_gain, copies=False)))
        self.prefixes: dict[PeerPrefix, AutoPart] = {}
        """The parts of prefixes, in the order of their beginning."""
        self._start(self.rest, 0, now_s)

    def add(self, rows: Iterable[Row], now_s: float) -> list[AutoPart]:
        """Add transfers and ends of connections. Returns the parts that begin."""
        begun = []
        for row in rows:
            part = self._by_trial.get(row[8])
            if part is None:  # the connection was assigned in a trial that has ended
                continue
            if part is not self.rest:
                part.connections += _counted(part.measured, row)
                part.is_changed = True
                continue
            prefix = PeerPrefix.of(row[9], v4=self._rule.prefix_v4, v6=self._rule.prefix_v6)
            if prefix in self.prefixes:  # the connection was accepted before the prefix had a part
                continue
            seen = self._add_to_rest(prefix, row)
            if seen.connections >= LEAST_CONNECTIONS and len(self.prefixes) < MOST_PREFIXES:
                begun.append(self._promote(prefix, seen, now_s))
        return begun

    def _add_to_rest(self, prefix: PeerPrefix, row: Row) -> _Seen:
        """Add a row to the rest and to its prefix there."""
        rest = self.rest
        rest.connections += _counted(rest.measured, row)
        rest.is_changed = True
        seen = rest.seen.pop(prefix, None) or _Seen(rest.measured.empty())
        rest.seen[prefix] = seen
        seen.connections += _counted(seen.measured, row)
        if len(rest.seen) > MOST_SEEN:
            rest.forget_oldest()
        return seen

    def _promote(self, prefix: PeerPrefix, seen: _Seen, now_s: float) -> AutoPart:
        """Make a part of a prefix. The transfers before a trial remain, and leave the rest."""
        rest = self.rest
        del rest.seen[prefix]
        rest.connections -= seen.connections
        remaining = rest.measured.empty()
        for each in rest.parts():
            remaining.update(each)
        rest.measured = remaining
        part = AutoPart(prefix, seen.measured, connections=seen.connections)
        self.prefixes[prefix] = part
        self._start(part, 0, now_s, measured=seen.measured)
        is_running = rest.phase in (AutoPhase.TRIAL, AutoPhase.KEPT)
        if is_running and rest.measured.counts()[0] < LEAST_CONNECTIONS:
            # The comparison with the time before the trial needs the same prefixes.
            self._kernel.end(rest.trial)
            self._start(rest, rest.candidate, now_s, measured=rest.measured)
        return part

    def _next_trial(self, candidate: int) -> CureTrial:
        """Return a trial of a candidate, with its part of the error."""
        self._trials += 1
        rule = TrialRule(
            least_gain=self._rule.least_gain,
            copies=self._candidates[candidate].copies_tail,
            error=ERROR / (self._trials * (self._trials + 1)),
        )
        return CureTrial(rule)

    def _start(
        self, part: AutoPart, candidate: int, now_s: float, *, measured: CureTrial | None = None
    ) -> None:
        """Begin the trial of a candidate, or of the next one that the kernel can apply."""
        while candidate < len(self._candidates) and not self._attach(candidate):
            candidate += 1
        is_none = candidate == len(self._candidates)
        self._by_trial.pop(part.trial, None)
        self._numbers += 1
        part.trial, part.began_s, part.candidate = self._numbers, now_s, candidate
        self._by_trial[part.trial] = part
        part.phase = AutoPhase.NONE if is_none else AutoPhase.BEFORE
        begin = part.measured.empty() if is_none else self._next_trial(candidate)
        if measured is not None:
            begin.add_before(measured)
        part.measured = begin
        part.is_changed = True
        if part is self.rest:
            self._restart_seen(is_kept=measured is not None)
        self._assign(part, 0)

    def _restart_seen(self, *, is_kept: bool) -> None:
        """Begin the trial of the rest for its prefixes, with or without the time before it."""
        rest = self.rest
        for each in rest.seen.values():
            earlier, each.measured = each.measured, rest.measured.empty()
            if is_kept:
                each.measured.add_before(earlier)
        forgotten, rest.forgotten = rest.forgotten, None
        if is_kept and forgotten is not None:
            rest.forgotten = rest.measured.empty()
            rest.forgotten.add_before(forgotten)

    def _assign(self, part: AutoPart, share: int) -> None:
        prefix = part.prefix or ALL
        arm = 0 if part.phase is AutoPhase.NONE else part.candidate
        self._kernel.assign((prefix.address, prefix.length), share=share, arm=arm, trial=part.trial)

    def advance(self, now_s: float) -> list[AutoVerdict]:
        """Decide the trials of all parts. Returns the verdicts."""
        found = []
        for part in [self.rest, *self.prefixes.values()]:
            longest_s = self._rule.longest_s
            is_late = longest_s is not None and now_s - part.began_s >= longest_s
            if part.phase is AutoPhase.NONE or not (part.is_changed or is_late):
                continue
            part.is_changed = False
            if part.phase is AutoPhase.BEFORE:
                least = LEAST_REST if part is self.rest else LEAST_CONNECTIONS
                if part.measured.counts()[0] >= least:
                    part.phase = AutoPhase.TRIAL
                    self._assign(part, HALF)
            verdict = self._decide(part, now_s, is_late=is_late)
            if verdict is not None:
                found.append(verdict)
        return found

    def _decide(self, part: AutoPart, now_s: float, *, is_late: bool) -> AutoVerdict | None:
        decision = part.measured.verdict().verdict
        is_kept = part.phase is AutoPhase.KEPT
        if decision is TrialVerdict.NOT_ENOUGH_DATA and (is_kept or not is_late):
            return None
        if decision is TrialVerdict.KEEP and is_kept:
            return None
        policy = self._candidates[part.candidate]
        part.latest = AutoVerdict(part, policy, part.measured.result())
        if decision is TrialVerdict.KEEP:
            part.phase = AutoPhase.KEPT
            self._assign(part, MOST)
        else:
            self._kernel.end(part.trial)
            self._start(part, part.candidate + 1, now_s)
        return part.latest

    def policy(self, part: AutoPart) -> CurePolicy | None:
        """Return the remedy that a part has or tries."""
        return None if part.phase is AutoPhase.NONE else self._candidates[part.candidate]

    def current(self, part: AutoPart) -> TrialResult | None:
        """Return the comparison of the current trial of a part, or of its last one."""
        if part.phase is AutoPhase.NONE:
            return None if part.latest is None else part.latest.result
        return part.measured.result()

    @property
    def keeps_any(self) -> bool:
        """Whether a part keeps a remedy."""
        return any(each.phase is AutoPhase.KEPT for each in (self.rest, *self.prefixes.values()))

    @property
    def is_over(self) -> bool:
        """Whether no part tries or keeps a remedy. A rest with few connections does not count."""
        if any(each.phase is not AutoPhase.NONE for each in self.prefixes.values()):
            return False
        total = self.rest.connections + sum(each.connections for each in self.prefixes.values())
        is_small = bool(self.prefixes) and self.rest.connections < SMALL_REST * total
        return self.rest.phase is AutoPhase.NONE or is_small


def _counted(measured: CureTrial, row: Row) -> int:
    """Add a row, and return the number of connections that have their first transfer with it."""
    before = sum(measured.counts())
    measured.add([row])
    return sum(measured.counts()) - before
