"""Links of reports to the playground: the scenario in an address, and the place of the page."""

from __future__ import annotations

import base64
import html
import re
import zlib
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from conftest import Command
from example_models import Bernoulli

from tcpsf import Scenario, run
from tcpsf.run_report import playground_link


def links(page: Path) -> list[tuple[str, str]]:
    """Address and text of each link of a page."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', text)
    return [(html.unescape(address), name) for address, name in found]


def test_the_fragment_has_the_scenario(small: Scenario) -> None:
    text = playground_link.packed(small)
    assert re.fullmatch(r"[\w-]+", text)
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    assert zlib.decompress(content, wbits=-15).decode() == small.to_json()


@pytest.mark.parametrize(
    ("place", "report", "address"),
    [
        ("playground.html", "run.html", "playground.html"),
        ("play/index.html", "reports/demo/run.html", "../../play/index.html"),
        ("playground.html", "a/b/c/run.html", "../../../playground.html"),
    ],
)
def test_a_report_links_to_the_page_near_it(
    small: Scenario, tmp_path: Path, place: str, report: str, address: str
) -> None:
    for name in (place, report):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("the page", encoding="utf-8")
    result = run(small, seed=4)
    flow = int(result.flows["flow"][3])
    first, *_ = links(result.report(tmp_path / report, flow=flow))
    page, _, fragment = first[0].partition("#")
    assert page == address
    settings = {name: values[0] for name, values in parse_qs(fragment).items()}
    assert settings == {
        "scenario": playground_link.packed(small),
        "seed": "4",
        "flow": str(flow),
    }


def test_a_report_without_the_page_has_the_command(
    tcpsf: Command, small_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "a" / "b" / "c" / "d").mkdir(parents=True)
    (tmp_path / "playground.html").write_text("too far away", encoding="utf-8")
    report = tmp_path / "a" / "b" / "c" / "d" / "run.html"
    answer = tcpsf("sim", small_file, "--seed", "7", "--report", report)
    assert answer.status == 0, answer.err
    ((address, name),) = links(report)
    assert name == "scenario"
    text = base64.b64decode(address.removeprefix("data:application/toml;base64,")).decode()
    assert Scenario.from_toml_text(text) == Scenario.from_toml(small_file)
    file = f"{Scenario.from_toml(small_file).name}.toml"
    page = report.read_text(encoding="utf-8")
    assert f'download="{file}"' in page
    assert re.search(rf"<code>tcpsf explore {file} --seed 7 --flow \d+</code>", page)


def test_the_name_of_the_file_needs_no_quotes(small: Scenario) -> None:
    named = small.with_value("name", "a loss; of $(everything) / ..")
    found = playground_link.playground_link(named, seed=1, flow=0, folder=None)
    assert found.command == "tcpsf explore a-loss-of-everything.toml --seed 1 --flow 0"


def test_a_long_scenario_has_no_link(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "playground.html").write_text("the page", encoding="utf-8")
    monkeypatch.setattr(playground_link, "LONGEST_LINK", 100)
    found = playground_link.playground_link(small, seed=1, flow=0, folder=tmp_path)
    assert found.address is None


def test_runs_with_models_of_their_own_have_no_link(small: Scenario, tmp_path: Path) -> None:
    result = run(small, loss={"there": Bernoulli})
    assert links(result.report(tmp_path / "run.html")) == []
