"""Whole programs through `tcpsf link --nat`: apt, a browser, and a process in a container.

Needs root, TUN devices and Debian's `apt-get`, `dpkg-deb` and `unshare`; the browser is marked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from link_machine import (
    MACHINE,
    MACHINE_6,
    SERVER,
    TCPSF,
    UNSHARE,
    Namespace,
    eventually,
    link,
    resolver,
    started,
)

PORT = 8080
PACKAGE_BYTES = 300_000
PUBLIC_DNS = "198.51.100.53"

PAGE = """<!doctype html><title>page</title><p id="answer">waiting</p>
<script>
fetch("data.txt").then((answer) => answer.text()).then((text) => {
  document.getElementById("answer").textContent = `${text.length} bytes of ${text[0]}`;
});
</script>
"""


@pytest.fixture
def files(internet: Namespace, tmp_path: Path) -> Iterator[Path]:
    """A folder that a Web server outside of the machine serves as http://server.example:8080/."""
    folder = tmp_path / "files"
    folder.mkdir()
    server = [sys.executable, "-u", "-m", "http.server", "--directory", folder, "--bind", SERVER]
    with started(internet.words(*server, PORT), "Serving"):
        yield folder


def run_to_json(machine: Namespace, file: Path, *words: object) -> dict[str, int]:
    """Run a command through a link, and return the statistics of the direction to it."""
    machine.run(*link("--nat", "--json", file, "--force"), "--", *words)
    found: dict[str, int] = json.loads(file.read_text(encoding="utf-8"))["down"]
    return found


def make_repository(folder: Path) -> bytes:
    """Write a repository of one package (sources.list(5), deb(5)), and return the package."""
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    fields = "Package: small\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <n@example.org>\n"
    fields += "Description: small package\n"
    (tree / "DEBIAN" / "control").write_text(fields, encoding="utf-8")
    draws = b"".join(
        hashlib.sha256(str(number).encode()).digest() for number in range(PACKAGE_BYTES // 32)
    )
    (tree / "data").write_bytes(draws)
    package = folder / "small_1.0_all.deb"
    program = shutil.which("dpkg-deb") or "dpkg-deb"
    build = [program, "--build", "--root-owner-group", str(tree), str(package)]
    subprocess.run(build, check=True, capture_output=True)
    shutil.rmtree(tree)
    content = package.read_bytes()
    index = (
        f"{fields}Filename: ./{package.name}\nSize: {len(content)}\n"
        f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
    ).encode()
    (folder / "Packages").write_bytes(index)
    digest = hashlib.sha256(index).hexdigest()
    (folder / "Release").write_text(
        f"Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n {digest} {len(index)} Packages\n",
        encoding="utf-8",
    )
    return content


@pytest.mark.usefixtures("unchanged")
def test_apt_updates_and_downloads_a_package(
    machine: Namespace, files: Path, tmp_path: Path
) -> None:
    package = make_repository(files)
    home = tmp_path / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "downloads"):
        (home / folder).mkdir(parents=True)
    sources = home / "sources.list"
    sources.write_text(f"deb [trusted=yes] http://server.example:{PORT}/ ./\n", encoding="utf-8")
    configuration = home / "apt.conf"
    configuration.write_text(
        f'Dir::State::lists "{home}/lists";\nDir::State::status "/dev/null";\n'
        f'Dir::Cache "{home}/cache";\nDir::Etc::sourcelist "{sources}";\n'
        'Dir::Etc::sourceparts "/dev/null";\nAPT::Sandbox::User "root";\n'
        'Acquire::http::Proxy "DIRECT";\n',
        encoding="utf-8",
    )
    script = f"cd {home}/downloads && apt-get update -q && apt-get download -q small"
    words = ["env", f"APT_CONFIG={configuration}", "sh", "-c", script]
    # Without a way outside, the repository cannot be reached.
    machine.run(*link(), "--", *words, status=100)
    down = run_to_json(machine, tmp_path / "link.json", *words)
    assert (home / "downloads" / "small_1.0_all.deb").read_bytes() == package
    assert down["delivered_bytes"] > len(package)


@pytest.mark.browser
@pytest.mark.usefixtures("unchanged")
def test_a_browser_shows_a_page_with_its_data(
    machine: Namespace, files: Path, tmp_path: Path
) -> None:
    (files / "page.html").write_text(PAGE, encoding="utf-8")
    (files / "data.txt").write_text("x" * 500_000, encoding="utf-8")
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server"]
    # Without questions for other names.
    flags += ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
    resolver(machine, tmp_path, "127.0.0.53", timeout_s=10)
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    page = f"http://server.example:{PORT}/page.html"
    words = [chromium, *flags, profile, "--virtual-time-budget=20000", "--dump-dom", page]
    file = tmp_path / "link.json"
    shown = machine.run(*link("--nat", "--rate", "20mbit", "--json", file), "--", *words)
    assert '<p id="answer">500000 bytes of x</p>' in shown
    down = json.loads(file.read_text(encoding="utf-8"))["down"]
    assert down["delivered_bytes"] > 500_000
    resolver(machine, tmp_path, "127.0.0.53")


@contextlib.contextmanager
def made_container(script: str, folder: Path) -> Iterator[int]:
    """Run a shell script as the first process of a container; yields its number outside of it.

    It has namespaces of its own for processes, mounts and the network, and a DNS server that the
    machine reaches through its default route.
    """
    servers = folder / "resolv.conf"
    servers.write_text(f"nameserver {PUBLIC_DNS}\noptions timeout:1\n", encoding="utf-8")
    begin = (
        f"mount --bind {servers} /etc/resolv.conf && ip link set lo up && echo ready && {script}"
    )
    words = [UNSHARE, "--fork", "--kill-child", "--pid", "--mount-proc", "--net", "sh", "-c", begin]
    with started(words, "ready") as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        (first,) = children.read_text(encoding="ascii").split()
        yield int(first)


def test_a_process_in_a_container_gets_a_way_out(machine: Namespace, tmp_path: Path) -> None:
    answer, statistics = tmp_path / "answer", tmp_path / "link.json"
    # The program runs before the link exists, and asks until it has an answer.
    script = (
        f"until curl -s --max-time 5 http://server.example/ -o {answer}; do sleep 0.1; done; "
        f"echo $$ > {tmp_path / 'first'}"
    )
    before = machine.state()
    with made_container(script, tmp_path) as first:
        options = ["--nat", "--json", statistics, "--pid", first]
        words = machine.words(*TCPSF, "link", "--delay", "10ms", *options)
        with started(words, "Outside:") as process:
            # The link ends with the container.
            assert process.wait(timeout=60) == 0
    eventually(lambda: machine.state() == before)
    assert (tmp_path / "first").read_text(encoding="ascii") == "1\n"
    page = answer.read_bytes()
    address = page.partition(b"\n")[0].decode()
    assert address in (MACHINE, MACHINE_6)
    assert page == address.encode() + b"\n" + bytes(200_000)
    found = json.loads(statistics.read_text(encoding="utf-8"))
    assert (found["command"], found["exit_status"]) == ([], 0)
    # At least the query for the name, the handshake and the request: three round trips.
    assert found["duration_s"] > 3 * 0.02
    assert found["down"]["delivered_bytes"] > 200_000
