"""Time in BPF programs, which the kernel counts with `kernel.bpf_stats_enabled`.

Reading the clock is a large part of the time that the kernel counts for a short program. The time of
an empty program on the same packets is that part.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

STATISTICS: Final = Path("/proc/sys/kernel/bpf_stats_enabled")
PROGRAM: Final = re.compile(r"^prog_id:\s*(\d+)", re.MULTILINE)
"""Program of a link in `/proc/PID/fdinfo`."""
RUN_TIME: Final = re.compile(r"^run_time_ns:\s*(\d+)", re.MULTILINE)
SYS_BPF: Final = 321
"""Number of the system call on x86-64."""
PROG_LOAD, PROG_GET_FD_BY_ID, LINK_CREATE = 5, 13, 28
"""Commands of the system call (`enum bpf_cmd`)."""
SCHED_CLS: Final = 3
"""Type of a program for packets of a device (`BPF_PROG_TYPE_SCHED_CLS`)."""
TCX_EGRESS: Final = 47
EMPTY: Final = struct.pack("<BBhiBBhi", 0xB7, 0, 0, -1, 0x95, 0, 0, 0)
"""The instructions `r0 = TCX_NEXT` and `exit`."""


@contextmanager
def statistics_on() -> Iterator[None]:
    """Let the kernel count the time in programs."""
    before = STATISTICS.read_text(encoding="utf-8")
    STATISTICS.write_text("1", encoding="utf-8")
    try:
        yield
    finally:
        STATISTICS.write_text(before, encoding="utf-8")


@contextmanager
def empty_program(device: str) -> Iterator[int]:
    """Attach an empty program to the egress of a device, and yield its descriptor."""
    code = ctypes.create_string_buffer(EMPTY, len(EMPTY))
    license_text = ctypes.create_string_buffer(b"MIT")
    places = (ctypes.addressof(code), ctypes.addressof(license_text))
    instructions = len(EMPTY) // 8
    attributes = struct.pack(
        "<IIQQIIQII16sII", SCHED_CLS, instructions, *places, 0, 0, 0, 0, 0, b"empty", 0, TCX_EGRESS
    )
    program = _bpf(PROG_LOAD, attributes)
    try:
        target = struct.pack("<IIII16x", program, socket.if_nametoindex(device), TCX_EGRESS, 0)
        link = _bpf(LINK_CREATE, target)
        try:
            yield program
        finally:
            os.close(link)
    finally:
        os.close(program)


def run_time_ns(program: int) -> int:
    """Return the time in a program, by its descriptor, since statistics are counted."""
    text = Path(f"/proc/self/fdinfo/{program}").read_text(encoding="utf-8")
    found = RUN_TIME.search(text)
    if found is None:
        message = "the kernel does not count the time in BPF programs"
        raise RuntimeError(message)
    return int(found[1])


def run_time_of_process_ns(process: int) -> int:
    """Return the time in the programs to which a process has links."""
    folder = Path(f"/proc/{process}/fdinfo")
    texts = (entry.read_text(encoding="utf-8") for entry in folder.iterdir())
    total = 0
    for identifier in {int(each) for each in PROGRAM.findall("\n".join(texts))}:
        program = _bpf(PROG_GET_FD_BY_ID, struct.pack("3I", identifier, 0, 0))
        try:
            total += run_time_ns(program)
        finally:
            os.close(program)
    return total


def _bpf(command: int, attributes: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(SYS_BPF, command, attributes, len(attributes))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), f"bpf(2) refused command {command}")
    return int(descriptor)
