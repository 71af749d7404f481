"""A server with remedies and a client at both ends of a link, in a network namespace of its own."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl

from tcpsf.captures import CaptureResult, analyze

SERVER = """
import os, socketserver, sys
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        size = int(self.request.recv(100) or 0)
        self.request.sendall(b"x" * size)
        self.request.recv(1)  # the client closes first
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128
    address_family = socketserver.socket.AF_INET6
Server(("::", 8080), Handler).serve_forever()
"""

CLIENT = """
import fcntl, os, pathlib, socket, struct, sys, time
address = os.environ["TCPSF_LINK_OUTSIDE" + os.environ["VERSION"]]
source = None
def add_address(text):
    # An alias of the device, with the requests SIOCSIFADDR and SIOCSIFNETMASK of netdevice(7).
    if ":" in text:
        request = struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, text), 128, socket.if_nametoindex("tcpsf"))
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
            fcntl.ioctl(one, 0x8916, request)
        # The kernel makes an IPv6 address usable from a work queue, also on a device without detection of duplicates.
        for _ in range(400):
            try:
                with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
                    return one.bind((text, 0))
            except OSError:
                time.sleep(0.01)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for number, each in ((0x8916, text), (0x891C, "255.255.255.255")):
            ends = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(each))
            fcntl.ioctl(one, number, b"tcpsf:1".ljust(16, b"\\0") + ends)
for _ in range(400):
    try:
        socket.create_connection((address, 8080)).close()
        break
    except OSError:
        time.sleep(0.05)
for word in sys.argv[1:]:
    if word.startswith("from="):
        source = (word.removeprefix("from="), 0)
        add_address(source[0])
        continue
    if not word.isdecimal():
        name, _, awaited = word.partition("->")
        pathlib.Path(name).touch()
        while not pathlib.Path(awaited).exists():
            time.sleep(0.02)
        continue
    with socket.create_connection((address, 8080), source_address=source) as one:
        one.sendall(word.encode())
        data = b""
        while len(data) < int(word) and (part := one.recv(65536)):
            data += part
        assert data == b"x" * int(word), len(data)
"""

ATTACHED = """
import pathlib, signal, subprocess, sys, time
from tcpsf.live.network import die_with_parent
server = subprocess.Popen([sys.executable, "server.py"], preexec_fn=die_with_parent)
while not pathlib.Path("begin").exists():
    time.sleep(0.02)
cure = subprocess.Popen(
    [sys.executable, "-m", "tcpsf", "cure", "attach", "--policy", "dup-tail", "--port", "8080", "--json"],
    stdout=subprocess.PIPE,
)
cure.stdout.readline()
pathlib.Path("attached").touch()
while not pathlib.Path("kill").exists():
    time.sleep(0.02)
cure.send_signal(signal.SIGKILL)
cure.wait()
pathlib.Path("killed").touch()
server.wait()
"""

TRIAL = """
import pathlib, subprocess, sys
from tcpsf.live.network import die_with_parent
server = subprocess.Popen([sys.executable, "server.py"], preexec_fn=die_with_parent)
words = ["cure", "trial", "--policy", "dup-tail", "--port", "8080", "--anyway", "--json", "--for", "60s"]
done = subprocess.run([sys.executable, "-m", "tcpsf", *words], stdout=subprocess.PIPE)
pathlib.Path("trial.json").write_bytes(done.stdout)
pathlib.Path("status").write_text(str(done.returncode))
server.wait()
"""

MEASURED = """
import pathlib, signal, subprocess, sys, time
from tcpsf.live.network import die_with_parent
server = subprocess.Popen([sys.executable, "server.py"], preexec_fn=die_with_parent)
while not pathlib.Path("begin").exists():
    time.sleep(0.02)
words = ["cure", "trial", "--policy", sys.argv[1], "--port", "8080", "--json"]
trial = subprocess.Popen([sys.executable, "-m", "tcpsf", *words], stdout=subprocess.PIPE)
trial.stdout.readline()
pathlib.Path("attached").touch()
while not pathlib.Path("end").exists():
    time.sleep(0.02)
trial.send_signal(signal.SIGINT)
pathlib.Path("trial.json").write_bytes(trial.communicate()[0])
pathlib.Path("ended").touch()
server.wait()
"""

AUTO = """
import json, pathlib, signal, subprocess, sys
from tcpsf.live.network import die_with_parent
server = subprocess.Popen([sys.executable, "server.py"], preexec_fn=die_with_parent)
cure = [sys.executable, "-m", "tcpsf", "cure"]
words = ["auto", "--policy", "dup-tail", "--port", "8080", "--anyway", "--json", "--for", "60s"]
auto = subprocess.Popen([*cure, *words], stdout=subprocess.PIPE, text=True)
lines = []
for line in auto.stdout:
    lines.append(line)
    event = json.loads(line)
    if event["event"] == "trial" and event["verdict"] == "keep":
        pathlib.Path("table").write_bytes(subprocess.check_output([*cure, "status"]))
        auto.send_signal(signal.SIGINT)
pathlib.Path("auto.json").write_text("".join(lines))
pathlib.Path("status").write_text(str(auto.wait()))
server.wait()
"""

CROWD = """
import os, pathlib, socket, threading, time
address = os.environ["TCPSF_LINK_OUTSIDE"]
def fetch():
    while not pathlib.Path("status").exists():
        try:
            with socket.create_connection((address, 8080)) as one:
                one.sendall(b"700")
                left = 700
                while left and (part := one.recv(65536)):
                    left -= len(part)
        except OSError:
            time.sleep(0.05)
threads = [threading.Thread(target=fetch) for _ in range(12)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""

ENTER = """
import os, sys
from tcpsf.live.network import enter
enter()
os.execv(sys.executable, [sys.executable, "-m", "tcpsf", "link", *sys.argv[1:]])
"""


def over_link(
    folder: Path, outside: str, *words: str, options: tuple[str, ...] = (), version: str = ""
) -> CaptureResult:
    """Fetch responses over a link in a network namespace, and analyse the packets at the server."""
    capture = ("--pcap", "packets.pcapng", "--pcap-at", "outside")
    run_link(folder, outside, "client.py", *words, options=(*options, *capture), version=version)
    return analyze(folder / "packets.pcapng")


def run_link(
    folder: Path, outside: str, *client: str, options: tuple[str, ...], version: str = ""
) -> None:
    """Run a server and a client at both ends of a link in a network namespace."""
    programs = {"server": SERVER, "client": CLIENT, "attached": ATTACHED}
    programs |= {"trial": TRIAL, "crowd": CROWD, "measured": MEASURED, "auto": AUTO}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    python = shlex.quote(sys.executable)
    link = ["-q", "--delay", "10ms", *options, "--outside", outside.format(python=python)]
    command = [sys.executable, "-c", ENTER, *link, "--", sys.executable, *client]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "VERSION": version}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (folder / "output").write_text(done.stdout, encoding="utf-8")


def run_with(policy: str, *options: str) -> str:
    """Return the command that runs the server with a policy."""
    words = shlex.join(["--policy", policy, "--json", *options])
    return f"{{python}} -m tcpsf cure run {words} -- {{python}} server.py"


def responses(found: CaptureResult) -> pl.DataFrame:
    """Rows of the server's direction of connections with a response."""
    return found.tables.flows.filter(
        pl.col("direction").cast(pl.String) == "responder", pl.col("unique_bytes") > 0
    )
