"""`tcpsf advise`: replay the transfers of a capture with remedies for losses."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tcpsf.advice import REMEDIES, advise, remedy
from tcpsf.cli.file_checks import put, staged_page
from tcpsf.cli.output import print_result
from tcpsf.cli.progress import bar
from tcpsf.report.advice_page import advice_page

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
    report: Path | None,
    force: bool,
) -> None:
    """Replay the capture, print the advice and, with ``report``, write the page."""
    chosen = tuple(map(remedy, remedies)) or REMEDIES
    with staged_page(report, replace=force) as page:
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
        put(page, report, lambda: advice_page(found))
    if json:
        print_result(json_format.dumps({"schema": ADVICE_SCHEMA, **found.to_dict()}))
    else:
        print_result(str(found))
