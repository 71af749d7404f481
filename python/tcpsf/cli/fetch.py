"""`tcpsf fetch`: an HTTP client with tcpsf's own TCP that measures its requests."""

from __future__ import annotations

import contextlib
import json as json_format
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from tcpsf import _core, stats, text
from tcpsf.cli import verbosity
from tcpsf.cli.file_checks import writing
from tcpsf.cli.host import addresses_of, check_files, senders_and_profile
from tcpsf.cli.output import print_result
from tcpsf.cli.progress import bar
from tcpsf.cli.records import Writer, capturing, format_of, plain_write_errors, taken
from tcpsf.cli.signals import Stopped, handling
from tcpsf.distribution import Distribution
from tcpsf.errors import OutputError, TcpsfError, reason
from tcpsf.runs import Progress
from tcpsf.staging import partial_file

if TYPE_CHECKING:
    import polars as pl

SCHEMA = "tcpsf.fetch/1"
SLICE_MS = 100
"""Milliseconds that the client works between two updates of the progress bar."""
CLOSING_S = 2.0
"""Seconds for the last connections to close after their responses are complete."""

QUANTITIES = {
    "handshake_s": "handshake, ms",
    "first_byte_s": "first byte, ms",
    "completion_s": "complete, ms",
}
"""Times from the first SYN, by column, and their headings."""
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def fetch(
    *,
    url: str,
    senders: Sequence[str],
    alternate: str | None,
    profile: str | None,
    requests: int,
    pcap: Path | None,
    records: Path | None,
    out: Path | None,
    json: bool,
    force: bool,
    **settings: Any,
) -> None:
    """Make the requests, and print the times that they take with each sender."""
    check_files(
        {"--records": records, "--pcap": pcap, "--out": out}, printed="the summary", replace=force
    )
    _check_out(out, requests)
    authority, remote, target = _parts(url)
    stack_settings = senders_and_profile(senders, alternate, profile, task="fetch")
    verbosity.detail("server %s, target %s", remote, target)
    writer_of = None if records is None else format_of(records)
    with _Body(out) as body, contextlib.ExitStack() as stack:
        with plain_write_errors("fetch"), _writing_body(out):
            client = _core.Fetch(
                remote=remote,
                authority=authority,
                target=target,
                requests=requests,
                body=body.path,
                **stack_settings,
                **settings,
            )
        if pcap is not None:
            with writing(pcap):
                client.capture(str(pcap))
        writer = (
            None
            if records is None or writer_of is None
            else stack.enter_context(writer_of(records))
        )
        rows, stopped = _rows(client, requests, writer, pcap, out)
        stack.close()
        found = _summary(
            rows,
            url=url,
            address=client.address,
            requests=requests,
            profile=stack_settings["profile"],
        )
        print_result(json_format.dumps(found) if json else as_text(found))
        if stopped is not None:
            raise Stopped(stopped)
        if writer is not None:
            writer.losses.check()
        _check_outcomes(found["failed"], requests, url)
        body.keep()


def _check_out(out: Path | None, requests: int) -> None:
    if out is not None and requests != 1:
        raise TcpsfError(
            f"cannot write `--out {out}`: it is for one response, but got `--requests {requests}`",
            hint="omit `--requests` or `--out`",
        )


def _check_outcomes(outcomes: dict[str, int], requests: int, url: str) -> None:
    """Raise an error if a request failed."""
    if failed := sum(outcomes.values()):
        raise TcpsfError(
            f"{text.count(failed, 'request')} of {text.plain(requests, 0)} failed "
            f"({_outcomes(outcomes)}): `{url}`",
            hint=_hint(outcomes),
            status=1,
        )


def _parts(url: str) -> tuple[str, str, str]:
    """Split a URL into the value of the Host field, the address with port, and the target."""
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError as error:
        raise TcpsfError(
            f"cannot fetch `{url}`: {str(error).lower()}", hint="e.g. http://100.127.0.2/file"
        ) from None
    if parts.scheme != "http" or not parts.hostname:
        problem = (
            f"`{parts.scheme}` is not supported"
            if parts.scheme and parts.hostname
            else "it is not an http:// URL"
        )
        raise TcpsfError(
            f"cannot fetch `{url}`: {problem}",
            hint="e.g. http://100.127.0.2/file; TLS is not supported",
        )
    if parts.username is not None:
        raise TcpsfError(
            f"cannot fetch `{url}`: user names and passwords are not supported",
            hint="omit them",
        )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if re.search(r"[^!-~]", target + parts.netloc):
        raise TcpsfError(
            f"cannot fetch `{url}`: it contains characters that must be percent-encoded",
            hint="e.g. %20 for a space",
        )
    return parts.netloc, addresses_of(parts.hostname, port, operation=f"fetch `{url}`")[0], target


class _Body:
    """The file for a response's body, which exists only if the body is complete."""

    def __init__(self, path: Path | None) -> None:
        self._final = path
        self._stack = contextlib.ExitStack()
        self._partial: Path | None = None

    @property
    def path(self) -> str | None:
        """Name of the temporary file for the body, or ``None`` without ``--out``."""
        return None if self._partial is None else str(self._partial)

    def __enter__(self) -> Self:
        if self._final is not None:
            with writing(self._final):
                self._partial = self._stack.enter_context(partial_file(self._final))
        return self

    def keep(self) -> None:
        """Rename the temporary file to its final name."""
        if self._partial is not None and self._final is not None:
            with writing(self._final):
                self._partial.replace(self._final)

    def __exit__(self, *_error: object) -> None:
        self._stack.close()


@contextlib.contextmanager
def _writing_body(path: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write `{path}`: {reason(error)}",
            hint="choose a file on a disk with free space",
        ) from None


