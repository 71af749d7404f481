"""Emulated links from Python. Needs root and TUN devices, as CI has them; only subprocesses enter the namespaces."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import REPOSITORY

import tcpsf
import tcpsf.aio
from tcpsf.emulation import link_requests

pytest_plugins = ["pytester"]

CONNECT = """
import os, socket, time
outside = (os.environ["TCPSF_LINK_OUTSIDE"], {port})
begin = time.monotonic()
socket.create_connection(outside).close()
print(time.monotonic() - begin)
"""


@pytest.fixture(autouse=True)
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other link is running."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def port() -> int:
    """A port at which no program listens: the kernel answers with a reset after a round trip."""
    return 9


def refused_after(port: int) -> list[str]:
    """A command that prints the time after which a connection is refused."""
    tried = CONNECT.format(port=port).replace(
        "socket.create_connection(outside).close()",
        "\ntry:\n    socket.create_connection(outside)\nexcept ConnectionRefusedError:\n    pass\n",
    )
    return [sys.executable, "-c", tried]


def test_commands_run_behind_the_link(port: int) -> None:
    with tcpsf.link(delay="30ms", name="python") as net:
        assert link_requests.running() == ["python"]
        done = net.run(refused_after(port), capture_output=True, text=True, check=True)
        assert 0.06 <= float(done.stdout) < 1.0
        answer = net.set(delay="5ms", up_loss=0.0)
        assert answer["up"] == {"delay": "5ms", "loss": "0.0"}
        started = net.popen(refused_after(port), stdout=subprocess.PIPE, text=True)
        out, _ = started.communicate(timeout=30)
        assert 0.01 <= float(out) < 0.06
        assert net.stats()["up"]["delivered_packets"] >= 2
        assert net.result is None
    assert net.result is not None
    assert len(net.result["changes"]) == 1
    assert net.result["up"]["delivered_packets"] >= 2
    assert link_requests.running() == []


def test_invalid_options_raise_the_error_of_the_command() -> None:
    with pytest.raises(tcpsf.TcpsfError, match="`--loss two`") as found, tcpsf.link(loss="two"):
        pass
    assert str(found.value) == "`--loss two`: `two` is not a probability"
    assert found.value.hint == "write it as `0.01` or `1%`"
    with tcpsf.link() as net, pytest.raises(tcpsf.TcpsfError, match="no such option"):
        net.set(speed="1mbit")


def test_an_exception_in_the_block_ends_the_link() -> None:
    class OwnError(Exception):
        pass

    with pytest.raises(OwnError), tcpsf.link(delay="1ms"):
        raise OwnError
    assert link_requests.running() == []


def test_a_link_ends_with_a_killed_caller(tmp_path: Path) -> None:
    script = "import tcpsf, time\nwith tcpsf.link(name='killed') as net:\n    print(1, flush=True); time.sleep(60)"
    caller = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert caller.stdout is not None
    with caller:
        assert caller.stdout.readline() == b"1\n"
        assert link_requests.running() == ["killed"]
        caller.kill()
    deadline = time.monotonic() + 10
    while link_requests.running() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list((tmp_path / "tcpsf").iterdir()) == []


def test_the_asynchronous_version(port: int) -> None:
    async def main() -> None:
        async with tcpsf.aio.link(delay="10ms") as net:
            begin = time.monotonic()
            processes = await asyncio.gather(*(net.run(refused_after(port)) for _ in range(3)))
            assert [process.returncode for process in processes] == [0, 0, 0]
            assert time.monotonic() - begin < 20
            assert (await net.set(delay="1ms"))["up"] == {"delay": "1ms"}
            assert (await net.stats())["up"]["delivered_packets"] >= 3
            slow = asyncio.create_task(net.run(["sleep", "60"]))
            await asyncio.sleep(0.2)
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
        assert net.result is not None

    asyncio.run(main())


SENDS = """
import os, socket, sys
# Datagrams from the addresses of both links.
for suffix, count in (("", 2), ("_2", 5)):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind((os.environ[f"TCPSF_LINK_INSIDE{suffix}"], 0))
        for _ in range(count):
            udp.sendto(b"datagram", (os.environ["TCPSF_LINK_OUTSIDE"], 9))
"""


def test_several_links_of_a_command() -> None:
    further = [{"name": "lte", "delay": "4ms", "at": ["0s:up-loss=100%"]}]
    with tcpsf.link(delay="1ms", name="wifi", beside=further) as net:
        assert sorted(link_requests.running()) == ["lte", "wifi"]
        (lte,) = net.beside
        assert (net.device, lte.device, lte.beside) == ("tcpsf", "tcpsf-2", ())
        assert len({net.inside, net.outside, lte.inside, lte.outside}) == 4
        lte.run([sys.executable, "-c", SENDS], check=True)
        assert lte.set(down_delay="7ms")["down"]["delay"] == "7ms"
        assert net.stats()["up"]["delivered_packets"] == 2
    assert net.result is not None
    assert lte.result is not None
    assert (net.result["name"], net.result["up"]["dropped_loss_packets"]) == ("wifi", 0)
    assert (lte.result["name"], lte.result["up"]["dropped_loss_packets"]) == ("lte", 5)
    assert link_requests.running() == []


def test_several_links_of_an_asynchronous_command() -> None:
    async def main() -> None:
        async with tcpsf.aio.link(delay="1ms", beside=[{}, {"delay": "2ms"}]) as net:
            await net.run([sys.executable, "-c", SENDS])
            counts = [(await each.stats())["up"]["delivered_packets"] for each in net.beside]
            assert counts == [5, 0]
            assert [each.device for each in net.beside] == ["tcpsf-2", "tcpsf-3"]
        assert [each.result is not None for each in (net, *net.beside)] == [True] * 3

    asyncio.run(main())


def test_invalid_further_links_are_told() -> None:
    for beside in ("--delay 1ms", ["--delay 1ms"], 2):
        with (
            pytest.raises(
                tcpsf.TcpsfError, match=r"expected options of each further link"
            ) as found,
            tcpsf.link(beside=beside),
        ):
            pass
        assert found.value.hint == 'e.g. `beside=[{"name": "lte", "preset": "lte"}]`'
    with (
        pytest.raises(tcpsf.TcpsfError, match="`--loss two`: `two` is not a probability"),
        tcpsf.link(beside=[{"loss": "two"}]),
    ):
        pass


def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_two_links(tcpsf_link):
            slow, fast = tcpsf_link(delay="20ms"), tcpsf_link(delay="1ms")
            assert slow.inside != fast.inside
            assert slow.run(["ip", "route", "get", slow.outside]).returncode == 0
            assert fast.set(loss=0.5)["down"] == {"delay": "1ms", "loss": "0.5"}

        def test_several_links_of_a_command(tcpsf_link):
            net = tcpsf_link(delay="20ms", beside=[{"delay": "1ms"}])
            script = 'test "$TCPSF_LINK_INSIDE_2" = ' + net.beside[0].inside
            assert net.run(["sh", "-c", script]).returncode == 0
        """
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "tcpsf.pytest_plugin"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout
    assert link_requests.running() == []


def test_the_fixture_is_an_entry_point() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\ntcpsf = "tcpsf.pytest_plugin"' in project
