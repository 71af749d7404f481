"""`tcpsf cure auto`: parts by prefix, and their trials. The kernel is replaced by a record of assignments."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from ipaddress import ip_address

import pytest
from conftest import Command

from tcpsf.cure import CurePolicy
from tcpsf.cure.auto import (
    LEAST_REST,
    MOST,
    AutoPart,
    AutoPhase,
    AutoRule,
    AutoTrials,
)
from tcpsf.cure.trial import HALF, LEAST_CONNECTIONS, Row, TrialVerdict
from tcpsf.sequential import ERROR

CANDIDATES = [CurePolicy.parse(each) for each in ("dup-tail", "tail(n=4)")]
LOSSY, CLEAN, SIX = "192.0.2.7", "198.51.100.7", "2001:db8:1:2::3"
BEFORE = 2


class FakeKernel:
    """Assignments by prefix, and trials that have ended."""

    def __init__(self) -> None:
        self.assigned: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.ended: list[int] = []

    def assign(self, prefix: tuple[int, int], *, share: int, arm: int, trial: int) -> None:
        self.assigned[prefix] = share, arm, trial

    def end(self, trial: int) -> None:
        self.ended.append(trial)

    def of(self, address: int) -> tuple[int, int, int]:
        """Assignment of an address: that of the longest prefix."""
        matching = (
            (length, found)
            for (first, length), found in self.assigned.items()
            if address >> (128 - length) == first >> (128 - length)
        )
        return max(matching)[1]


class Clients:
    """Connections that the kernel assigns, one after the other, with a transfer each."""

    def __init__(self, rule: AutoRule, refused: Iterable[int] = ()) -> None:
        self.kernel = FakeKernel()
        self.attached: list[int] = []
        self.refused = set(refused)
        self.trials = AutoTrials(self.kernel, CANDIDATES, rule, attach=self.attach, now_s=0.0)
        self.cookies = itertools.count()
        self.verdicts: list[tuple[str, str, TrialVerdict]] = []

    def attach(self, number: int) -> bool:
        if number in self.refused:
            return False
        if number not in self.attached:
            self.attached.append(number)
        return True

    def connect(self, client: str, count: int, *, slow: int = 0, helped: int = 0) -> None:
        """Add connections. In 20, ``slow`` are slow without a remedy, and ``helped`` with one."""
        text = client if ":" in client else f"::ffff:{client}"
        address = int(ip_address(text))
        rows: list[Row] = []
        for number in range(count):
            share, _, trial = self.kernel.of(address)
            cookie = next(self.cookies)
            remedied = share > 0 and (number % 2 == 0 if share == HALF else number % 16 > 0)
            group = (1 if remedied else 0) if share else BEFORE
            is_slow = number // 2 % 20 < (helped if remedied else slow)
            duration_ns = 300_000_000 if is_slow else 20_000_000 + number % 7 * 1000
            row = (cookie, duration_ns, group, 1000, 0, 0, 20_000, 1, trial, address)
            rows += [row, (*row[:7], 2, trial, address)]
            self.trials.add(rows, 0.0)
            rows = []

    def advance(self, now_s: float = 0.0) -> None:
        for each in self.trials.advance(now_s):
            self.verdicts.append((each.part.name, str(each.policy), each.result.verdict))

    def part(self, name: str) -> AutoPart:
        return next(each for each in self.trials.prefixes.values() if each.name == name)


def clients(**rule: float) -> Clients:
    return Clients(AutoRule(least_gain=0.01, **rule))  # type: ignore[arg-type]


def test_each_prefix_has_its_own_remedy() -> None:
    found = clients()
    for _ in range(60):
        found.connect(LOSSY, 80, slow=3, helped=0)
        found.connect(CLEAN, 80)
        found.advance()
    lossy, clean = found.part("192.0.2.0/24"), found.part("198.51.100.0/24")
    assert (lossy.phase, clean.phase) == (AutoPhase.KEPT, AutoPhase.NONE)
    assert ("192.0.2.0/24", "dup-tail", TrialVerdict.KEEP) in found.verdicts
    assert [each for each in found.verdicts if each[0] == clean.name] == [
        (clean.name, "dup-tail", TrialVerdict.WITHDRAW),
        (clean.name, "tail(n=4)", TrialVerdict.WITHDRAW),
    ]
    address = int(ip_address(f"::ffff:{LOSSY}"))
    assert found.kernel.of(address) == (MOST, 0, lossy.trial)
    assert found.kernel.of(int(ip_address(f"::ffff:{CLEAN}")))[0] == 0
    assert found.trials.keeps_any
    assert not found.trials.is_over


def test_a_remedy_is_withdrawn_for_one_prefix() -> None:
    found = clients()
    for _ in range(60):
        found.connect(LOSSY, 80, slow=3)
        found.connect(SIX, 80, slow=3)
        found.advance()
    kept = found.part("192.0.2.0/24")
    trial = kept.trial
    assert [each.phase for each in found.trials.prefixes.values()] == [AutoPhase.KEPT] * 2
    for _ in range(200):
        found.connect(LOSSY, 80, slow=3, helped=10)
        found.advance()
    assert kept.phase is not AutoPhase.KEPT
    assert trial in found.kernel.ended
    assert found.part("2001:db8:1::/48").phase is AutoPhase.KEPT


def test_small_prefixes_have_one_trial_together() -> None:
    found = clients()
    for number in range(LEAST_REST // 50):
        found.connect(f"203.0.{number}.1", 50)
    found.advance()
    rest = found.trials.rest
    assert not found.trials.prefixes
    assert (rest.phase, rest.connections) == (AutoPhase.TRIAL, LEAST_REST)
    found.connect("203.0.0.9", 60)
    assert [each.name for each in found.trials.prefixes.values()] == ["203.0.0.0/24"]
    # Half of its connections were in the trial of the rest, and do not count as those before it.
    assert found.part("203.0.0.0/24").measured.counts() == (60, 0, 0)
    assert rest.measured.counts()[0] == LEAST_REST - 50
    assert rest.connections == LEAST_REST - 50


def test_the_rest_begins_anew_without_its_beginning() -> None:
    found = clients()
    for number in range(6):
        found.connect(f"203.0.{number}.1", LEAST_CONNECTIONS - 10)
    found.advance()
    rest, trial = found.trials.rest, found.trials.rest.trial
    assert rest.phase is AutoPhase.TRIAL
    for number in range(5):
        found.connect(f"203.0.{number}.1", 10)
    assert len(found.trials.prefixes) == 5
    assert found.trials.rest.phase is AutoPhase.BEFORE
    assert rest.trial != trial
    assert rest.measured.counts() == (LEAST_CONNECTIONS - 10, 0, 0)


def test_connections_of_earlier_trials_are_ignored() -> None:
    found = clients()
    found.connect(LOSSY, LEAST_CONNECTIONS)
    part = found.part("192.0.2.0/24")
    address = int(ip_address(f"::ffff:{LOSSY}"))
    old: Row = (10**6, 20_000_000, 1, 1000, 0, 0, 20_000, 1, 1, address)
    found.trials.add([old, (*old[:8], 10**5, address)], 0.0)
    assert part.measured.counts() == (LEAST_CONNECTIONS, 0, 0)
    assert found.trials.rest.measured.counts() == (0, 0, 0)


def test_a_remedy_that_the_kernel_refuses_is_left_out() -> None:
    found = Clients(AutoRule(least_gain=0.01), refused=[0])
    assert found.attached == [1]
    assert str(found.trials.policy(found.trials.rest)) == "tail(n=4)"
    found = Clients(AutoRule(least_gain=0.01), refused=[0, 1])
    assert found.trials.is_over


def test_a_trial_ends_after_its_longest_time() -> None:
    found = clients(longest_s=10.0)
    found.connect(LOSSY, LEAST_CONNECTIONS)
    for now_s in (5.0, 11.0, 22.0):
        found.advance(now_s)
    names = {name for name, _, _ in found.verdicts}
    assert names == {"others", "192.0.2.0/24"}
    assert {each for _, _, each in found.verdicts} == {TrialVerdict.NOT_ENOUGH_DATA}
    assert found.trials.is_over


def test_the_error_is_divided_among_all_trials() -> None:
    found = clients()
    for number in range(20):
        found.connect(f"203.0.{number}.1", LEAST_CONNECTIONS)
    errors = [part.measured.rule.error for part in found.trials.prefixes.values()]
    assert len(set(errors)) == 20
    assert sum(errors) + found.trials.rest.measured.rule.error < ERROR


def test_no_more_than_64_remedies(tcpsf: Command) -> None:
    policies = [f"--policy=iw={each % 64 + 1}" for each in range(65)]
    answer = tcpsf("cure", "auto", "--port=80", *policies)
    assert answer.status == 2
    assert answer.err.startswith("error: cannot try 65 remedies: expected at most 64\nhint: ")


@pytest.mark.parametrize("length", ["33", "-1", "x"])
def test_bad_lengths_of_prefixes_are_refused(tcpsf: Command, length: str) -> None:
    answer = tcpsf("cure", "auto", "--port=80", f"--prefix-v4={length}")
    assert answer.status == 2
    assert answer.err.startswith(f"error: `--prefix-v4 {length}`: ")
