"""Help pages: the options that most people need, all options on request, commands in groups."""

from __future__ import annotations

import re

import pytest

from metassay.cli import run_command_line as run
from metassay.cli.application import COMMAND_GROUPS, HELP_ALL, build_command_line

COMMANDS = build_command_line().commands


def print_help(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run([*arguments]) == 0
    return capsys.readouterr().out


def find_options(page: str) -> set[str]:
    return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", page, re.MULTILINE))


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.common_options])
def test_help_shows_at_most_ten_options_and_how_to_see_all(name, capsys) -> None:
    common = find_options(print_help(capsys, name, "--help")) - {HELP_ALL}
    everything = find_options(print_help(capsys, name, HELP_ALL))
    assert len(common) <= 10
    assert common < everything
    for parameter in COMMANDS[name].params:
        if parameter.opts[0].startswith("-"):
            assert everything & set(parameter.opts), parameter.opts


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_with_many_options_names_the_common_ones(name) -> None:
    command = COMMANDS[name]
    assert command.common_options or len(command.params) <= 14
    assert set(command.common_options) <= {parameter.name for parameter in command.params}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_page_ends_with_an_example_of_the_command(name, capsys) -> None:
    last_line = print_help(capsys, name, "--help").strip().splitlines()[-1]
    assert last_line.strip().startswith(f"metassay {name}")


def test_commands_for_experts_come_last(capsys) -> None:
    page = print_help(capsys, "--help")
    assert list(COMMAND_GROUPS)[-1] == "Advanced"
    advanced = page.partition("Advanced:")[2]
    for name in ("run", "resume", "work", "cache"):
        assert re.search(rf"^  {name} ", advanced, re.MULTILINE)
