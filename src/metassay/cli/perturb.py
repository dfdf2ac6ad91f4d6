"""`metassay perturb`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say


def run_perturb(
    data: DataOptions,
    output: OutputOptions,
    model: LlmOptions,
    *,
    perturbations: Annotated[
        str | None, typer.Option(help="Comma-separated; default those of the task.")
    ] = None,
    per_output: Annotated[int, typer.Option(help="Perturbations per output.")] = 4,
    normalize: Annotated[str | None, typer.Option(help="Speech text: english, whisper or none.")] = None,
    preprocess: Annotated[str, typer.Option(help="none, paper or paper-asymmetric.")] = "none",
    strict_resources: Annotated[
        bool, typer.Option("--strict-resources", help="A missing dictionary is an error.")
    ] = False,
) -> None:
    """Make every output worse in several ways; leaves pairs.parquet in the run folder."""
    from metassay.workflows.perturb import perturb

    dataset = data.read()
    with progress(output) as show:
        result = perturb(
            dataset,
            perturbations=perturbations,
            per_output=per_output,
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            normalize=normalize,
            preprocess=preprocess,
            strict_resources=strict_resources,
            llm=model.settings(),
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    found = result.to_dict()
    print_table(found["perturbations"], title=f"{found['pairs']} pairs from {found['outputs']} outputs")
    note(found["notes"])
    say(f"Pairs: {result.folder / 'pairs.parquet'}" if result.folder else "Keep the pairs with --out FOLDER.")
