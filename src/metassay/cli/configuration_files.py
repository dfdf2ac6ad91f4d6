"""Runs commands with options from files: those that users write (`metassay run`) and those in run folders
(`metassay resume`).

A file is a table in TOML or JSON: `command = "assay"`, and any option of that command by its name. It is
converted to the arguments that a user would type, so that a file and a command line do the same.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Annotated, Any

import typer

from metassay.errors import InputError, InputLocation, NoSuchFile, UnknownName, is_remote_path

# The commands that a file may name.
COMMANDS = (
    "assay",
    "check",
    "demo",
    "score",
    "perturb",
    "rank",
    "depend",
    "aggregate",
    "judge",
    "estimate",
    "annotate",
)
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust", help="Execute code that the run folder names; only for folders from people you trust."
    ),
]
# The file in a run folder with the command and options that started the run.
CALL_FILE = "call.json"
# The key of the folder that paths in a file are relative to.
FOLDER_KEY = "folder"
JSON_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
# What options of a run folder do to somebody who did not write them.
_ACTIONS_THAT_NEED_TRUST = {
    "metric_file": "execute",
    "llm_url": "send data and the key of the language model to",
    "engine": "send data and code to the cluster",
}
_HARMLESS_VALUES = ("", "local")
_START_AGAIN = "Run the same command again with this --out, or from Python the same function with this `out`."


def read_configuration_file(path: str) -> dict[str, Any]:
    """Read the options of a command from a TOML or JSON file."""
    location = InputLocation(file=path)
    file_format = "JSON" if path.endswith(".json") else "TOML"
    try:
        text = _get_local_path_of_file(path).read_text(encoding="utf-8")
        options = json.loads(text) if file_format == "JSON" else tomllib.loads(text)
    except InputError:
        raise
    except FileNotFoundError:
        raise NoSuchFile(location=location) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror}).", location=location) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not {file_format} ({error}).", location=location) from None
    if not isinstance(options, dict):
        raise InputError("a table of options was expected.", location=location)
    if options.get("command") not in COMMANDS:
        raise InputError(
            f"command is {options.get('command')!r}.",
            location=location,
            remedy=f"Use one of: {', '.join(COMMANDS)}.",
        )
    return options


def read_command_that_started_run(run_path: str, *, trust: bool) -> dict[str, Any]:
    """Return the command that started a run, with its options, as recorded in the run folder.

    A run folder may come from somebody else. Without `trust`, code that it names is not executed, and its
    language model or cluster is not used, unless the user agrees on the terminal.
    """
    location = InputLocation(file=run_path)
    try:
        options = read_configuration_file(f"{run_path}/{CALL_FILE}")
    except NoSuchFile:
        raise InputError(
            "the run folder does not record which command started it.", location=location, remedy=_START_AGAIN
        ) from None
    # Standard input cannot be read a second time.
    if "-" in options.get("data", []):
        raise InputError("its data came from standard input.", location=location, remedy=_START_AGAIN)
    if not trust:
        _ask_whether_to_trust(options, run_path)
    # Absolute, because the command runs in the folder in which the run was started.
    options["out"] = run_path if is_remote_path(run_path) else str(Path(run_path).absolute())
    return options


def _ask_whether_to_trust(options: Mapping[str, Any], run_path: str) -> None:
    """Ask the user whether a run folder may execute code or send data elsewhere. If the answer is no, or
    nobody can be asked, an error is raised.
    """
    actions = []
    for name, action in _ACTIONS_THAT_NEED_TRUST.items():
        values = _convert_option_value_to_texts(options.get(name, []), name, run_path)
        actions += [f"{action} {value}" for value in values if value not in _HARMLESS_VALUES]
    if not actions:
        return
    question = f"{run_path}: its {CALL_FILE} asks to {' and to '.join(actions)}."
    if (
        sys.stdin is not None
        and sys.stdin.isatty()
        and typer.confirm(f"{question} Do you trust it?", err=True)
    ):
        return
    raise InputError(question, remedy="If you trust this run folder, add --trust.")


def run_command_named_in_file(command_and_options: Mapping[str, Any], file: str) -> None:
    """Run the command that a configuration file names, as if its options had been typed."""
    from metassay.cli.application import build_command_line

    command = command_and_options["command"]
    folder = command_and_options.get(FOLDER_KEY)
    command_options = {
        name: value for name, value in command_and_options.items() if name not in {"command", FOLDER_KEY}
    }
    arguments = [command, *_convert_options_to_arguments(command, command_options, file)]
    if folder is not None and not Path(str(folder)).is_dir():
        # A remote run may be continued on a machine that lacks the folder it was started in.
        if not is_remote_path(file):
            raise InputError(f"the folder {folder!r} no longer exists.", location=InputLocation(file=file))
        folder = None
    with chdir("." if folder is None else folder):
        status = build_command_line().main(arguments, prog_name="metassay", standalone_mode=False)
    if isinstance(status, int) and status:
        raise typer.Exit(status)


def build_configuration_schema() -> dict[str, Any]:
    """Build the JSON schema of configuration files, which editors use to check and complete such files."""
    return {
        "$schema": JSON_SCHEMA,
        "title": "Options of a metassay command",
        "oneOf": [_build_command_schema(command) for command in COMMANDS],
    }


def _get_local_path_of_file(path_or_url: str) -> Path:
    """Return the local path of a file. A remote file is downloaded first."""
    if not is_remote_path(path_or_url):
        return Path(path_or_url)
    from metassay.workflows.read import download_if_remote

    return Path(download_if_remote(path_or_url))


def _get_parameters_of_command(command_name: str) -> dict[str, Any]:
    """Return the parameters of a command by name, as defined for the command-line parser."""
    from metassay.cli.application import build_command_line

    parameters = build_command_line().commands[command_name].params
    return {parameter.name: parameter for parameter in parameters if parameter.name != "help"}


def _convert_options_to_arguments(command_name: str, options: Mapping[str, Any], file: str) -> list[str]:
    """Convert options to the command-line arguments that a user would type: flags first, then files."""
    parameters = _get_parameters_of_command(command_name)
    flags: list[str] = []
    positional: list[str] = []
    for name, value in options.items():
        if name not in parameters:
            raise UnknownName(
                f"option of {command_name}", name, parameters, location=InputLocation(file=file)
            )
        parameter = parameters[name]
        texts = _convert_option_value_to_texts(value, name, file)
        longest_flag = max(parameter.opts, key=len)
        if not longest_flag.startswith("-"):
            positional += texts
        elif parameter.is_flag:
            if not isinstance(value, bool):
                raise InputError(
                    f"{name} is {value!r}, neither true nor false.", location=InputLocation(file=file)
                )
            flags += [longest_flag] if value else parameter.secondary_opts[:1]
        elif parameter.multiple:
            # With an equals sign, a value may begin with a dash.
            flags += [f"{longest_flag}={text}" for text in texts]
        else:
            flags.append(f"{longest_flag}={','.join(texts)}")
    # After `--`, a file whose name begins with a dash is not taken for an option.
    return [*flags, "--", *positional]


def _convert_option_value_to_texts(value: Any, option_name: str, file: str) -> list[str]:
    """Convert the value of an option to texts as a user would type them: a list to several texts, a table to
    `KEY=VALUE`.
    """
    if isinstance(value, dict):
        texts: list[str] = []
        for key, inner_value in value.items():
            texts += [
                f"{key}={text}" for text in _convert_option_value_to_texts(inner_value, option_name, file)
            ]
        return texts
    if isinstance(value, list):
        return [
            text for element in value for text in _convert_option_value_to_texts(element, option_name, file)
        ]
    if isinstance(value, str | int | float):
        return [str(value)]
    raise InputError(
        f"{option_name} is {value!r}, neither text nor number.", location=InputLocation(file=file)
    )


def _build_command_schema(command_name: str) -> dict[str, Any]:
    from metassay.cli.application import build_command_line

    folder_help = "Paths are relative to this folder; default the current one."
    properties: dict[str, Any] = {
        "command": {"const": command_name},
        FOLDER_KEY: {"type": "string", "description": folder_help},
    }
    option_types = build_command_line().commands[command_name].option_types
    for name, parameter in _get_parameters_of_command(command_name).items():
        properties[name] = _build_option_schema(parameter, option_types[name])
    return {
        "title": command_name,
        "type": "object",
        "required": ["command"],
        "properties": properties,
        "additionalProperties": False,
    }


def _build_option_schema(parameter: Any, python_type: Any) -> dict[str, Any]:
    """Build the JSON schema of one option: its type, help text and default."""
    schema = _build_value_schema(parameter, python_type)
    help_text = getattr(parameter, "help", None)
    if help_text:
        schema["description"] = help_text
    if isinstance(parameter.default, str | int | float):
        schema["default"] = parameter.default
    return schema


def _build_value_schema(parameter: Any, python_type: Any) -> dict[str, Any]:
    """Build the JSON schema of the values that an option accepts."""
    for single_type, json_type in ((bool, "boolean"), (int, "integer"), (float, "number")):
        if python_type in (single_type, single_type | None):
            return {"type": json_type}
    text = {"type": ["string", "number"]}
    forms: list[dict[str, Any]] = [text, {"type": "array", "items": text}]
    if parameter.metavar and "=" in parameter.metavar:
        forms.append({"type": "object"})
    return {"anyOf": forms}
