"""The commands, put together. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import functools
import importlib
from typing import Annotated, Any

import typer
import typer.core

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

GROUPS = {
    "Start here": ("check", "demo"),
    "Measure": ("assay", "score", "align", "perturb"),
    "Ask people and judges": ("rank", "depend", "aggregate", "judge"),
    "Runs": ("run", "resume", "work", "recommend", "compare", "report", "serve"),
    "What is there": ("list", "models", "cache"),
}
"""The commands as `--help` shows them."""
EXAMPLES = {
    "check": "metassay check outputs.csv",
    "demo": "metassay demo",
    "assay": "metassay assay outputs.csv --context domain --metrics bleu,chrf++ --out run",
    "score": "metassay score --reference ref.txt a.txt b.txt --metrics bleu,chrf++",
    "align": "metassay align --reference ref.txt hyp.txt",
    "perturb": "metassay perturb outputs.csv --language en --out pairs",
    "rank": "metassay rank scores.csv --human mqm --meta spa,acc_eq",
    "depend": "metassay depend scores.csv --human mqm",
    "aggregate": "metassay aggregate outputs.csv --metrics bleu,chrf",
    "judge": "metassay judge verdicts.csv --context domain",
    "run": "metassay run options.toml",
    "resume": "metassay resume run",
    "work": "metassay work run --parts 0-9",
    "recommend": "metassay recommend run --context domain",
    "compare": "metassay compare run next-run --fail-on change",
    "report": "metassay report run",
    "serve": "metassay serve runs/",
    "list": "metassay list metrics",
    "models": "metassay models",
    "cache": "metassay cache info",
}
"""A line for each command that can be typed as it is, given the files."""


class _Command(typer.core.TyperCommand):
    """A command whose options stand under the headings of their groups, its own first, with an example."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As ever; what was typed stays known."""
        from metassay.cli.options import TYPED

        TYPED.set(tuple(args))
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then each group of options."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for one in self.get_params(ctx):
            if (record := one.get_help_record(ctx)) is not None:
                own = "Arguments" if one.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(one, "rich_help_panel", None) or own, []).append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The example."""
        if example := EXAMPLES.get(str(ctx.info_name)):
            with formatter.section("Example"):
                formatter.write(f"  {example}\n")


class _Commands(typer.core.TyperGroup):
    """The commands by what they are for, each with its whole sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A section for each group."""
        for title, names in GROUPS.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl([
                    (name, (one.help or "").partition("\n\n")[0]) for name, one in found if one
                ])  # fmt: skip


app = typer.Typer(
    cls=_Commands,
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
        app.command(name, cls=_Command)(expanded(getattr(module, f"run_{name}")))
    return typer.main.get_command(app)


def usage_errors() -> type[Any]:
    """The class of errors that the parser raises for wrong usage."""
    for kind in typer.BadParameter.__mro__:
        if kind.__name__ == "ClickException":
            return kind
    return typer.BadParameter
