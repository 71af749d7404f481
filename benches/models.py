"""Measure the CPU seconds of each closed model on a grid of a million points; the target is 1 s.

python benches/models.py
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import word

from tcpsf.models import packet_discard as pd
from tcpsf.models import santa_cruz as sc
from tcpsf.models import short_flows as sf
from tcpsf.models import smart_framing as small

POINTS = 1_000_000
TARGET_S = 1.0
TURNS = 3


def main() -> int:
    """Measure each model, print the best of `TURNS` turns, and return the exit status."""
    rng = np.random.default_rng(1)
    loss, rtt = rng.uniform(1e-4, 0.45, POINTS), rng.uniform(0.005, 0.4, POINTS)
    size = rng.uniform(500, 5e5, POINTS)
    window = rng.integers(8, 64, POINTS).astype(float)
    lost = np.stack([np.zeros(POINTS), np.floor(window / 2), window - 1], axis=-1)
    times = np.cumsum(rng.uniform(0.001, 0.01, POINTS))
    models: dict[str, Callable[[], Any]] = {
        "smart_framing.classic": lambda: small.classic(loss, rtt=rtt).waste_fraction,
        "smart_framing.fixed_size": lambda: small.fixed_size(loss, rtt=rtt).waste_fraction,
        "smart_framing.variable_size": lambda: small.variable_size(loss, rtt=rtt).waste_fraction,
        "short_flows.lossless": lambda: sf.lossless(size, rtt=rtt),
        "short_flows.padhye": lambda: sf.padhye(loss, rtt=rtt),
        "short_flows.padhye, full": lambda: sf.padhye(loss, rtt=rtt, form="full"),
        "short_flows.mathis": lambda: sf.mathis(loss, rtt=rtt),
        "short_flows.steady_state": lambda: sf.steady_state(size, loss, rtt=rtt),
        "short_flows.short_flow": lambda: sf.short_flow(size, loss, rtt=rtt),
        "short_flows.latency": lambda: sf.latency(size, loss, rtt=rtt).total_s,
        "packet_discard.recovers": lambda: pd.recovers(window, lost),
        "packet_discard.third_repaired": lambda: pd.third_repaired(window, apart=lost[:, 1]),
        "santa_cruz.relative_delay": lambda: sc.relative_delay(times, times + loss),
        "santa_cruz.queue_estimate": lambda: sc.queue_estimate(
            times, times + 1.0, windows=np.full(1000, POINTS // 1000)
        ),
    }
    missed = 0
    print(f"{POINTS} points, CPU time, best of {TURNS}; target {TARGET_S:g} s")
    for name, compute in models.items():
        best = min(_seconds(compute) for _ in range(TURNS))
        missed += best > TARGET_S
        print(f"  {name:32}{best:7.3f} s  {word(best <= TARGET_S)}")
    return 1 if missed else 0


def _seconds(compute: Callable[[], Any]) -> float:
    began = time.process_time()
    compute()
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
