"""Root file systems in which a release is installed and used (`tools/release.py`).

They have Python, and neither Rust nor a compiler. Programs in them have a network namespace of their
own.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from release_programs import ROOT, CheckError, NotRunError, Release, environment, output, tool

EXAMPLES = ROOT / "python" / "tcpsf" / "examples"

BINFMT = Path("/proc/sys/fs/binfmt_misc")
"""Mount point of `binfmt_misc`, the kernel's list of executable formats with their interpreters."""

MAGIC = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00"
MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"
"""An ELF file for aarch64: 64 bits, little-endian, executable or shared, machine 183."""

DEMO_SECONDS = 20
"""Longest time of `tcpsf demo`, with which issue 26 defines an installation that is fast enough."""

COMMANDS = re.compile(r"^(?:\.venv/bin/)?(tcpsf [^#\n]+)", re.MULTILINE)
"""A command of the readme's shell blocks."""

PROGRAM = (ROOT / "tools" / "release_live.py").read_text(encoding="utf-8")
"""Program that uses `serve` and `link`, run in a root file system."""


NETWORK = 'ip link set lo up && ip address add 192.0.2.1/32 dev lo && exec "$@"'
"""Program of a shell that gives a network namespace an address, and runs a command in it."""


class RootSystem:
    """A root file system with Python, in which the wheel is installed."""

    processor = "x86_64"
    """Processor of the wheel, with the name that Python's platform tags use."""
    platforms: tuple[str, ...] = ()
    """Platform tags of the packages that the wheel needs, if not those of this machine."""
    options: tuple[str, ...] = ("--variant=minbase", "--include=python3,python3-venv")
    """Options of mmdebstrap."""

    def __init__(self, distribution: str, given: Path | None, release: Release, work: Path) -> None:
        self.distribution = distribution
        self.release = release
        self.work = work
        self.path = given or work / f"{distribution}-{self.processor}"
        self.given = given is not None

    def install(self) -> str:
        """Make the root file system, and install the wheel without a network."""
        if os.geteuid() != 0:
            raise NotRunError("needs root")
        if not self.given:
            output(tool("mmdebstrap"), *self.options, self.distribution, str(self.path))
        for program in ("cc", "gcc", "rustc", "cargo"):
            if shutil.which(program, path=f"{self.path}/usr/bin:{self.path}/usr/local/bin"):
                raise CheckError(f"the root file system has `{program}`")
        folder = self.path / "opt" / "release"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        number = self.inside("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        chosen = ["--only-binary", ":all:", "--python-version", number.strip()]
        for platform in self.platforms:
            chosen += ["--platform", platform]
        output(
            *(environment(self.work / "builder"), "-m", "pip", "download", "--quiet"),
            *(*chosen, "--dest", str(folder), str(self.release.wheel(self.processor))),
        )
        shutil.copytree(EXAMPLES, folder / "scenarios")
        (folder / "live.py").write_text(PROGRAM, encoding="utf-8")
        self.inside("python3", "-m", "venv", "--clear", "/opt/tcpsf")
        packages = ("--no-index", "--find-links", "/opt/release", "tcpsf")
        self.inside("/opt/tcpsf/bin/pip", "install", "--quiet", *packages)
        return f"Python {number.strip()}, no compiler"

    def demo(self) -> str:
        """Run the demo, and compare its time with `DEMO_SECONDS`."""
        self.needed()
        began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        self.inside("/opt/tcpsf/bin/tcpsf", "-q", "demo", "--out", f"/opt/demo-{time.time_ns()}")
        seconds = time.monotonic() - began
        work = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used.ru_utime
        text = f"{seconds:.1f} s, {work:.1f} s of processor time; at most {DEMO_SECONDS} s"
        if seconds > DEMO_SECONDS:
            raise CheckError(f"`tcpsf demo` took {text}")
        return text

    def live(self) -> str:
        """Fetch a file from `tcpsf serve`, and through `tcpsf link`, as root."""
        self.needed()
        return self.inside("/opt/tcpsf/bin/python", "/opt/release/live.py").strip()

    def readme(self) -> str:
        """Run the commands of the readme's shell blocks."""
        self.needed()
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        commands = [each.strip() for each in COMMANDS.findall(blocks)]
        if len(commands) < 3:
            raise CheckError("the readme has fewer than three commands")
        folder = f"/opt/readme-{time.time_ns()}"
        self.inside("/bin/cp", "-r", "/opt/release", folder)
        for command in commands:
            self.inside("/bin/sh", "-c", f"cd {folder} && PATH=/opt/tcpsf/bin:$PATH {command}")
        return f"{len(commands)} commands"

    def needed(self) -> None:
        """Check that the wheel has been installed."""
        if not (self.path / "opt" / "tcpsf" / "bin" / "tcpsf").exists():
            raise NotRunError("nothing is installed")

    def inside(self, *command: str) -> str:
        """Run a command in the root file system and return its output."""
        with mounted(self.path):
            return output(
                *(tool("unshare"), "--net", "--mount", "--pid", "--fork", "--kill-child"),
                *("/bin/sh", "-c", NETWORK, "sh", tool("chroot"), str(self.path), *command),
                extra={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root"},
            )


class EmulatedSystem(RootSystem):
    """A root file system for aarch64, whose programs QEMU executes on this machine."""

    processor = "aarch64"
    platforms = ("manylinux2014_aarch64", "manylinux_2_28_aarch64")
    options = (*RootSystem.options, "--architectures=arm64")

    def install(self) -> str:
        """Make the root file system, and install the wheel without a network."""
        try:
            self.release.wheel(self.processor)
        except CheckError as reason:
            raise NotRunError(f"{reason}; hint: the first lines of `make dist`") from None
        with emulated():
            return super().install()

    def same_results(self) -> str:
        """Simulate the examples, and compare all numbers with those of this machine's wheel."""
        self.needed()
        local = Path(environment(self.work / "native", str(self.release.wheel()))).parent
        scenarios = sorted(path.name for path in EXAMPLES.glob("*.toml"))
        options = ("--seed", "1", "--json")
        with emulated():
            for name in scenarios:
                here = output(str(local / "tcpsf"), "sim", str(EXAMPLES / name), *options)
                place = f"/opt/release/scenarios/{name}"
                if here != self.inside("/opt/tcpsf/bin/tcpsf", "sim", place, *options):
                    raise CheckError(f"the results of {name} differ between the processors")
        return f"{len(scenarios)} scenarios have equal summaries"


@contextmanager
def mounted(root: Path) -> Iterator[None]:
    """Mount devices, processes and the state of the kernel in a root file system."""
    mounts = [("--rbind", "/dev"), ("--rbind", "/sys"), ("--rbind", "/proc")]
    for option, place in mounts:
        output(tool("mount"), option, "--make-rslave", place, f"{root}{place}")
    try:
        yield
    finally:
        for _, place in reversed(mounts):
            output(tool("umount"), "--recursive", "--lazy", f"{root}{place}", check=False)


@contextmanager
def emulated() -> Iterator[None]:
    """Let the kernel hand programs for aarch64 to QEMU (`binfmt_misc`)."""
    interpreter = tool("qemu-aarch64-static")
    mounted_before = (BINFMT / "register").exists()
    if not mounted_before:
        output(tool("mount"), "-t", "binfmt_misc", "binfmt_misc", str(BINFMT))
    handler = BINFMT / "tcpsf-aarch64"
    known_before = handler.exists() or any(BINFMT.glob("qemu-aarch64*"))
    try:
        if not known_before:
            # F: the kernel opens the interpreter now, so the root file systems do not need it.
            line = f":{handler.name}:M::{MAGIC}:{MASK}:{interpreter}:F\n"
            (BINFMT / "register").write_text(line)
        yield
    finally:
        if not known_before and handler.exists():
            handler.write_text("-1\n")
        if not mounted_before:
            output(tool("umount"), str(BINFMT))
