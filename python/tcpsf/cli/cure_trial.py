"""`tcpsf cure trial`: a remedy for half of the connections, and the comparison."""

from __future__ import annotations

import json as json_format
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from tcpsf import _core
from tcpsf.cli.cure import SLICE_S, CureSession, running_target, session
from tcpsf.cli.output import print_message, print_result
from tcpsf.cli.signals import handling
from tcpsf.cure import Attachment, CurePolicy, CureTarget, PeerPrefix
from tcpsf.cure.attachment import TrialArm, measured
from tcpsf.cure.peers import ALL
from tcpsf.cure.trial import (
    HALF,
    CureTrial,
    TrialDecision,
    TrialGroup,
    TrialResult,
    TrialRule,
    TrialVerdict,
)
from tcpsf.sequential import AnytimeDifference
from tcpsf.text import number, plain, seconds, seconds_estimate, table

LOOK_S: Final = 1.0
"""Time between two comparisons in seconds."""
REPORT_S: Final = 10.0
"""Time between two lines about the state in seconds."""

NAMES: Final = {"before": "before the trial", "without": "without", "remedied": "with the remedy"}
"""Rows of the table by the name of a group."""

STATUS: Final = {TrialVerdict.KEEP: 0, TrialVerdict.WITHDRAW: 3, TrialVerdict.NOT_ENOUGH_DATA: 4}
"""Exit status by verdict."""


def trial(
    *,
    policy: str,
    ports: Sequence[int],
    peers: Sequence[PeerPrefix],
    devices: Sequence[str],
    cgroup: Path | None,
    anyway: bool,
    longest_s: float | None,
    least_gain: float,
    json: bool,
) -> None:
    """Try a remedy, print the comparison, and exit with the status of the verdict."""
    wanted = CurePolicy.parse(policy)
    target = running_target(ports=ports, peers=peers, devices=devices, cgroup=cgroup, anyway=anyway)
    with _trying(wanted, target, least_gain, json=json) as running:
        found = running.until_decided(longest_s)
        _show(found, json=json)
    raise click.exceptions.Exit(STATUS[found.verdict])


@contextmanager
def _trying(
    policy: CurePolicy, target: CureTarget, least_gain: float, *, json: bool
) -> Iterator[_Trial]:
    """Attach a policy for a trial, and explain at the end what was not measured."""
    rule = TrialRule(least_gain=least_gain, copies=policy.copies_tail)
    with (
        measured(target) as kernel,
        session(policy, target, json=json, arm=TrialArm(kernel, 0)) as current,
        handling(current.stop),
    ):
        yield _Trial(current, kernel, CureTrial(rule))
        unmeasured = kernel.counts()
    explain_unmeasured(unmeasured)


class _Trial:
    """A trial that is running."""

    def __init__(
        self, current: CureSession[Attachment], kernel: _core.RemedyTrial, transfers: CureTrial
    ) -> None:
        self._current = current
        self._kernel = kernel
        self._transfers = transfers
        self._looked_s = self._reported_s = time.monotonic()
        self._is_stopped = False

    def until_decided(self, longest_s: float | None) -> TrialResult:
        """Measure without the remedy, then give it to half, and return the verdict."""
        end_s = None if longest_s is None else time.monotonic() + longest_s
        print_message("Connections are measured without the remedy.")
        while not self._transfers.has_beginning and self._continues(end_s):
            self._report()
        if self._transfers.has_beginning:
            print_message("Half of the new connections get the remedy.")
            self._kernel.assign((ALL.address, ALL.length), share=HALF, arm=0, trial=0)
        found = self._transfers.verdict()
        while found.verdict is TrialVerdict.NOT_ENOUGH_DATA and self._continues(end_s):
            if self._is_time_to_look():
                found = self._transfers.verdict()
                self._report(found)
        return self._transfers.result()

    def _continues(self, end_s: float | None) -> bool:
        """Wait for a moment and take transfers. Returns false at the end, or after a signal."""
        if self._current.control.serve(SLICE_S) or self._current.signals:
            self._is_stopped = True
        self._transfers.add(self._kernel.transfers())
        return not self._is_stopped and (end_s is None or time.monotonic() < end_s)

    def _is_time_to_look(self) -> bool:
        now = time.monotonic()
        if now - self._looked_s < LOOK_S:
            return False
        self._looked_s = now
        return True

    def _report(self, found: TrialDecision | None = None) -> None:
        now = time.monotonic()
        if now - self._reported_s < REPORT_S:
            return
        self._reported_s = now
        before, without, remedied = self._transfers.counts()
        text = f"connections: {before} before, {without} without the remedy, {remedied} with it"
        if found is not None and found.effect is not None:
            text += f"; effect {times(found.effect)}"
        print_message(text)


def _show(found: TrialResult, *, json: bool) -> None:
    if json:
        print_result(json_format.dumps({"event": "trial"} | plain_result(found)))
        return
    head = [
        "connections",
        "",
        "transfers",
        "mean",
        "median",
        "p95",
        "p99",
        "retransmitted",
        "DSACKs",
    ]
    rows = [_row(each) for each in found.groups]
    print_result(table([head, *rows], left=[0]))
    if found.effect is not None:
        print_result(f"\nEffect on the mean completion time: {times(found.effect)}")
    if found.side_effect is not None:
        low, high = found.side_effect.low, found.side_effect.high
        print_result(
            "Retransmitted segments per transfer without the remedy, less those before: "
            f"{plain(found.side_effect.value, 3)} ({plain(low, 3)} to {plain(high, 3)})"
        )
    print_result(f"Verdict: {found.verdict.value}: {found.reason}")


def plain_result(found: TrialResult) -> dict[str, Any]:
    """Return a result as plain data for JSON."""
    data = asdict(found) | {"verdict": found.verdict.value}
    plain_data: dict[str, Any] = json_format.loads(json_format.dumps(data, default=str))
    return plain_data


def _row(group: TrialGroup) -> list[str]:
    quantiles = (group.median_s, group.p95_s, group.p99_s)
    return [
        NAMES[group.name],
        plain(group.connections, 0),
        plain(group.transfers, 0),
        seconds(group.mean_s),
        *(seconds_estimate(each) for each in quantiles),
        number(group.retransmitted, 3),
        number(group.dsacks, 3),
    ]


def times(found: AnytimeDifference) -> str:
    """Print a difference of times with its interval, in milliseconds."""
    value, low, high = (plain(1e3 * each, 1) for each in (found.value, found.low, found.high))
    return f"{value} ms ({low} to {high})"


def explain_unmeasured(counts: Sequence[int]) -> None:
    """Print how many connections were left out, and how many transfers were lost."""
    *_, left_out, lost = counts
    if left_out:
        print_message(
            f"{plain(left_out, 0)} connections without TCP timestamps were left out, because their "
            "slow transfers cannot be measured."
        )
    if lost:
        print_message(f"{plain(lost, 0)} transfers ended faster than they could be read.")
