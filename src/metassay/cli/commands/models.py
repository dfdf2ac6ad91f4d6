"""`metassay models`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import JsonOption
from metassay.cli.printing import print_result

EXAMPLE = "metassay models"


def run_models_command(
    folder: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders to search in addition to the cache of the Hugging Face hub.", metavar="FOLDER"
        ),
    ] = None,
    *,
    json: JsonOption = False,
) -> None:
    """List the neural models on this machine, with size, hash, languages and licence."""
    from metassay.workflows.models import list_installed_models

    result = list_installed_models(*(folder or []))
    print_result(result, json=json)
