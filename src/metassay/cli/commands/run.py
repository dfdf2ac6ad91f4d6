"""`metassay run`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from metassay.cli.commands.resume import run_resume_command
from metassay.cli.configuration_files import (
    TrustOption,
    build_configuration_schema,
    read_configuration_file,
    run_command_named_in_file,
)
from metassay.errors import InputError

EXAMPLE = "metassay run options.toml"
MANIFEST = "manifest.json"


def run_run_command(
    config: Annotated[
        str | None,
        typer.Argument(help="TOML or JSON file with options, or the manifest of a run.", metavar="CONFIG"),
    ] = None,
    *,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of such a file, for editors.")
    ] = False,
    trust: TrustOption = False,
) -> None:
    """Run a command with options from a file."""
    if schema:
        print(json.dumps(build_configuration_schema(), indent=1, ensure_ascii=False))
        return
    if config is None:
        raise InputError("no file of options was named.", remedy="Name one, or print its schema: --schema")
    if config == MANIFEST or config.endswith(f"/{MANIFEST}"):
        run_resume_command(config.removesuffix(MANIFEST).removesuffix("/") or ".", trust=trust)
    else:
        run_command_named_in_file(read_configuration_file(config), config)
