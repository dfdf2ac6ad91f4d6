"""Every command and code block of README and documentation runs on the samples, or says why it cannot."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metassay.cli import run_command_line as run_metassay

sys.path.insert(0, str(Path(__file__).parent))
from blocks import Block, find_blocks
from documented_files import build_environment, write_documented_files

ROOT = Path(__file__).parents[2]
GENERATED_PAGES = {"api.md"}
"""Generated from docstrings, whose examples run as doctests."""
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED_PAGES),
]
QUICK_OPTIONS = {
    "assay": "--resamples 20 --permutations 19",
    "rank": "--draws 20",
    "depend": "--bootstraps 5 --draws 9",
    "aggregate": "--resamples 20",
    "demo": "--out demo",
}
"""Fewer draws than a user wants, unless the page names a number."""
ALLOWED_EXIT_CODES = {("compare", "--fail-on"): {0, 3}, ("watch", "--fail-on"): {0, 3}}
DATA_FOLDERS = {"ranking.md": "rankings", "speech.md": "speech"}
"""Pages whose `outputs.parquet` or `runs` are data of another task, and the folder with that data."""
PAGES_WITH_TESTS_OF_THEIR_OWN = {"your-own-metric.md", "runs.md"}
"""Pages whose blocks build on one another; `test_stories.py` runs them and checks the results."""


def collect_blocks() -> list[tuple[str, Block]]:
    return [(page.name, block) for page in PAGES for block in find_blocks(page)]


@pytest.fixture(scope="session")
def documented_files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("documented")
    write_documented_files(folder)
    return folder


@pytest.fixture
def working_folder(documented_files, tmp_path, monkeypatch) -> Path:
    """A copy of all documented files, as the current folder."""
    folder = tmp_path / "working"
    shutil.copytree(documented_files, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.posix
@pytest.mark.usefixtures("working_folder")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in PAGES_WITH_TESTS_OF_THEIR_OWN], ids=lambda p: p.name
)
def test_all_blocks_of_a_page_run(page) -> None:
    if page.name in DATA_FOLDERS:
        shutil.rmtree("runs")
        shutil.copytree(DATA_FOLDERS[page.name], ".", dirs_exist_ok=True)
    for block in find_blocks(page):
        if block.skip_reason is not None:
            continue
        try:
            if block.kind == "python":
                run_python(block.text)
            else:
                run_shell(block.text)
        except Exception as error:
            error.add_note(f"{page.name}, line {block.line}")
            raise


def run_python(text: str) -> None:
    code = compile(text, "block", "exec")
    exec(code, {"__name__": "block"})


def run_shell(text: str) -> None:
    """Run plain metassay commands in this process, which is faster, and everything else with bash."""
    commands = text.replace("\\\n", " ").strip().splitlines()
    if not all(is_plain_command(command) for command in commands):
        variables = build_environment(Path("programs").absolute())
        subprocess.run(["bash", "-e", "-c", text], env=variables, check=True, capture_output=True)
        return
    for command in commands:
        arguments = shlex.split(command, comments=True)[1:]
        if arguments:
            exit_code = run_metassay(add_quick_options(arguments))
            assert exit_code in list_allowed_exit_codes(arguments), command


def is_plain_command(command: str) -> bool:
    return command.startswith(("metassay ", "#")) and "|" not in command and ">" not in command


def add_quick_options(arguments: list[str]) -> list[str]:
    quick_options = shlex.split(QUICK_OPTIONS.get(arguments[0], ""))
    if any(option in arguments for option in quick_options if option.startswith("--")):
        return arguments
    return [*arguments, *quick_options]


def list_allowed_exit_codes(arguments: list[str]) -> set[int]:
    for (verb, option), exit_codes in ALLOWED_EXIT_CODES.items():
        if arguments[0] == verb and option in arguments:
            return exit_codes
    return {0}


def test_every_skipped_block_has_a_reason_and_most_blocks_run() -> None:
    blocks = collect_blocks()
    skipped = [block for _, block in blocks if block.skip_reason is not None]
    assert all(len(block.skip_reason.split()) > 2 for block in skipped)
    assert len(skipped) < len(blocks) / 3


def test_every_skip_comment_belongs_to_a_block() -> None:
    for page in PAGES:
        comments = len(re.findall(r"<!-- not run: ", page.read_text(encoding="utf-8")))
        assert comments == sum(block.skip_reason is not None for block in find_blocks(page)), page.name


def test_pages_with_tests_of_their_own_are_tested_there() -> None:
    tests = (Path(__file__).parent / "test_stories.py").read_text(encoding="utf-8")
    assert all(name in tests for name in PAGES_WITH_TESTS_OF_THEIR_OWN)
