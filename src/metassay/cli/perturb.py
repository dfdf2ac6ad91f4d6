"""`metassay perturb`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.workflows.settings import PerturbSettings


def run_perturb(
    data: DataOptions, output: OutputOptions, model: LlmOptions, settings: PerturbSettings
) -> None:
    """Make every output worse in several ways; leaves pairs.parquet and texts.jsonl in the run folder."""
    from metassay.workflows.perturb import TEXTS, perturb

    dataset = data.read()
    with progress(output) as show:
        result = perturb(
            dataset,
            **settings.to_dict(),
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            llm=model.settings(),
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    found = result.to_dict()
    print_table(found["perturbations"], title=f"{found['pairs']} pairs from {found['outputs']} outputs")
    note(found["notes"])
    if result.folder is None:
        say("Keep the pairs with --out FOLDER.")
        return
    say(f"Pairs: {result.folder / 'pairs.parquet'}")
    if (texts := result.folder / TEXTS).is_file():
        say(f"To score elsewhere, for assay --scores: {texts}")
