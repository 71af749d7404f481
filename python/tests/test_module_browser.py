"""The WebAssembly module in Chromium gives the answers of the native crate, for random scenarios."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from chromium import Browser
from conftest import REPOSITORY

PAGE = REPOSITORY / "out" / "web" / "index.html"

SCENARIOS = 1000
"""Number of random scenarios."""

# `make test-browser` builds the page first; `.ci/run` lists these tests as not run where it cannot.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGE.exists(), reason="`make web` has not built the page"),
]

ANSWERS = """
((requests) => requests.map((request) => {
  if (request.do !== "capture") return client.ask(request, request.do === "open" ? window.capture : undefined);
  window.capture = client.capture(request.view);
  return [...window.capture].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}))
"""


def test_random_scenarios_have_the_rows_of_the_native_crate(tmp_path: Path) -> None:
    cargo = shutil.which(os.environ.get("CARGO", "cargo"))
    assert cargo is not None
    command = [cargo, "run", "--locked", "--quiet", "--package", "web", "--example", "answers"]
    made = subprocess.run(
        [*command, "--", str(SCENARIOS)], cwd=REPOSITORY, stdout=subprocess.PIPE, check=True
    )
    pairs = [json.loads(line) for line in made.stdout.splitlines()]
    runs = [each["answer"] for each in pairs if each["request"]["do"] == "run"]
    assert len(runs) == SCENARIOS
    # Most runs have flows, and different ones.
    assert sum(answer["flows"] > 0 for answer in runs) > 0.9 * SCENARIOS
    assert len({answer["flows_hash"] for answer in runs}) > 0.9 * SCENARIOS
    with Browser(tmp_path) as browser:
        browser.open(PAGE.as_uri())
        browser.wait("document.documentElement.dataset.readyMs")
        for start in range(0, len(pairs), 40):
            batch = pairs[start : start + 40]
            requests = json.dumps([each["request"] for each in batch])
            for found, pair in zip(browser.value(f"{ANSWERS}({requests})"), batch, strict=True):
                assert found == pair["answer"], pair["request"]
