"""`tcpsf explore`: the page with a scenario, its server, and errors."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from conftest import Command

from tcpsf import Scenario
from tcpsf.errors import TcpsfError
from tcpsf.explore import page_server

PAGE = f"<html>{page_server.PLACE}</html>"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page without a module, as if `make web` had built it."""
    monkeypatch.setattr(page_server, "built_page", lambda: PAGE)


@pytest.mark.usefixtures("built")
def test_the_page_has_the_scenario(small: Scenario) -> None:
    page = page_server.filled_page(small, seed=7, name="</script><b>.toml").decode()
    (found,) = re.findall(r'id="given-scenario">(.*?)</script>', page)
    content = json.loads(found)
    assert content["scenario"] == json.loads(small.to_json())
    assert (content["seed"], content["name"]) == (7, "</script><b>.toml")
    assert page.count("</script>") == 1


def test_the_server_has_one_page() -> None:
    with page_server.PlaygroundServer(b"the page", port=0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            assert server.address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(server.address) as answer:  # noqa: S310
                assert answer.read() == b"the page"
                assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            with pytest.raises(urllib.error.HTTPError, match="404") as refused:
                urllib.request.urlopen(server.address + "../etc/passwd")  # noqa: S310
            refused.value.close()
            port = server.server_address[1]
            with pytest.raises(TcpsfError, match=f"`--port {port}`: "):
                page_server.PlaygroundServer(b"", port=port)
        finally:
            server.shutdown()
            thread.join()


def test_a_package_without_the_page_says_so(
    tcpsf: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.resources.files", lambda _name: Path("/nowhere"))
    answer = tcpsf("explore", small_file)
    assert answer.status == 2
    assert answer.err.startswith("error: the playground was not built with this package\nhint: ")


@pytest.mark.usefixtures("built")
def test_a_bad_scenario_is_refused_before_anything_is_served(
    tcpsf: Command, tmp_path: Path
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("name = 5", encoding="utf-8")
    answer = tcpsf("explore", path)
    assert answer.status == 2
    assert answer.out == ""
    assert "bad.toml" in answer.err
