"""Play our scripts about Linux against the kernel of this machine, with packetdrill.

The scripts are those in the folders `linux-…` of `scripts/packetdrill/`. Each is played in its own
network namespace, with the settings that the profiles of `tcpsf drill` assume and with CUBIC. A
script counts as passed if one of a few attempts passes, because a busy machine delays packets by
more than the tolerance. A script that fails otherwise than by time is not tried again.

    PACKETDRILL=/path/to/packetdrill python verification/packetdrill_scripts.py [SCRIPT…]

packetdrill (https://github.com/google/packetdrill) is taken from the environment variable or from
PATH. The program needs root and TUN devices. It exits with 77 if it cannot run.
"""

# ruff: noqa: S603, S607, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

SCRIPTS: Final = Path(__file__).resolve().parents[1] / "scripts" / "packetdrill"
ATTEMPTS: Final = 5
LONGEST_S: Final = 60.0
CONGESTION: Final = "cubic"
AVAILABLE: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
SETTINGS: Final = {
    "tcp_rmem": "4096 540000 15728640",
    "tcp_wmem": "4096 262144 4194304",
    "tcp_timestamps": "1",
    "tcp_sack": "1",
    "tcp_dsack": "1",
    "tcp_window_scaling": "1",
    "tcp_ecn": "0",
    "tcp_syn_retries": "5",
    "tcp_synack_retries": "5",
    "tcp_frto": "2",
    "tcp_reordering": "3",
    "tcp_early_retrans": "4",
    "tcp_recovery": "1",
    "tcp_slow_start_after_idle": "0",
    "tcp_tso_win_divisor": "3",
}
"""Settings of the namespace, below `net.ipv4`. They are those of `tcpsf drill`'s profiles."""


def obstacle(program: str | None) -> str | None:
    """Why the scripts cannot be played here, or ``None``."""
    if program is None:
        return "there is no packetdrill: set PACKETDRILL, or add it to PATH"
    if os.geteuid() != 0:
        return "packetdrill needs root"
    if not Path("/dev/net/tun").exists():
        return "there are no TUN devices (/dev/net/tun)"
    if CONGESTION not in AVAILABLE.read_text().split():
        return f"this kernel has no {CONGESTION} (`modprobe tcp_{CONGESTION}`)"
    return None


def with_congestion(text: str) -> str:
    """The script with CUBIC on each socket, in the same line.

    A network namespace can have another default, and only root of the machine can change it.
    """
    option = (
        rf'   +0 setsockopt(\2, SOL_TCP, TCP_CONGESTION, "{CONGESTION}", {len(CONGESTION)}) = 0'
    )
    return re.sub(r"^(.* socket\(.*\) = (\d+))$", rf"\1{option}", text, flags=re.MULTILINE)


def attempt(program: str, script: Path) -> str | None:
    """Play a script. Return packetdrill's message, or ``None`` if it passed."""
    settings = " ".join(f"'net.ipv4.{name}={value}'" for name, value in SETTINGS.items())
    command = f"ip link set lo up; sysctl -q -w {settings} && exec '{program}' '{script}'"
    try:
        done = subprocess.run(
            ["unshare", "-n", "sh", "-c", command],
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it did not end"
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip()


def play(program: str, script: Path) -> str | None:
    """Play a script in a few attempts. Return the last message, or ``None`` if one passed."""
    message = None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / script.name
        copy.write_text(with_congestion(script.read_text()))
        for _ in range(ATTEMPTS):
            message = attempt(program, copy)
            if message is None or "timing error" not in message:
                break
    return message


def main(names: list[str]) -> int:
    """Play the scripts, all by default, and return the exit status."""
    program = os.environ.get("PACKETDRILL") or shutil.which("packetdrill")
    reason = obstacle(program)
    if program is None or reason is not None:
        print(f"could not run: {reason}", file=sys.stderr)
        return 77
    scripts = [Path(name) for name in names] or sorted(SCRIPTS.glob("linux-*/*.pkt"))
    passed = 0
    for script in scripts:
        message = play(program, script)
        passed += message is None
        print(f"{'agrees' if message is None else 'differs':8} {script.parent.name}/{script.name}")
        for line in (message or "").splitlines()[:4]:
            print(f"           {line}")
    agrees = passed == len(scripts) > 0
    print(f"\nLinux {platform.release()}: {passed} of {len(scripts)} scripts pass")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
