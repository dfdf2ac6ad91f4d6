"""Presets set the options of a paper, and the user's own options win."""

from __future__ import annotations

from typing import Any

import pytest

from metassay.cli import run_command_line as run
from metassay.cli.application import HELP_ALL, build_command_line
from metassay.cli.presets import PRESETS
from metassay.metrics.registry import parse_metrics
from metassay.perturbations.registry import parse_perturbations
from metassay.tasks import find_task

COMMANDS = build_command_line().commands
ALL_PRESETS = [(command, preset) for command, presets in PRESETS.items() for preset in presets]


def parse(command: str, *arguments: str) -> dict[str, Any]:
    """Return the options that the command line makes of arguments."""
    with COMMANDS[command].make_context(command, ["data.csv", *arguments]) as context:
        return dict(context.params)


@pytest.mark.parametrize(("command", "preset"), ALL_PRESETS)
def test_every_preset_can_be_parsed_and_is_listed(command, preset, capsys) -> None:
    given = parse(command, "--preset", preset)
    assert given == parse(command, f"--preset={preset}")
    assert given == parse(command, *PRESETS[command][preset])
    assert run([command, HELP_ALL]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert preset in page[page.index("--preset NAME") :].split(".")[0]


@pytest.mark.parametrize("preset", PRESETS["assay"])
def test_metrics_and_perturbations_of_a_preset_exist_for_its_task(preset) -> None:
    task = find_task({"asr": "asr", "ranking": "ranking"}.get(preset[4:], "mt"))
    options = parse("assay", "--preset", preset)
    assert len(parse_metrics(options["metrics"])) == options["metrics"].count(",") + 1
    assert len(parse_perturbations(options["perturbations"], task=task)) >= 1


def test_the_options_of_the_papers() -> None:
    assert parse("assay", "--preset", "000")["agreement"] == "tau_ap"
    assert parse("assay", "--preset", "002")["perturbations"] == "removal_20"
    spa = parse("rank", "--preset", "003")
    assert (spa["meta"], spa["permutations"], spa["significance"]) == ("pa,spa", 1000, "perm-inputs")
    assert parse("depend", "--preset", "004")["bootstraps"] == 200
    aggregation = parse("aggregate", "--preset", "001")
    assert (aggregation["resamples"], aggregation["size"]) == (1000, 1000)


def test_options_of_the_user_win() -> None:
    for arguments in (
        ["--preset", "000", "--agreement", "kendall"],
        ["--agreement", "kendall", "--preset", "000"],
    ):
        assert parse("assay", *arguments)["agreement"] == "kendall"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["assay", "data.csv", "--preset", "005"], "005"),
        (["assay", "data.csv", "--preset", "003"], "003"),
        (["assay", "data.csv", "--preset"], "names no preset"),
        (["rank", "data.csv", "--preset", "003", "--preset=003"], "more than once"),
        (["score", "data.csv", "--preset", "000"], "--preset"),
    ],
)
def test_other_presets_are_refused(arguments, message, capsys) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err
