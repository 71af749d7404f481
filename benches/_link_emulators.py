"""Emulators of other projects for ``emulator_peers.py``, each with one way to make a path.

Debian's mahimahi is installed (`mm-delay` is on the path), or its package of Debian 11, the last
release that has it, is unpacked under ``out/``. toxiproxy is a Go module. The traffic control of
the kernel (tc-netem(8)) needs its module.
"""

# ruff: noqa: S603 (this module starts given programs, apt-get and go)

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from _network import BenchError, join, namespace

OUT = Path(__file__).resolve().parents[1] / "out"
TOXIPROXY = "2.12.0"
LAST_RELEASE = "bullseye"
"""The last release of Debian with mahimahi."""

NEEDED = {"iptables": "iptables", "dnsmasq": "dnsmasq-base", "setpriv": "util-linux"}
"""Programs that mahimahi needs, and their packages."""

NOBODY = "65534"
QUEUE_BYTES = 1_000_000
"""Queue of a link with a rate, as in ``emulator.py``."""

PATH_MTU = 1500
OPPORTUNITY_BYTES = 1504
"""Bytes of an opportunity in a trace of mahimahi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPath:
    """The path that an emulator has to make. The default has no effect on packets."""

    delay_ms: int = 0
    """One-way delay of both directions."""
    rate_mbps: int | None = None
    """Rate of both directions."""
    up_loss: float | None = None
    """Probability of a loss towards the server. Zero makes the part that loses, without a loss."""
    up_jitter_ms: int | None = None
    """The delay towards the server varies uniformly by up to this time, less or more."""
    seed: int = 1
    """Random seed, of those that have one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A path that exists."""

    prefix: Sequence[str]
    """Words before the command of the client."""
    host: str
    """Address of the server, or the name of an environment variable with `$` in front."""
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    has_delay: bool = True
    """Whether the path has the delay that was asked."""


class Emulator(Protocol):
    """A program that makes paths."""

    @property
    def name(self) -> str:
        """Name in the table."""

    def offers(self, path: WantedPath) -> bool:
        """Whether it can make the path."""

    def version(self) -> str:
        """Return the version, or raise `BenchError` with the reason why it cannot run here."""

    def make(self, stack: ExitStack, server: Sequence[str], port: int, path: WantedPath) -> Way:
        """Make a path to a server. ``server`` is the prefix of commands in its namespace."""


class Tcpsf:
    """`tcpsf link`."""

    name = "tcpsf link"

    def offers(self, path: WantedPath) -> bool:  # noqa: ARG002
        """Whether it can make the path."""
        return True

    def version(self) -> str:
        """Return the version."""
        words = [sys.executable, "-m", "tcpsf", "--version"]
        return output(words).split()[-1]

    def make(self, stack: ExitStack, server: Sequence[str], port: int, path: WantedPath) -> Way:  # noqa: ARG002
        """Make a path: the client is the command of the link."""
        options = ["--seed", str(path.seed)]
        if path.delay_ms:
            options += ["--delay", f"{path.delay_ms}ms"]
        if path.rate_mbps is not None:
            options += ["--rate", f"{path.rate_mbps}mbit", "--queue", f"{QUEUE_BYTES}B"]
        if path.up_loss is not None:
            options += ["--up-loss", str(path.up_loss)]
        if path.up_jitter_ms is not None:
            # With an order, messages would also wait for acknowledgments of earlier ones.
            options += ["--up-jitter-reorder", f"uniform:{path.up_jitter_ms}ms"]
        words = [sys.executable, "-m", "tcpsf", "link", "-q", *options, "--"]
        return Way(prefix=[*server, *words], host="$TCPSF_LINK_OUTSIDE", port=port)


class Mahimahi:
    """The shells of mahimahi, each with one effect. They refuse root, and have no jitter."""

    name = "mahimahi"

    def __init__(self) -> None:
        self._folder: Path | None = None

    def offers(self, path: WantedPath) -> bool:
        """Whether it can make the path."""
        effects = (path.delay_ms or None, path.rate_mbps, path.up_loss, path.up_jitter_ms)
        return path.up_jitter_ms is None and sum(each is not None for each in effects) == 1

    def version(self) -> str:
        """Find the programs, or unpack them."""
        for program, package in NEEDED.items():
            if shutil.which(program) is None:
                raise BenchError(f"no `{program}` on the path (Debian's {package})")
        installed = shutil.which("mm-delay")
        if installed is not None:
            self._folder = Path(installed).parent
            return output(["dpkg-query", "-W", "-f", "${Version}", "mahimahi"])
        self._folder = OUT / "mahimahi" / "usr" / "bin"
        stamp = OUT / "mahimahi" / "version"
        if not stamp.exists():
            stamp.write_text(unpack_mahimahi(OUT / "mahimahi"), encoding="utf-8")
        return stamp.read_text(encoding="utf-8")

    def make(self, stack: ExitStack, server: Sequence[str], port: int, path: WantedPath) -> Way:  # noqa: ARG002
        """Make a path: the client is the command of the innermost shell."""
        if self._folder is None:
            raise BenchError("mahimahi was not found before")
        # One shell: a second one in it would need forwarding in the namespace of the first.
        shells: list[str] = []
        if path.delay_ms:
            shells += [f"{self._folder}/mm-delay", str(path.delay_ms)]
        if path.rate_mbps is not None:
            trace = str(trace_of(path.rate_mbps))
            queue = [
                f"--{way}link-queue{more}"
                for way in ("up", "down")
                for more in ("=droptail", f"-args=bytes={QUEUE_BYTES}")
            ]
            shells += [f"{self._folder}/mm-link", *queue, trace, trace]
        if path.up_loss is not None:
            shells += [f"{self._folder}/mm-loss", "uplink", str(path.up_loss)]
        # iptables 1.8.8 refuses to run in a program with the set-user-ID bit, which starts it.
        script = (
            f"sysctl -qw net.ipv4.ip_forward=1 && mount --bind {wrapped_iptables()} "
            '"$(readlink -f "$(command -v iptables)")" && exec setpriv '
            f'--reuid={NOBODY} --regid={NOBODY} --clear-groups "$@"'
        )
        prefix = [*server, "sh", "-c", script, "sh", *shells]
        return Way(prefix=prefix, host="$MAHIMAHI_BASE", port=port)


class Toxiproxy:
    """toxiproxy: a TCP proxy on the loopback interface, so that there are no packets to lose."""

    name = "toxiproxy"

    def offers(self, path: WantedPath) -> bool:
        """Whether it can make the path."""
        return path.up_loss is None

    def version(self) -> str:
        """Build the program with Go, once."""
        if not self._program().exists():
            if shutil.which("go") is None:
                raise BenchError("no `go` on the path (Debian's golang-go)")
            places = {"GOBIN": str(self._program().parent), "GOFLAGS": "-trimpath"}
            module = f"github.com/Shopify/toxiproxy/v2/cmd/server@v{TOXIPROXY}"
            output(["go", "install", module], environment=places)
        return TOXIPROXY

    def _program(self) -> Path:
        return OUT / "toxiproxy" / "server"

    def make(self, stack: ExitStack, server: Sequence[str], port: int, path: WantedPath) -> Way:
        """Make a path: a proxy in front of the server."""
        there = stack.enter_context(
            subprocess.Popen(
                [*server, str(self._program())],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        stack.callback(there.kill)
        proxied = port + 1
        body = {"name": "path", "listen": f"127.0.0.1:{proxied}", "upstream": f"127.0.0.1:{port}"}
        requests: list[tuple[str, object]] = [("proxies", body)]
        for stream in ("upstream", "downstream"):
            toxics: list[tuple[str, dict[str, int]]] = []
            jitter = (path.up_jitter_ms or 0) if stream == "upstream" else 0
            if path.delay_ms or jitter:
                toxics.append(("latency", {"latency": path.delay_ms, "jitter": jitter}))
            if path.rate_mbps is not None:
                # Kilobytes per second.
                toxics.append(("bandwidth", {"rate": path.rate_mbps * 125}))
            requests += [
                ("proxies/path/toxics", {"type": kind, "stream": stream, "attributes": attributes})
                for kind, attributes in toxics
            ]
        output([*server, sys.executable, "-c", POST, json.dumps(requests)])
        environment = {"BENCH_EMULATOR": str(there.pid)}
        return Way(prefix=server, host="127.0.0.1", port=proxied, environment=environment)


POST = """
import json, sys, time, urllib.request
for path, body in json.loads(sys.argv[1]):
    data = json.dumps(body).encode()
    for attempt in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:8474/{path}", data, timeout=5).read()
            break
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError) or attempt == 99:
                raise
            time.sleep(0.05)