class _Status:
    """The progress bar as a `StatusLine`, which other output can follow."""

    def end(self) -> None:
        """Do nothing, because the bar is drawn again below other output."""


def _rows(
    client: _core.Fetch, requests: int, writer: Writer | None, pcap: Path | None, out: Path | None
) -> tuple[pl.DataFrame, int | None]:
    """Run the client, and return a row for each request that has ended.

    The second value is the number of the signal that ended the work early, or ``None``.
    """
    import polars as pl

    verbosity.detail("this client has the address %s", client.address)
    frames: list[pl.DataFrame] = []
    ended = 0
    signals: list[int] = []

    def count_signal(number: int, _frame: FrameType | None) -> None:
        # An exception here could lose rows that have been taken from the client and not written.
        signals.append(number)

    def take(move: Callable[[Progress], None] | None) -> None:
        nonlocal ended
        frame = taken(client)
        ended += frame.height
        if frame.height or not frames:
            frames.append(frame)
        if writer is not None:
            writer.write(frame)
            writer.losses.warn(_Status())
        if pcap is not None:
            with capturing(pcap, _Status()):
                client.check_capture()
        with _writing_body(out):
            client.check_body()
        if move is not None:
            move(Progress(done=ended / requests, finished=ended, runs=requests))

    with (
        handling(count_signal),
        bar("fetching", unit="requests") as move,
        plain_write_errors("fetch"),
    ):
        while not signals and not client.is_done:
            client.run(milliseconds=SLICE_MS)
            take(move)
        client.stop()
        end = client.now_s + CLOSING_S
        while len(signals) < 2 and not client.is_closed and client.now_s < end:
            client.run(milliseconds=SLICE_MS)
        client.abort()
        take(move)
        if pcap is not None:
            with capturing(pcap, _Status()):
                client.finish_capture()
    return pl.concat(frames), signals[0] if signals else None


def _summary(
    rows: pl.DataFrame, *, url: str, address: str, requests: int, profile: str | None
) -> dict[str, Any]:
    import polars as pl

    complete = rows.filter(pl.col("outcome") == "complete")
    failed = rows.filter(pl.col("outcome") != "complete")
    return {
        "schema": SCHEMA,
        "url": url,
        "address": address,
        "profile": profile,
        "requests": requests,
        "complete": complete.height,
        "failed": dict(Counter(failed["outcome"].to_list())),
        "statuses": {
            str(key): count for key, count in sorted(Counter(complete["status"].to_list()).items())
        },
        "senders": [
            _of_sender(
                sender,
                complete.filter(pl.col("sender") == sender),
                failed.filter(pl.col("sender") == sender),
            )
            for sender in rows.sort("connection")["sender"].unique(maintain_order=True)
        ],
    }


def _of_sender(sender: str, complete: pl.DataFrame, failed: pl.DataFrame) -> dict[str, Any]:
    quantities = {}
    for name in QUANTITIES:
        values = complete[name].drop_nulls().to_list()
        times = Distribution(round(1e9 * value) for value in values)
        estimates = {"mean": stats.mean(values, possible=stats.POSITIVE)}
        estimates |= {key: stats.quantile_of_one(times, part) for key, part in PERCENTILES.items()}
        quantities[name] = {
            key: None if found is None else found.to_dict() for key, found in estimates.items()
        }
    return {
        "sender": sender,
        "complete": complete.height,
        "failed": failed.height,
        "body_bytes": int(complete["body_bytes"].sum()),
        **quantities,
    }


def as_text(found: dict[str, Any]) -> str:
    """Format the summary as text, with a row for each sender and quantity."""
    complete = (
        f"{text.plain(found['complete'], 0)} of {text.count(found['requests'], 'request')} complete"
    )
    statuses = ", ".join(
        f"status {status}: {text.plain(count, 0)}" for status, count in found["statuses"].items()
    )
    head = f"{found['url']} from {found['address']}: {complete}" + (
        f" ({statuses})" if statuses else ""
    )
    rows = [["sender", "", "mean", *PERCENTILES]]
    for each in found["senders"]:
        if each["complete"]:
            for number, (name, heading) in enumerate(QUANTITIES.items()):
                cells = [_cell(each[name][key]) for key in ("mean", *PERCENTILES)]
                rows.append(["" if number else each["sender"], heading, *cells])
    lines = [head]
    if len(rows) > 1:
        lines += [
            "",
            text.table(rows, left=[0, 1]),
            "",
            "Times from the first SYN; 95 % intervals in brackets.",
        ]
    return "\n".join(lines)


def _cell(estimate: dict[str, Any] | None) -> str:
    if estimate is None:
        return text.NOTHING
    shown = f"{1e3 * estimate['value']:.1f}"
    if estimate["interval"] is None:
        return shown
    low, high = estimate["interval"]
    return f"{shown} [{1e3 * low:.1f}, {1e3 * high:.1f}]"


def _outcomes(failed: dict[str, int]) -> str:
    return ", ".join(
        f"{outcome}: {text.plain(count, 0)}" for outcome, count in sorted(failed.items())
    )


HINTS = {
    "timed-out": (
        "if no packets arrive at all, the server has no route to this client; "
        "see the guide on serving"
    ),
    "refused": "check that a server is running at this address and port",
    "unreachable": "there is no route to the server; check that this machine forwards packets",
    "malformed": (
        "the server must use HTTP/1, without chunked encoding in answers to HTTP/1.0 clients"
    ),
}


def _hint(failed: dict[str, int]) -> str | None:
    most = max(failed, key=lambda outcome: failed[outcome])
    return HINTS.get(most)
