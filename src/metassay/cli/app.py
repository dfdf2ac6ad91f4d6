"""The commands, put together, and those that say what is there. Nothing heavy is imported before one runs."""

from __future__ import annotations

import functools
import importlib
import os
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from metassay.cli.printing import print_table, say

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
    "recommend": "assay",
    "compare": "runs",
    "report": "runs",
    "serve": "runs",
    "list": "app",
    "models": "app",
    "cache": "app",
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


def run_list(
    kind: Annotated[
        str, typer.Argument(help="metrics, perturbations, readers or resources.", metavar="KIND")
    ],
    *,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Which metrics, perturbations, readers and resources there are."""
    from metassay.workflows.list import listing

    result = listing(kind)
    if json:
        print(result.to_json())
    else:
        print_table(result.rows, first=(next(iter(result.rows[0])), "what", "task", "better", "default"))


def run_models(
    folder: Annotated[
        list[str] | None, typer.Argument(help="Folders to look at beside the hub's cache.", metavar="FOLDER")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Which neural models are on this machine: size, hash, languages, licence."""
    from metassay.workflows.list import models

    result = models(*(folder or []))
    if json:
        print(result.to_json())
        return
    if not result.rows:
        say(f"No model was found in {' or '.join(result.searched)}.")
    shown = ("model", "metrics", "megabytes", "weights", "licence")
    for row in result.rows:
        row["licence"] = (
            f"{row['licence']} (non-commercial)" if row["commercial_use"] is False else row["licence"]
        )
    print_table(
        [
            {name: row[name] for name in shown}
            | {"languages": _languages(row["languages"]), "note": row["note"]}
            for row in result.rows
        ]
    )
    say(*(f"{row['model']}: {row['folder']}" for row in result.rows))


def _languages(codes: list[str] | None) -> str | None:
    if codes is None:
        return None
    return ", ".join(codes) if len(codes) <= 4 else f"{len(codes)}: {', '.join(codes[:3])} …"


def run_cache(
    action: Annotated[str, typer.Argument(help="info, prune or verify.", metavar="ACTION")],
    *,
    cache: Annotated[
        str | None, typer.Option(help="The folder; default METASSAY_CACHE.", metavar="FOLDER")
    ] = None,
    most: Annotated[
        float, typer.Option(help="prune: so many gigabytes may stay, what was of use last.", min=0)
    ] = 10.0,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Scores that runs share: what is there (info), less of it (prune), is it whole (verify)."""
    from metassay.workflows.list import score_cache

    result = score_cache(action, cache, most=most)
    if json:
        print(result.to_json())
    else:
        print_table(result.rows)
        done = {"info": "", "prune": f"Parts removed: {result.removed}. ", "verify": "All are whole. "}
        lost = f"Broken and set aside: {len(result.broken)}. " if result.broken else done[action]
        say(f"{lost}{result.folder} holds {result.parts} parts, {result.bytes / 1e6:,.1f} MB.")
    if result.broken:
        raise typer.Exit(2)


def completions(option: str, incomplete: str) -> list[str]:
    """What may stand for an option, of a list after its last comma; contexts and systems from the data."""
    head, comma, last = incomplete.rpartition(",")
    try:
        found = _values(option)
    except Exception:  # noqa: BLE001 - the shell is asked nothing; it offers nothing
        return []
    return [f"{head}{comma}{name}" for name in found if name.lower().startswith(last.lower())]


def _values(option: str) -> list[str]:
    from metassay.tasks import load_tasks
    from metassay.workflows.list import listing
    from metassay.workflows.read import read

    if option in {"metrics", "perturbations"}:
        names = [str(next(iter(row.values()))) for row in listing(option).rows]
        shown = [f"{name.removesuffix('_k')}_10" if name.endswith("_k") else name for name in names]
        return [*shown, "chrf++"] if option == "metrics" else shown
    if option == "task":
        return list(load_tasks())
    typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    found = read([word for word in typed.split()[2:] if Path(word).exists()])
    columns = {"human": found.human, "systems": found.systems}
    return list(columns.get(option, ("system", *found.metadata, *found.human)))