"""
"""Program that configures toxiproxy; it is not ready at once."""


class Netem:
    """The queueing discipline netem(8) of the kernel, on a pair of Ethernet devices."""

    name = "tc netem"

    def offers(self, path: WantedPath) -> bool:  # noqa: ARG002
        """Whether it can make the path."""
        return True

    def version(self) -> str:
        """Return the version of the kernel, if it has the module."""
        if shutil.which("tc") is None:
            raise BenchError("no `tc` on the path (Debian's iproute2)")
        with namespace("probe") as inside:
            words = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
            try:
                output([*inside, *words])
            except BenchError as error:
                raise BenchError("this kernel has no module `sch_netem`") from error
        return f"Linux {os.uname().release.partition('-')[0]}"

    def make(self, stack: ExitStack, server: Sequence[str], port: int, path: WantedPath) -> Way:
        """Make a path: a client in a namespace of its own."""
        client = stack.enter_context(namespace("client"))
        join(server, client)
        for inside, is_up in ((client, True), (server, False)):
            words = ["limit", str(max(QUEUE_BYTES // PATH_MTU, 1000))]
            jitter = (path.up_jitter_ms or 0) if is_up else 0
            if path.delay_ms or jitter:
                words += ["delay", f"{path.delay_ms}ms"]
                words += [f"{jitter}ms"] if jitter else []
            if path.rate_mbps is not None:
                words += ["rate", f"{path.rate_mbps}mbit"]
            if path.up_loss and is_up:
                words += ["loss", f"{path.up_loss:%}"]
            output([*inside, "tc", "qdisc", "add", "dev", "veth0", "root", "netem", *words])
        return Way(prefix=client, host="10.77.0.2", port=port, environment={"BENCH_EMULATOR": ""})


class Nothing:
    """The path without an emulator, a pair of Ethernet devices: the limit of the machine."""

    name = "no emulator"

    def offers(self, path: WantedPath) -> bool:
        """Whether it can make the path. It has no delay, which counts as late."""
        return (path.rate_mbps, path.up_loss, path.up_jitter_ms) in ((None,) * 3, (None, 0.0, None))

    def version(self) -> str:
        """Return the version of the kernel."""
        return f"Linux {os.uname().release.partition('-')[0]}"

    def make(self, stack: ExitStack, server: Sequence[str], port: int, path: WantedPath) -> Way:  # noqa: ARG002
        """Make the path."""
        client = stack.enter_context(namespace("client"))
        join(server, client)
        environment = {"BENCH_EMULATOR": ""}
        host = "10.77.0.2"
        return Way(prefix=client, host=host, port=port, environment=environment, has_delay=False)


ALL: tuple[Emulator, ...] = (Tcpsf(), Mahimahi(), Toxiproxy(), Netem(), Nothing())
OURS = Tcpsf.name


def output(words: Sequence[str], *, environment: Mapping[str, str] | None = None) -> str:
    """Run a program to its end and return its standard output."""
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise BenchError(f"{shlex.join(words)}: {lines or done.returncode}")
    return done.stdout


def trace_of(rate_mbps: int) -> Path:
    """Write a trace of mahimahi with a constant rate, one second long."""
    file = OUT / "mahimahi" / f"{rate_mbps}mbit.trace"
    opportunities = rate_mbps * 125_000 // OPPORTUNITY_BYTES
    times = (1000 * number // opportunities for number in range(1, opportunities + 1))
    file.write_text("".join(f"{time}\n" for time in times), encoding="utf-8")
    return file


def wrapped_iptables() -> Path:
    """Write a program that runs a copy of iptables with the effective user as the real one."""
    file = OUT / "mahimahi" / "iptables"
    copy = file.with_name("xtables-nft-multi")
    shutil.copy(shutil.which("xtables-nft-multi") or "xtables-nft-multi", copy)
    user = f"{shutil.which('setpriv')} --reuid=0 --regid=0 --clear-groups"
    file.write_text(f'#!/bin/bash -p\nexec {user} {copy} iptables "$@"\n', encoding="utf-8")
    file.chmod(0o755)
    return file


def unpack_mahimahi(folder: Path) -> str:
    """Unpack the package of Debian's last release that has it, and return the version.

    apt gets a configuration of its own, with the address of this machine's first repository.
    """
    site = output(
        ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Origin: Debian"]
    ).split()
    if not site:
        raise BenchError("apt has no repository of Debian (`apt-get update`)")
    lists, cache = folder / "lists", folder / "cache"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (cache / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={key}] {site[0]} {LAST_RELEASE} main\n", encoding="utf-8")
    configuration = folder / "apt.conf"
    configuration.write_text(
        f'Dir::State::lists "{lists}";\nDir::Cache "{cache}";\nDir::Etc::sourcelist "{sources}";\n'
        'Dir::Etc::sourceparts "/dev/null";\nAPT::Sandbox::User "root";\n',
        encoding="utf-8",
    )
    environment = {"APT_CONFIG": str(configuration)}
    output(["apt-get", "update", "-qq"], environment=environment)
    uri = output(["apt-get", "download", "--print-uris", "mahimahi"], environment=environment)
    file = uri.split()[1]
    with _in(folder):
        output(["apt-get", "download", "-qq", "mahimahi"], environment=environment)
    package = folder / file
    output(["dpkg-deb", "-x", str(package), str(folder)])
    for shell in ("mm-delay", "mm-link", "mm-loss"):
        (folder / "usr" / "bin" / shell).chmod(0o4755)
    return output(["dpkg-deb", "-f", str(package), "Version"]).strip()


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
