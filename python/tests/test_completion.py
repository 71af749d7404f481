"""`tcpsf completion`, and the man pages and scripts that a wheel installs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY, Command

from tcpsf.cli.completion import SHELLS
from tcpsf.pages import command_reference, man
from tcpsf.pages.commands import DocumentedCommand, documented

SHARE = REPOSITORY / "python" / "tcpsf.data" / "data" / "share"

RULES = (REPOSITORY / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")


@pytest.fixture
def bash(tmp_path: Path) -> Path:
    """A folder with a command `tcpsf`, for PATH."""
    program = tmp_path / "bin" / "tcpsf"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tcpsf "$@"\n')
    program.chmod(0o755)
    return program.parent


def completed(bash: Path, script: Path, *words: str) -> list[str]:
    """What bash offers for the last word, after it has read the script."""
    line = " ".join(map(shlex.quote, words))
    program = (
        f"source {shlex.quote(str(script))}; complete -p tcpsf; "
        f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        'compopt() { :; }; _tcpsf_completion tcpsf; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    answer = subprocess.run(
        ["/bin/bash", "--norc", "-c", program],
        env={"PATH": f"{bash}:/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY / "python")},
        capture_output=True,
        text=True,
        check=True,
    )
    registered, *offered = answer.stdout.splitlines()
    assert registered == "complete -o nosort -F _tcpsf_completion tcpsf"
    return offered


@pytest.mark.parametrize("installed", [False, True], ids=["printed", "installed"])
def test_bash_completes(tcpsf: Command, bash: Path, tmp_path: Path, installed: bool) -> None:
    script = SHARE / man.SCRIPTS["bash"]
    if not installed:
        script = tmp_path / "script"
        script.write_text(tcpsf("completion", "bash").out, encoding="utf-8")
    assert completed(bash, script, "tcpsf", "si") == ["sim"]
    assert completed(bash, script, "tcpsf", "sweep", "st") == ["status"]
    assert completed(bash, script, "tcpsf", "sim", "--pcap-") == ["--pcap-at", "--pcap-bytes"]
    assert completed(bash, script, "tcpsf", "link", "--loss-ma") == [
        "--loss-mask",
        "--loss-mask-all",
    ]
    assert completed(bash, script, "tcpsf", "link", "sh") == ["show"]
    assert completed(bash, script, "tcpsf", "link", "--nat", "sh") == [""]
    assert completed(bash, script, "tcpsf", "link", "show", "--js") == ["--json"]
    assert completed(bash, script, "tcpsf", "serve", "--profile", "linux-6.1") == [
        "linux-6.18",
        "linux-6.12",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_installed_script_is_the_printed_one(tcpsf: Command, shell: str) -> None:
    answer = tcpsf("completion", shell)
    assert (answer.status, answer.err) == (0, "")
    installed = (SHARE / man.SCRIPTS[shell]).read_text(encoding="utf-8")
    assert installed.rstrip("\n") == answer.out.rstrip("\n")
    assert "_TCPSF_COMPLETE" in installed


def test_an_unknown_shell(tcpsf: Command) -> None:
    answer = tcpsf("completion", "tcsh")
    assert (answer.status, answer.out) == (2, "")
    assert "`tcsh` is not one of `bash`, `zsh`, `fish`" in answer.err


def test_installed_files_are_up_to_date() -> None:
    committed = {
        str(path.relative_to(SHARE)): path.read_text(encoding="utf-8")
        for path in SHARE.rglob("*")
        if path.is_file()
    }
    assert committed == man.files(RULES), "write them again: make docs"


def test_the_page_of_commands_is_up_to_date() -> None:
    committed = (REPOSITORY / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert committed == command_reference.page(), "write it again: make docs"


class TestManPages:
    """Properties of the pages as man(7) defines its language."""

    @pytest.mark.parametrize("command", list(documented()), ids=lambda each: each.name)
    def test_page(self, command: DocumentedCommand, tcpsf: Command) -> None:
        page = man.page(command, RULES)
        for line in page.splitlines():
            assert re.match(r'\.(\\"|TH |SH [A-Z]|PP$|TP$)|[^.\'\s]', line), line
            assert re.sub(r"\\(f[BIR]|-|e|&|\(aq|\")", "", line).count("\\") == 0, line
            assert len(re.findall(r"\\f[BI]", line)) == line.count(r"\fR"), line
        plain = re.sub(r"\\f[BIR]", "", page).replace(r"\-", "-")
        for option in re.findall(
            r"^  (-[\w-]+(?:, --[\w-]+)?)(?= |$)",
            tcpsf(*command.words[1:], "-h").out,
            flags=re.MULTILINE,
        ):
            assert f"\n{option}" in plain, option

    def test_text_that_looks_like_a_request(self) -> None:
        command = DocumentedCommand(
            words=("tcpsf", "x"),
            usage="",
            paragraphs=("Summary.", ".so /etc/passwd", "'so \\fBx", "a `.b\\c` 'd"),
            options=(("--x'y N", ".ig"),),
            commands=(),
        )
        lines = man.page(command, RULES).splitlines()
        assert r"\&.so /etc/passwd" in lines
        assert r"\&'so \efBx" in lines
        assert r"a \fB.b\ec\fR 'd" in lines
        assert lines[lines.index(".TP") + 1 :][:2] == [r"\fB\-\-x\(aqy\fR \fIN\fR", r"\&.ig"]

    def test_a_missing_table(self) -> None:
        tcpsf = next(documented())
        with pytest.raises(LookupError, match="'exit status'"):
            man.page(tcpsf, "# Command line\n")
