"""`tcpsf advise`: replay the transfers of a capture with remedies for losses."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tcpsf.advice import REMEDIES, advise, remedy
from tcpsf.cli.output import print_result
from tcpsf.cli.progress import bar

ADVICE_SCHEMA = "tcpsf.advise/1"


def command(
    *,
    file: Path,
    direction: Literal["originator", "responder"] | None,
    port: int | None,
    sender: str | None,
    remedies: Sequence[str],
    seed: int,
    runs: int,
    workers: int | None,
    json: bool,
) -> None:
    """Replay the capture and print the advice."""
    chosen = tuple(map(remedy, remedies)) or REMEDIES
    with bar("replaying") as progress:
        found = advise(
            file,
            direction=direction,
            port=port,
            sender=sender,
            remedies=chosen,
            runs=runs,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    if json:
        print_result(json_format.dumps({"schema": ADVICE_SCHEMA, **found.to_dict()}))
    else:
        print_result(str(found))
