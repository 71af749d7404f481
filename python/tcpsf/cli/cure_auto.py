"""`tcpsf cure auto`: remedies by prefix of the peers' addresses, as long as they help."""

from __future__ import annotations

import json as json_format
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any, Final

import click

from tcpsf import _core
from tcpsf.cli.cure import SLICE_S, running_target
from tcpsf.cli.cure_prefixes import MOST_SHOWN, prefix_state, prefix_table
from tcpsf.cli.cure_trial import STATUS, explain_unmeasured, plain_result, times
from tcpsf.cli.output import print_message, print_result
from tcpsf.cli.signals import handling
from tcpsf.cure import Attachment, CurePolicy, CureTarget, PeerPrefix, attached
from tcpsf.cure.attachment import TrialArm, measured
from tcpsf.cure.auto import MOST_ARMS, AutoPart, AutoPhase, AutoRule, AutoTrials, AutoVerdict
from tcpsf.cure.candidates import USUAL, advised
from tcpsf.cure.control import controlled
from tcpsf.cure.devices import chosen
from tcpsf.cure.trial import TrialVerdict
from tcpsf.errors import TcpsfError
from tcpsf.text import plain

LOOK_S: Final = 1.0
"""Time between two comparisons in seconds."""
REPORT_S: Final = 10.0
"""Time between two lines about the state in seconds."""


def auto(
    *,
    policies: Sequence[str],
    advice: Path | None,
    ports: Sequence[int],
    peers: Sequence[PeerPrefix],
    devices: Sequence[str],
    cgroup: Path | None,
    anyway: bool,
    longest_s: float | None,
    least_gain: float,
    prefix_v4: int,
    prefix_v6: int,
    json: bool,
) -> None:
    """Try remedies for each prefix in turn, and keep the first that helps as long as it does."""
    candidates = _candidates(policies, advice)
    target = running_target(ports=ports, peers=peers, devices=devices, cgroup=cgroup, anyway=anyway)
    rule = AutoRule(
        least_gain=least_gain, prefix_v4=prefix_v4, prefix_v6=prefix_v6, longest_s=longest_s
    )
    with ExitStack() as stack:
        kernel = stack.enter_context(measured(target))
        running = _Auto(target, candidates, kernel, stack, json=json)
        running.begin(rule)
        with handling(running.stop):
            verdict = running.until_over()
        running.sum_up()
        unmeasured = kernel.counts()
    explain_unmeasured(unmeasured)
    raise click.exceptions.Exit(STATUS[verdict])


def _candidates(policies: Sequence[str], advice: Path | None) -> list[CurePolicy]:
    if policies and advice is not None:
        raise TcpsfError(
            "cannot choose remedies: both `--policy` and `--advice` are given",
            hint="give one of them",
        )
    if advice is not None:
        return advised(advice)
    if len(policies) > MOST_ARMS:
        raise TcpsfError(
            f"cannot try {len(policies)} remedies: expected at most {MOST_ARMS}",
            hint="`tcpsf advise` names the few that help",
        )
    return [CurePolicy.parse(each) for each in policies or USUAL]


