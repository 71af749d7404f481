"""`tcpsf lab`: remedies on this machine, over emulated paths."""

from __future__ import annotations

import itertools
import json as json_format
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from tcpsf.cli.file_checks import put, staged_page
from tcpsf.cli.output import print_message, print_result
from tcpsf.cli.progress import bar
from tcpsf.cli.readers import read_number, read_probability
from tcpsf.cure import CurePolicy
from tcpsf.cure.preload import require_no_privileges
from tcpsf.errors import ScenarioError, TcpsfError
from tcpsf.lab import LabCell, LabLoss, LabMix, LabPath, LabServer, measure, predict
from tcpsf.lab.server import LARGEST
from tcpsf.live.network import enter
from tcpsf.report.lab_page import NOTES, LabResult, as_data, lab_page, table_rows
from tcpsf.runs import Progress
from tcpsf.scenario.files import read_text
from tcpsf.text import table


def lab(
    *,
    command: Sequence[str],
    policies: Sequence[str],
    preload: bool,
    losses: Sequence[str],
    rtts_s: Sequence[float],
    sizes: Sequence[int],
    mixes: Sequence[Path],
    link_rate: str | None,
    link_queue: str | None,
    link_police: str | None,
    downloads: int,
    requests: int,
    rate: float,
    port: int,
    path: str,
    seed: int,
    json: bool,
    report: Path | None,
    force: bool,
) -> None:
    """Measure and predict the cells, and print a table."""
    server = LabServer(
        command=tuple(command),
        port=port,
        path=_checked(path),
        requests=requests,
        rate=rate,
        preload=preload,
    )
    usual = "tail(n=4)" if preload else "dup-tail"
    remedies = [CurePolicy.parse(each) for each in policies or (usual,)]
    if preload:
        for each in remedies:
            require_no_privileges(each)
    wanted = [None, *remedies]
    models = [read_loss(each) for each in losses or ("2%",)]
    _require_limit(downloads, link_rate, link_police)
    link = partial(
        LabPath, rate=link_rate, queue=link_queue, police=link_police, downloads=downloads
    )
    of_files = [read_mix(each) for each in mixes]
    wanted_sizes: list[int | LabMix] = [*sizes, *of_files] or [1200]
    cells = [
        LabCell(path=link(loss=loss, rtt_s=rtt_s), size=size, policy=policy)
        for loss, rtt_s, size, policy in itertools.product(
            models, rtts_s or (0.04,), wanted_sizes, wanted
        )
    ]
    enter()
    limits = f", link towards the client: {cells[0].path}" if str(cells[0].path) else ""
    print_message(f"{len(cells)} cells of about {requests / rate:.0f} s{limits}")
    with staged_page(report, replace=force) as staging:
        found = list(_results(cells, server, seed=seed, json=json))
        put(staging, report, lambda: lab_page(found))
    if not json:
        print_result(table(table_rows(found), left=(0, 3)))
        for note in NOTES:
            print_message(note)


def _results(
    cells: Sequence[LabCell], server: LabServer, *, seed: int, json: bool
) -> Iterator[LabResult]:
    """Measure and predict cells one after the other. With ``json``, print each as a line."""
    with bar("measuring", unit="cells") as move:
        for number, cell in enumerate(cells):
            if move is not None:
                move(Progress(number / len(cells), number, len(cells)))
            result = LabResult(
                cell=cell,
                measured=measure(cell, server, seed=seed),
                predicted=predict(cell, rate=server.rate, seed=seed),
            )
            if json:
                print_result(json_format.dumps(as_data(result)))
            yield result


def read_loss(text: str) -> LabLoss:
    """Read a loss model. Raises `TcpsfError` for another text."""
    if text == "none":
        return LabLoss("none")
    kind, _, rest = text.rpartition(":")
    share, comma, run = rest.partition(",")
    kind = kind or "packet"
    try:
        probability, length = read_probability(share), read_number(run) if comma else 1.0
    except ValueError:
        probability = length = 0.0
    is_known = kind in ("packet", "burst", "byte") and bool(comma) is (kind == "burst")
    if not is_known or not 0.0 < probability < 1.0 or not 1.0 <= length <= 1000.0:
        raise TcpsfError(
            f"cannot read the loss model `{text}`",
            hint="e.g. `none`, `2%`, `burst:2%,3` (a share of the packets, in runs of 3), "
            "`byte:0.00002`",
        )
    return LabLoss(kind, probability, length)


def read_mix(file: Path) -> LabMix:
    """Read sizes of responses from a text file. Raises `TcpsfError` if it has anything else."""
    try:
        words = read_text(file).split()
    except ScenarioError as error:
        raise TcpsfError(
            f"cannot read the sizes of `{file}`: {error}",
            hint="a text file has one size in bytes per line",
        ) from None
    sizes = tuple(int(word) if word.isdecimal() else 0 for word in words)
    for word, size in zip(words, sizes, strict=True):
        if not 1 <= size <= LARGEST:
            raise TcpsfError(
                f"cannot read the sizes of `{file}`: `{word[:40]}` is not a number of bytes",
                hint=f"a size is at least 1 and at most {LARGEST}, without a unit, one per line",
            )
    if not sizes:
        raise TcpsfError(
            f"cannot read the sizes of `{file}`: it is empty", hint="one size in bytes per line"
        )
    return LabMix(file.stem, sizes)


def _require_limit(downloads: int, rate: str | None, police: str | None) -> None:
    """Raise `TcpsfError` for downloads over a link without a limit."""
    if downloads and rate is None and police is None:
        raise TcpsfError(
            "cannot run downloads over a link without a rate: they would use the whole machine",
            hint="limit the link, e.g. `--down-rate 10mbit --down-queue 60kB`",
        )


def _checked(path: str) -> str:
    """Return a path of requests, which may name the size."""
    try:
        path.format(size=1)
    except (KeyError, IndexError, ValueError):
        raise TcpsfError(
            f"cannot read the path `{path}`: only {{size}} may be in braces",
            hint="e.g. `/{size}` or `/index.html`",
        ) from None
    if not path.startswith("/"):
        raise TcpsfError(
            f"cannot read the path `{path}`: it begins with `/`", hint="e.g. `/{size}`"
        )
    return path
