"""The commands, put together. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import functools
import importlib
from typing import Annotated, Any

import typer

COMMANDS = {
    "check": "outputs",
    "demo": "assay",
    "assay": "assay",
    "score": "outputs",
    "align": "outputs",
    "perturb": "outputs",
    "rank": "scores",
    "depend": "scores",
    "aggregate": "scores",
    "judge": "assay",
    "run": "runs",
    "resume": "runs",
    "work": "runs",
    "recommend": "runs",
    "compare": "runs",
    "report": "runs",
    "serve": "runs",
    "list": "inventory",
    "models": "inventory",
    "cache": "inventory",
}
"""The module of each command, with a function `run_<name>` whose docstring is the help text."""

app = typer.Typer(
    name="metassay",
    help="Which evaluation metric can you trust, here? Start with: metassay demo",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from metassay import __version__

        print(f"metassay {__version__}")
        raise typer.Exit


@app.callback()
def _metassay(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@functools.cache
def command() -> Any:
    """The whole command line as one command object."""
    from metassay.cli.options import expanded

    for name, home in COMMANDS.items():
        module = importlib.import_module(f"metassay.cli.{home}")
        app.command(name)(expanded(getattr(module, f"run_{name}")))
    return typer.main.get_command(app)


def usage_errors() -> type[Any]:
    """The class of errors that the parser raises for wrong usage."""
    for kind in typer.BadParameter.__mro__:
        if kind.__name__ == "ClickException":
            return kind
    return typer.BadParameter