class _Auto:
    """Trials that are running, with the policies that they have attached so far."""

    def __init__(
        self,
        target: CureTarget,
        candidates: Sequence[CurePolicy],
        kernel: _core.RemedyTrial,
        stack: ExitStack,
        *,
        json: bool,
    ) -> None:
        self._target, self._candidates, self._kernel = target, candidates, kernel
        self._stack, self._json = stack, json
        self._devices = [device.name for device in chosen(target.devices)]
        self._attached: dict[int, Attachment] = {}
        self._refused: dict[int, TcpsfError] = {}
        self._signals: list[int] = []
        self._started_s = time.time()
        self._looked_s = self._reported_s = time.monotonic()
        self._trials: AutoTrials

    def begin(self, rule: AutoRule) -> None:
        """Begin with one part for all peers, and answer requests."""
        self._trials = AutoTrials(
            self._kernel,
            self._candidates,
            rule,
            attach=self._attach,
            now_s=time.monotonic(),
        )
        if self._candidates and len(self._refused) == len(self._candidates):
            raise self._refused[len(self._candidates) - 1]
        self._control = self._stack.enter_context(controlled(self.state))
        if self._json:
            print_result(json_format.dumps({"event": "attached"} | self.state()))
        else:
            names = ", ".join(map(str, self._candidates))
            print_message(f"{names} for {self._target} at {', '.join(self._devices)}")
            print_message("Connections are measured without a remedy.")

    def _attach(self, number: int) -> bool:
        """Attach a candidate, unless it is. Returns whether the kernel can apply it."""
        if number in self._refused:
            return False
        if number not in self._attached:
            policy, arm = self._candidates[number], TrialArm(self._kernel, number)
            try:
                found = self._stack.enter_context(attached(policy, self._target, arm=arm))
            except TcpsfError as error:
                self._refused[number] = error
                print_message(f"{policy} is left out: {error}")
                return False
            self._attached[number] = found
        return True

    def stop(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal."""
        self._signals.append(number)

    def until_over(self) -> TrialVerdict:
        """Run the trials until a signal, a request, or until no part tries or keeps a remedy."""
        while not self._trials.is_over:
            if self._control.serve(SLICE_S) or self._signals:
                break
            now_s = time.monotonic()
            for part in self._trials.add(self._kernel.transfers(), now_s):
                self._announce(part)
            if now_s - self._looked_s >= LOOK_S:
                self._looked_s = now_s
                for verdict in self._trials.advance(now_s):
                    self._show(verdict)
                self._report(now_s)
        if self._trials.keeps_any:
            return TrialVerdict.KEEP
        return TrialVerdict.WITHDRAW if self._trials.is_over else TrialVerdict.NOT_ENOUGH_DATA

    def _announce(self, part: AutoPart) -> None:
        if self._json:
            print_result(json_format.dumps({"event": "prefix", "peers": part.name}))
        else:
            print_message(f"{part.name} has trials of its own.")

    def _show(self, verdict: AutoVerdict) -> None:
        result, part, policy = verdict.result, verdict.part, verdict.policy
        if self._json:
            names = {"peers": part.name, "policy": str(policy)}
            print_result(json_format.dumps({"event": "trial"} | names | plain_result(result)))
            return
        effect = "" if result.effect is None else f"; effect {times(result.effect)}"
        text = f"{part.name}, {policy}: {result.verdict.value}: {result.reason}{effect}"
        print_message(text)

    def _report(self, now_s: float) -> None:
        if self._json or now_s - self._reported_s < REPORT_S:
            return
        self._reported_s = now_s
        parts = self._parts()
        count = sum(part.connections for part in parts)
        phases = [part.phase for part in parts]
        print_message(
            f"{plain(count, 0)} connections; {len(parts)} groups of peers: "
            f"{phases.count(AutoPhase.KEPT)} with a remedy, {phases.count(AutoPhase.NONE)} without, "
            f"{phases.count(AutoPhase.BEFORE) + phases.count(AutoPhase.TRIAL)} in a trial"
        )

    def _parts(self) -> list[AutoPart]:
        """Return the parts, that with most connections first, and the rest at the end."""
        by_size = sorted(self._trials.prefixes.values(), key=lambda part: -part.connections)
        return [*by_size, self._trials.rest]

    def state(self, *, most: int = MOST_SHOWN) -> dict[str, Any]:
        """Return the state as plain data, with at most this number of prefixes."""
        counts = [each.counts() for each in self._attached.values()]
        target, parts = self._target, self._parts()
        shown = parts if len(parts) <= most else [*parts[: most - 1], parts[-1]]
        return {
            "pid": os.getpid(),
            "policy": f"auto({', '.join(map(str, self._candidates))})",
            "mechanism": "bpf",
            "ports": list(target.ports),
            "peers": list(map(str, target.peers)),
            "cgroup": None if target.group is None else str(target.group.folder),
            "devices": self._devices,
            "running_s": round(time.time() - self._started_s, 3),
            "copies": sum(each.copies for each in counts),
            "copied_bytes": sum(each.copied_bytes for each in counts),
            "connections": sum(part.connections for part in parts),
            "refused_settings": sum(each.refused for each in counts),
            "cut_writes": sum(each.cut_writes for each in counts),
            "cuts": sum(each.cuts for each in counts),
            "prefixes": [prefix_state(self._trials, part) for part in shown],
            "further_prefixes": len(parts) - len(shown),
        }

    def sum_up(self) -> None:
        """Print the state at the end."""
        state = self.state(most=len(self._parts()))
        if self._json:
            print_result(json_format.dumps({"event": "summary"} | state))
            return
        print_result(prefix_table(state["prefixes"], state["further_prefixes"]))
        if not self._trials.keeps_any:
            print_message("No remedy is kept.")
