"""The application: all commands in groups, their help pages, and `--version`.

A command `NAME` is the function `run_NAME_command` in `metassay.cli.commands.NAME`. Its docstring is the help
text. The same module has `EXAMPLE`, shown below the options, and may have `COMMON_OPTIONS`: if so, `--help`
shows only these and `--help-all` shows all. Commands import workflows only when they run, so that
`metassay --help` stays fast.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import typing
from collections.abc import Mapping
from typing import Annotated, Any

import typer
import typer.core

from metassay.cli.parameters import TYPED_ARGUMENTS, flatten_option_groups
from metassay.cli.presets import PRESETS, describe_preset_option, expand_preset
from metassay.workflows.options import META_METRIC_NAMES, list_meta_metric_names

# The commands under the headings of `metassay --help`.
COMMAND_GROUPS = {
    "Start here": ("check", "demo"),
    "Measure": ("assay", "score", "align", "perturb"),
    "Compare with people and judges": ("rank", "depend", "aggregate", "judge"),
    "Decide with few labels": ("estimate", "annotate"),
    "Use finished runs": ("recommend", "compare", "watch", "report", "serve"),
    "Installed": ("list", "models"),
    "Advanced": ("run", "resume", "work", "cache"),
}
COMMAND_NAMES = frozenset(itertools.chain.from_iterable(COMMAND_GROUPS.values()))


HELP_ALL = "--help-all"


class _Command(typer.core.TyperCommand):
    """A command whose help page groups its options and ends with an example."""

    example: str
    common_options: tuple[str, ...] = ()
    """Names of the options that `--help` shows; empty for all."""
    option_types: Mapping[str, Any]
    """The Python type of each option, by its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and record them as they were typed, because some options depend on the
        order.
        """
        if HELP_ALL in args:
            ctx.meta[HELP_ALL] = True
            # The other arguments may be incomplete, and must not cause an error.
            args = ["--help"]
        if self.name in PRESETS:
            args = expand_preset(self.name, args)
        TYPED_ARGUMENTS.set(tuple(args))
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of a command to its help page: only the common ones, or all of them in groups."""
        if self.common_options and not ctx.meta.get(HELP_ALL):
            self._write_common_options(ctx, formatter)
        else:
            self._write_all_options(ctx, formatter)

    def _write_common_options(self, ctx: Any, formatter: Any) -> None:
        parameters = {parameter.name: parameter for parameter in self.get_params(ctx)}
        options = []
        for name in self.common_options:
            help_record = parameters[name].get_help_record(ctx)
            if help_record is not None:
                flags, help_text = help_record
                options.append((flags, _insert_meta_metric_names(help_text)))
        options.append((HELP_ALL, f"Show all {len(parameters)} options."))
        with formatter.section("Arguments"):
            formatter.write_dl([("DATA", getattr(parameters["data"], "help", ""))])
        with formatter.section("Options"):
            formatter.write_dl(options)

    def _write_all_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            help_record = parameter.get_help_record(ctx)
            if help_record is None:
                continue
            flags, help_text = help_record
            section = "Arguments" if parameter.param_type_name == "argument" else "Options"
            section = getattr(parameter, "rich_help_panel", None) or section
            sections.setdefault(section, []).append((flags, _insert_meta_metric_names(help_text)))
        if self.name in PRESETS:
            sections["Options"].append(describe_preset_option(self.name))
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature is the library's
        """Write the example at the end of a help page."""
        with formatter.section("Example"):
            formatter.write(f"  {self.example}\n")


def _insert_meta_metric_names(help_text: str) -> str:
    """Replace a placeholder in a help text by the names of all meta-metrics, including those of plug-ins."""
    if META_METRIC_NAMES not in help_text:
        return help_text
    return help_text.replace(META_METRIC_NAMES, ", ".join(list_meta_metric_names()))


class _Application(typer.core.TyperGroup):
    """The command `metassay`, whose help page lists its commands in groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands to the help page in groups, each with the first sentence of its help."""
        for title, names in COMMAND_GROUPS.items():
            records: list[tuple[str, str]] = []
            for name in names:
                command = self.get_command(ctx, name)
                if command is not None:
                    first_paragraph = (command.help or "").partition("\n\n")[0]
                    records.append((name, first_paragraph))
            with formatter.section(title):
                formatter.write_dl(records)


def _print_version(is_version_requested: bool) -> None:
    if is_version_requested:
        from metassay import __version__

        print(f"metassay {__version__}")
        raise typer.Exit


def _accept_version_option(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Accept the option `--version` before the name of a command."""


def _do_nothing() -> None:
    """Do nothing. This function takes the place of a command if only its name and help text are needed."""


@functools.cache
def build_command_line(command_name: str | None = None, *, with_options: bool = True) -> Any:
    """Build the command line with all commands, or only with the command `command_name`, which is faster.

    The list of all commands needs no options of theirs, which take most of the time.
    """
    app = typer.Typer(
        cls=_Application,
        name="metassay",
        help="Which evaluation metric can you trust, here? Start with: metassay demo",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_accept_version_option)
    modules = {}
    functions = {}
    for names in COMMAND_GROUPS.values():
        for name in names:
            if command_name not in (None, name):
                continue
            module = importlib.import_module(f"metassay.cli.commands.{name}")
            function = getattr(module, f"run_{name}_command")
            functions[name] = flatten_option_groups(function) if with_options else _do_nothing
            app.command(name, cls=_Command, help=function.__doc__)(functions[name])
            modules[name] = module
    application: Any = typer.main.get_command(app)
    for name, module in modules.items():
        built_command = application.commands[name]
        built_command.example = module.EXAMPLE
        built_command.common_options = getattr(module, "COMMON_OPTIONS", ())
        built_command.option_types = typing.get_type_hints(functions[name])
    return application
