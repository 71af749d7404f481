"""Compare the loss law of live captures with the links that the kernel's TCP sent over.

The kernel's TCP sends replies of 1 to 30 segments over two links with independent losses. Captures at
the sender, in the middle and at the receiver must agree with the loss of both links together, although
those at the other places do not show every loss.

    python verification/loss_law_kernel.py

It needs root. A loss passes if it is in the 99 % interval, and losses must not come in bursts.
"""

# ruff: noqa: T201 (this program prints verdicts)

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from capture_kernel import LossyPath, transfer

from tcpsf.captures import CaptureTables, analyze
from tcpsf.captures.law import LossLaw
from tcpsf.captures.laws import loss_laws

LOSS: Final = 0.03
"""Loss of each link."""

WIDER: Final = 2.576 / 1.96
"""Width of a 99 % interval in widths of a 95 % interval."""

PATH: Final = LossyPath(rtt_ms=40.0, loss=str(LOSS), segments=[1, 2, 3, 5, 8, 20, 30] * 45, seed=77)


def main() -> int:
    """Send the replies, and judge the law of each capture."""
    if os.geteuid() != 0:
        print("needs root")
        return 77
    with TemporaryDirectory() as name:
        folder = Path(name)
        transfer(PATH, folder)
        judged = [judge(part) for file in ("near", "far") for part in parts(folder / file)]
    return 0 if len(judged) == 3 and all(judged) else 1


def parts(file: Path) -> list[CaptureTables]:
    """Return the tables of each interface of a capture."""
    tables = analyze(file).tables
    found = []
    for interface in sorted(tables.flows["interface"].unique()):
        flows = tables.flows.filter(interface=interface)
        of_flows = {
            name: getattr(tables, name).join(flows, on=["flow", "direction"], how="semi")
            for name in ("transmissions", "losses")
        }
        found.append(tables._replace(flows=flows, **of_flows))
    return found


def judge(tables: CaptureTables) -> bool:
    """Print the law of the replies, and return whether it agrees with the links."""
    (law,) = (law for law in loss_laws(tables) if law.direction == "responder")
    place = tables.flows.filter(direction="responder")["vantage"].mode().sort()[0]
    truth = 1.0 - (1.0 - LOSS) ** 2
    low, high = wider(law)
    good = low <= truth <= high and not law.bursty
    print(
        f"capture at the {place}: {law.losses} of {law.packets} first transmissions were lost, "
        f"{law.excluded} are not counted; loss {law.loss:.4f}, 99 % interval {low:.4f} to "
        f"{high:.4f}, of the links {truth:.4f}: {'good' if good else 'WRONG'}"
    )
    return good


def wider(law: LossLaw) -> tuple[float, float]:
    """Return the 99 % interval of the loss."""
    low, high = law.loss_interval or (law.loss, law.loss)
    return law.loss - WIDER * (law.loss - low), law.loss + WIDER * (high - law.loss)


if __name__ == "__main__":
    sys.exit(main())
