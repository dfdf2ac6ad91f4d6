"""Derives the options of the command line from dataclasses of options.

A command is a function such as `run_check_command(data: DataOptions, output: OutputOptions)`. Typer reads
single options from the signature of a function, so `flatten_option_groups` gives the function a signature
with one parameter per field.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

from metassay.cli.completion import build_shell_completer
from metassay.errors import InputError
from metassay.options import CURRENT_COMMAND, Option, get_cli_options

# What was typed after the name of the command. The parsed options have lost the order.
TYPED_ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("typed_arguments", default=())

# What the help page shows for the value of an option that names no placeholder itself.
METAVARS = {
    "metrics": "NAMES",
    "perturbations": "NAMES",
    "meta": "NAMES",
    "lower_is_better": "NAMES",
    "higher_is_better": "NAMES",
    "people": "NAMES",
    "systems": "NAMES",
    "exclude_systems": "NAMES",
    "human": "COLUMN",
    "by": "COLUMN",
    "cluster": "COLUMN",
    "language": "CODE",
    "reference": "FILE",
    "hypothesis": "FILE",
    "source": "FILE",
    "qrels": "FILE",
    "per_segment": "FILE",
    "workers": "N",
    "seed": "N",
    "per_output": "N",
    "judge": "SPEC",
    "llm_url": "URL",
    "llm_model": "NAME",
    "llm_local": "NAME",
    "agreement": "NAME",
    "aggregate": "NAMES",
    "analysis": "NAMES",
    "bootstraps": "N",
    "budget": "AMOUNT",
    "count": "N",
    "difference": "NUMBER",
    "draws": "N",
    "engine": "NAME",
    "epsilon": "NUMBER",
    "letters": "NAME",
    "llm_concurrency": "N",
    "llm_prompt": "FILE",
    "method": "NAME",
    "minimum_gap": "NUMBER",
    "minimum_items": "N",
    "minimum_segments": "N",
    "missing": "NAME",
    "normalize": "NAME",
    "pairs": "NAME|FILE",
    "permutations": "N",
    "power": "NUMBER",
    "preprocess": "NAME",
    "prices": "FILE",
    "quoting": "NAME",
    "references": "NAME",
    "relevant_from": "NUMBER",
    "repeats": "N",
    "resamples": "N",
    "significance": "NAME",
    "size": "N",
    "task": "NAME",
    "ties": "NAME",
    "weights": "COLUMN",
    "width": "NUMBER",
}

# Options that `call.json` leaves out: the run folder itself, and which parts a single process scores.
NOT_RECORDED = ("out", "parts")


def flatten_option_groups(command_function: Callable[..., None]) -> Callable[..., None]:
    """Return a version of a command function that takes single options instead of dataclasses of options, as
    Typer requires.

    An option that two groups share is one option, and both groups get its value.
    """
    hints = typing.get_type_hints(command_function, include_extras=True)
    hints.pop("return", None)
    groups = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command_function).parameters.items():
        if name in groups:
            for field_parameter in _build_function_parameters(groups[name]):
                parameters[field_parameter.name] = field_parameter
        else:
            parameters[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])

    @functools.wraps(command_function)
    def call_with_option_groups(**values: Any) -> None:
        arguments = {}
        for name in hints:
            arguments[name] = _build_option_group(groups[name], values) if name in groups else values[name]
        if values.get("workers"):
            # Polars reads this when it is imported, which no command has done yet.
            os.environ.setdefault("POLARS_MAX_THREADS", str(values["workers"]))
        command_name = command_function.__name__.removeprefix("run_").removesuffix("_command")
        token = CURRENT_COMMAND.set({"command": command_name, **_list_changed_options(parameters, values)})
        try:
            command_function(**arguments)
        finally:
            CURRENT_COMMAND.reset(token)

    call_with_option_groups.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    # Typer reads types from the annotations, and names and defaults from the signature.
    call_with_option_groups.__annotations__ = {
        name: parameter.annotation for name, parameter in parameters.items()
    }
    return call_with_option_groups


def _build_function_parameters(options_class: Any) -> list[inspect.Parameter]:
    """Build a function parameter for each field of a dataclass of options."""
    hints = typing.get_type_hints(options_class, include_extras=True)
    options = get_cli_options(options_class)
    parameters: list[inspect.Parameter] = []
    for field in dataclasses.fields(options_class):
        annotation = hints[field.name]
        # Fields without a plain default are lists, which have a default factory.
        default = [] if field.default is dataclasses.MISSING else field.default
        if field.name in options:
            option = options[field.name]
            command_line_type = option.command_line_type or _simplify_union_with_str(
                typing.get_args(annotation)[0]
            )
            annotation = Annotated[command_line_type, _build_typer_option(field.name, option)]
            default = _convert_default_to_typed_text(default, command_line_type)
        parameters.append(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
        )
    return parameters


def _simplify_union_with_str(python_type: Any) -> Any:
    """Return `str` for a union type that contains it, such as `str | Path`, with None if the union allows it.
    Other types are returned unchanged.
    """
    members = typing.get_args(python_type)
    if typing.get_origin(python_type) not in {types.UnionType, typing.Union} or str not in members:
        return python_type
    return str | None if type(None) in members else str


def _build_typer_option(name: str, option: Option) -> Any:
    flags = option.flags or ("--" + name.replace("_", "-"),)
    return typer.Option(
        *flags,
        help=option.help,
        rich_help_panel=option.panel,
        metavar=option.metavar or METAVARS.get(name),
        autocompletion=build_shell_completer(name),
    )


def _convert_default_to_typed_text(default: Any, command_line_type: Any) -> Any:
    """Return the default of an option in the form in which a user would type it."""
    if command_line_type == list[str] and default is None:
        return []
    if command_line_type is str and not isinstance(default, str):
        return ",".join(default)
    return default


def _build_option_group(options_class: Any, parsed_values: Mapping[str, Any]) -> Any:
    """Build a dataclass of options from the values that the command line parsed."""
    options = get_cli_options(options_class)
    field_values = {}
    for field in dataclasses.fields(options_class):
        value = parsed_values[field.name]
        if field.name in options:
            value = _parse_option_value(options[field.name], value)
        field_values[field.name] = value
    return options_class(**field_values)


def _parse_option_value(option: Option, value: Any) -> Any:
    """Parse the value of an option. If the value is not valid, the error message names the option."""
    if option.parse is None:
        return value
    try:
        return option.parse(value)
    except InputError as error:
        flag = option.flags[0] if option.flags else ""
        raise InputError(f"{flag} {error.message}".strip(), remedy=error.remedy) from None


def _list_changed_options(
    parameters: Mapping[str, inspect.Parameter], parsed_values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options whose values differ from the defaults, as values that JSON can represent."""
    given = {}
    for name, parameter in parameters.items():
        if name not in NOT_RECORDED and parsed_values[name] != parameter.default:
            given[name] = _convert_to_json_value(parsed_values[name])
    return given


def _convert_to_json_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_convert_to_json_value(element) for element in value]
    return str(value) if isinstance(value, Path) else value
