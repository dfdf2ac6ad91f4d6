"""`metassay perturb`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import print_blocks, print_line
from metassay.cli.progress import show_progress
from metassay.errors import display_path
from metassay.workflows.options import PerturbSettings

EXAMPLE = "metassay perturb outputs.csv --language en --out pairs"
COMMON_OPTIONS = (
    "perturbations",
    "per_output",
    "language",
    "columns",
    "where",
    "reference",
    "seed",
    "out",
    "json",
)


def run_perturb(
    data: DataOptions, output: OutputOptions, model: LlmOptions, settings: PerturbSettings
) -> None:
    """Make outputs worse in several ways, and write the pairs of outputs to a run folder."""
    from metassay.workflows.perturb import TEXTS, perturb

    dataset = data.read_dataset()
    with show_progress(output) as progress:
        result = perturb(
            dataset,
            **settings.to_dict(),
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            llm=model.build_settings(),
            progress=progress,
        )
    if output.json:
        print(result.to_json())
        return
    print_blocks(result.describe_for_terminal(), verbose=output.verbose)
    if result.folder is None:
        print_line("The pairs were not written. To keep them: --out FOLDER")
        return
    print_line(f"Pairs: {display_path(result.folder / 'pairs.parquet')}")
    texts = result.folder / TEXTS
    if texts.is_file():
        print_line(f"Texts to score elsewhere, for assay --scores: {display_path(texts)}")
