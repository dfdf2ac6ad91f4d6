"""Every command and code block of README and documentation runs against the samples, or says why it cannot."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metassay.cli import run as metassay_command

sys.path.insert(0, str(Path(__file__).parent))
from blocks import Block, blocks
from desk import environment, lay

ROOT = Path(__file__).parents[2]
MADE = {"api.md"}
"""Made of docstrings, whose examples run as doctests."""
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").glob("*.md") if p.name not in MADE)]
QUICK = {
    "assay": "--resamples 20 --permutations 19",
    "rank": "--draws 20",
    "depend": "--bootstraps 5 --draws 9",
    "aggregate": "--resamples 20",
    "demo": "--out demo",
}
"""Fewer draws than a user wants, where the page names no number."""
MAY_END_WITH = {("compare", "--fail-on"): {0, 3}}
LAID = {"ranking.md": "rankings", "speech.md": "speech"}
"""Pages that give the usual names to other data, and the folder that has it."""
ELSEWHERE = {"your-own-metric.md", "runs.md"}
"""Pages whose blocks make one story, which `test_stories.py` tells and checks."""


def code() -> list[tuple[str, Block]]:
    return [(page.name, block) for page in PAGES for block in blocks(page)]


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The desk, laid once."""
    desk = tmp_path_factory.mktemp("desk")
    lay(desk)
    return desk


@pytest.fixture
def desk(files, tmp_path, monkeypatch):
    """A desk of one's own, and one's place at it."""
    shutil.copytree(files, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    return tmp_path / "desk"


@pytest.mark.posix
@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda p: p.name)
def test_what_a_page_shows_runs(page) -> None:
    if page.name in LAID:
        shutil.rmtree("runs")
        shutil.copytree(LAID[page.name], ".", dirs_exist_ok=True)
    for block in blocks(page):
        if block.reason is None:
            try:
                python(block.text) if block.kind == "python" else shell(block.text)
            except Exception as error:
                error.add_note(f"{page.name}, line {block.line}")
                raise


def python(text: str) -> None:
    code = compile(text, "block", "exec")
    exec(code, {"__name__": "block"})


def shell(text: str) -> None:
    """Single commands of metassay in this process; everything else by bash."""
    commands = text.replace("\\\n", " ").strip().splitlines()
    if not all(
        command.startswith(("metassay ", "#")) and "|" not in command and ">" not in command
        for command in commands
    ):
        variables = environment(Path("programs").absolute())
        subprocess.run(["bash", "-e", "-c", text], env=variables, check=True, capture_output=True)
        return
    for command in commands:
        words = shlex.split(command, comments=True)[1:]
        if not words:
            continue
        given = {word for word in words if word.startswith("--")}
        extra = shlex.split(QUICK.get(words[0], ""))
        if not given & {word for word in extra if word.startswith("--")}:
            words += extra
        expected = next(
            (ends for (verb, flag), ends in MAY_END_WITH.items() if verb == words[0] and flag in words), {0}
        )
        assert metassay_command(words) in expected, command


def test_nothing_is_excused_without_a_reason() -> None:
    excused = [(page, block) for page, block in code() if block.reason is not None]
    assert all(len(block.reason.split()) > 2 for _, block in excused)
    assert len(excused) < len(code()) / 3


def test_no_mark_excuses_nothing() -> None:
    for page in PAGES:
        marks = len(re.findall(r"<!-- not run: ", page.read_text(encoding="utf-8")))
        assert marks == sum(block.reason is not None for block in blocks(page)), page.name


def test_the_pages_that_are_told_elsewhere_have_no_loose_command() -> None:
    told = (Path(__file__).parent / "test_stories.py").read_text(encoding="utf-8")
    assert all(name in told for name in ELSEWHERE)
