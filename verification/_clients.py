"""Run curl, wget, ab, wrk and Chromium against `tcpsf serve`, through a link.

`clients` starts this file as a program in a separate network namespace. The program prints each
verdict as one line of JSON:

    python verification/_clients.py FOLDER [--quick]
"""

# ruff: noqa: S603, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import contextlib
import email
import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from _live import Verdicts

FOUR, SIX = "100.127.0.2", "fd74:6370:7366:1::2"
LINKS = {"clean": (), "lossy": ("--delay", "5ms", "--loss", "1%", "--reorder", "2%,3ms")}
OBJECTS = 24

PAGE = """<!doctype html><title>waiting</title><img src="o0.bin" alt=""><script>
const digest = async (name) => {
  const bytes = new Uint8Array(await (await fetch(name)).arrayBuffer());
  let sum = 0;
  for (const byte of bytes) sum = (Math.imul(sum, 31) + byte) >>> 0;
  return `${name} ${bytes.length} ${sum}`;
};
const names = [...Array(OBJECTS).keys()].map((n) => `o${n}.bin`);
Promise.all(names.map(digest)).then((lines) => { document.body.textContent = lines.join(";"); });
</script><body></body>
"""


def content(number: int) -> bytes:
    """Contents of one object of the page: from about 100 bytes to about 200 kB."""
    block = hashlib.sha256(str(number).encode()).digest()
    size = (100 << number % 12) + number
    return (block * (size // len(block) + 1))[:size]


def digest(data: bytes) -> int:
    """The checksum of an object's bytes, by the formula that the script of `PAGE` uses."""
    total = 0
    for byte in data:
        total = (total * 31 + byte) & 0xFFFF_FFFF
    return total


def clients(verdicts: Verdicts, *, quick: bool, repository: Path) -> None:
    """Run the clients that are installed on this machine, and list the missing ones."""
    tcpsf = Path(sys.executable).with_name("tcpsf")
    missing = [name for name in ("unshare", *COMMANDS) if shutil.which(name) is None]
    if not tcpsf.exists() or "unshare" in missing:
        print(f"  not run: no {'unshare' if tcpsf.exists() else 'tcpsf'} here")
        return
    for name in missing:
        print(f"  not run: {name} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "unshare",
            "--net",
            sys.executable,
            __file__,
            folder,
            *(["--quick"] if quick else []),
        ]
        done = subprocess.run(words, check=False, cwd=repository, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        statement, holds = json.loads(line)
        verdicts.report(statement, holds=holds)
    if done.returncode:
        verdicts.report(f"the clients ended with status {done.returncode}", holds=False)


def run(*words: str, seconds: float = 120) -> subprocess.CompletedProcess[bytes]:
    """Run a program and return its output and exit status; 124 is the status after a time-out."""
    try:
        return subprocess.run(words, check=False, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(words, 124, error.stdout or b"", error.stderr or b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Conditions of a client's run: options of the link, working folder, short or full run."""

    options: tuple[str, ...]
    folder: Path
    quick: bool

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Run a client behind the link."""
        return run(
            str(Path(sys.executable).with_name("tcpsf")), "link", *self.options, "--", *words
        )


def curl(place: Place) -> Iterator[tuple[str, bool]]:
    """IPv4 and IPv6: two files over one connection, a byte range, several byte ranges."""
    right = []
    for host in (FOUR, f"[{SIX}]"):
        outs = [place.folder / "curl.0", place.folder / "curl.1"]
        words = [
            word
            for n, out in zip((11, 3), outs, strict=True)
            for word in (f"http://{host}/o{n}.bin", "-o", str(out))
        ]
        done = place.run("curl", "-sSf", "-g", *words)
        right.append(
            done.returncode == 0 and [out.read_bytes() for out in outs] == [content(11), content(3)]
        )
        done = place.run("curl", "-sSf", "-g", "-r", "100-299", f"http://{host}/o11.bin")
        right.append(done.stdout == content(11)[100:300])
        done = place.run(
            "curl", "-sSf", "-i", "-g", "-r", "100-299,-1,1000-2000", f"http://{host}/o11.bin"
        )
        right.append(
            parts(done.stdout) == [content(11)[100:300], content(11)[-1:], content(11)[1000:2001]]
        )
    yield (
        f"IPv4 and IPv6, two files on a connection, ranges: {sum(right)} of {len(right)} right",
        all(right),
    )


def parts(answer: bytes) -> list[bytes]:
    """Bodies of the parts of a `multipart/byteranges` response."""
    # After the status line, the response has the syntax of a MIME message.
    message = email.message_from_bytes(answer.partition(b"\r\n")[2])
    held = [part.get_payload(decode=True) for part in message.walk() if not part.is_multipart()]
    return [part for part in held if isinstance(part, bytes)]


def wget(place: Place) -> Iterator[tuple[str, bool]]:
    """Fetch all objects and compare them byte by byte."""
    urls = [f"http://{FOUR}/o{n}.bin" for n in range(OBJECTS)]
    done = place.run("wget", "-q", "-P", str(place.folder / "wget"), *urls)
    found = [(place.folder / "wget" / f"o{n}.bin") for n in range(OBJECTS)]
    right = sum(path.exists() and path.read_bytes() == content(n) for n, path in enumerate(found))
    shutil.rmtree(place.folder / "wget", ignore_errors=True)
    yield f"{right} of {OBJECTS} files right", done.returncode == 0 and right == OBJECTS


def ab(place: Place) -> Iterator[tuple[str, bool]]:
    """One connection for each request, then many requests on persistent connections."""
    count = 500 if place.quick else 5000
    for options, what in (((), "one connection each"), (("-k",), "persistent connections")):
        done = place.run(
            "ab", "-q", "-s", "120", "-n", str(count), "-c", "50", *options, f"http://{FOUR}/o5.bin"
        )
        text = done.stdout.decode()
        complete, failed = (
            re.search(rf"{name} requests:\s+(\d+)", text) for name in ("Complete", "Failed")
        )
        rate = re.search(r"Requests per second:\s+([\d.]+)", text)
        numbers = [int(found[1]) if found else -1 for found in (complete, failed)]
        statement = f"{numbers[0]:,} requests, {what}, {numbers[1]} failed, {rate[1] if rate else '?'} a second"
        yield statement, numbers == [count, 0] and "Non-2xx" not in text


def wrk(place: Place) -> Iterator[tuple[str, bool]]:
    """Requests at the highest rate that 64 connections reach."""
    done = place.run(
        "wrk",
        "-t",
        "2",
        "-c",
        "64",
        "-d",
        "2s" if place.quick else "5s",
        "--timeout",
        "30s",
        f"http://{FOUR}/o5.bin",
    )
    text = done.stdout.decode()
    count = re.search(r"(\d+) requests in", text)
    errors = [line.strip() for line in text.splitlines() if "errors" in line or "Non-2xx" in line]
    statement = f"{int(count[1]) if count else 0:,} requests, {errors or 'no errors'}"
    yield statement, bool(count and int(count[1])) and not errors and done.returncode == 0


def chromium(place: Place) -> Iterator[tuple[str, bool]]:
    """Load a page whose script fetches all objects and computes their checksums."""
    profile = place.folder / "profile"
    words = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
    )
    timing = ("--timeout=20000", "--virtual-time-budget=20000", "--dump-dom")
    done = place.run("chromium", *words, *timing, f"http://{FOUR}/page.html")
    shutil.rmtree(profile, ignore_errors=True)
    lines = re.findall(r"o(\d+)\.bin (\d+) (\d+)", done.stdout.decode())
    wanted = [(str(n), str(len(content(n))), str(digest(content(n)))) for n in range(OBJECTS)]
    right = sum(a == b for a, b in zip(lines, wanted, strict=False))
    yield f"page loaded, {right} of {OBJECTS} objects right", right == OBJECTS


COMMANDS = {"curl": curl, "wget": wget, "ab": ab, "wrk": wrk, "chromium": chromium}


@contextlib.contextmanager
def served(folder: Path) -> Iterator[dict[str, object]]:
    """Run `tcpsf serve` during the block; after the block, the dictionary contains the summary."""
    words = [str(Path(sys.executable).with_name("tcpsf")), "serve", str(folder), "--json"]
    server = subprocess.Popen(
        [*words, "--address", FOUR, "--address", SIX],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if server.stdout is None or "listening" not in server.stdout.readline():
        raise SystemExit(1)
    summary: dict[str, object] = {}
    try:
        yield summary
    finally:
        server.send_signal(signal.SIGTERM)  # SIGINT is ignored in background jobs of a shell
        rest, _ = server.communicate(timeout=60)
        summary.update(json.loads(rest.splitlines()[-1]) if rest else {})


def inside(folder: Path, *, quick: bool) -> None:
    """Run every client on every link in this network namespace, which no other program uses."""
    for path in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        Path("/proc/sys/net", path).write_text("1", encoding="ascii")
    files = folder / "files"
    files.mkdir()
    for number in range(OBJECTS):
        (files / f"o{number}.bin").write_bytes(content(number))
    (files / "page.html").write_text(PAGE.replace("OBJECTS", str(OBJECTS), 1), encoding="utf-8")
    for name, options in LINKS.items():
        with served(files) as summary:
            for command, judge in COMMANDS.items():
                if shutil.which(command) is not None:
                    for statement, holds in judge(
                        Place(options=options, folder=folder, quick=quick)
                    ):
                        print(
                            json.dumps((f"{command}, {name} link: {statement}", holds)), flush=True
                        )
        # ab and wrk leave connections open at the end, so these counts are shown and not judged.
        counts = {
            key: summary.get(key)
            for key in ("accepted_connections", "failed_connections", "damaged_packets")
        }
        print(
            json.dumps((f"{name} link: the server exits after SIGTERM, {counts}", bool(summary))),
            flush=True,
        )


if __name__ == "__main__":
    inside(Path(sys.argv[1]), quick="--quick" in sys.argv[1:])
