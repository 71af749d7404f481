"""Control groups (cgroup v2): which sockets a remedy is for."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tcpsf.cure.keeper import ensured
from tcpsf.errors import TcpsfError, reason

_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")
_LONGEST_END_S = 5.0
"""Time for the programs of a control group to end before the group is removed."""


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A folder of the hierarchy of cgroup v2."""

    folder: Path
    level: int
    """Level in the hierarchy, counted from 0 at the root."""

    @property
    def identifier(self) -> int:
        """Number by which BPF programs know it."""
        return self.folder.stat().st_ino

    def processes(self) -> list[int]:
        """Return the processes of this group, without those of groups in it."""
        text = (self.folder / "cgroup.procs").read_text(encoding="ascii")
        return [int(word) for word in text.split()]


def hierarchy() -> ControlGroup:
    """Find the root of cgroup v2. Raises `TcpsfError` if it is not mounted."""
    for line in _MOUNTS.read_text(encoding="utf-8").splitlines():
        fields, _, types = line.partition(" - ")
        if types.startswith("cgroup2 "):
            return ControlGroup(Path(fields.split()[4]), 0)
    raise TcpsfError(
        "cannot find the control groups: cgroup v2 is not mounted",
        hint="mount it: `mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 none "
        "/sys/fs/cgroup/unified`; or use `tcpsf proxy --sender`",
    )


def group_at(folder: Path) -> ControlGroup:
    """Return the control group of a folder. Raises `TcpsfError` if it is none."""
    root = hierarchy()
    found = folder.resolve()
    if not (found / "cgroup.procs").is_file() or not found.is_relative_to(root.folder.resolve()):
        raise TcpsfError(
            f"cannot use the control group `{folder}`: it is no folder of cgroup v2",
            hint=f"give a folder below `{root.folder}`; `/proc/PID/cgroup` names that of a process",
        )
    return ControlGroup(found, len(found.relative_to(root.folder.resolve()).parts))


def own_group() -> ControlGroup:
    """Return the control group of this process."""
    root = hierarchy()
    for line in _OWN.read_text(encoding="utf-8").splitlines():
        if line.startswith("0::"):
            return group_at(root.folder / line.removeprefix("0::").lstrip("/"))
    return root


@contextlib.contextmanager
def new_group() -> Iterator[ControlGroup]:
    """Make a control group in that of this process, and remove it at the end.

    It is also removed if this process is killed. Programs that are then still in the group go to the
    group above.
    """
    above = own_group()
    group = ControlGroup(above.folder / f"tcpsf-cure-{os.getpid()}", above.level + 1)
    try:
        group.folder.mkdir()
    except OSError as error:
        raise TcpsfError(
            f"cannot make the control group `{group.folder}`: {reason(error)}",
            hint="run the command as root, or with `--preload`",
        ) from None
    with ensured(lambda: _remove(group, above)):
        yield group


def _remove(group: ControlGroup, above: ControlGroup) -> None:
    """Remove a group, after its programs or with those that remain in the group above."""
    end = time.monotonic() + _LONGEST_END_S
    while group.processes() and time.monotonic() < end:
        time.sleep(0.02)
    for process in group.processes():
        with contextlib.suppress(OSError):
            (above.folder / "cgroup.procs").write_text(str(process), encoding="ascii")
    group.folder.rmdir()
