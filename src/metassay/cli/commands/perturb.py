"""`metassay perturb`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import print_line, print_lines_tables_and_notes
from metassay.cli.progress import show_progress
from metassay.errors import format_path_for_user
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


def run_perturb_command(
    data_options: DataOptions,
    output_options: OutputOptions,
    llm_options: LlmOptions,
    perturb_options: PerturbSettings,
) -> None:
    """Make outputs worse in several ways, and write the pairs of outputs to a run folder."""
    from metassay.workflows.perturb import TEXTS, perturb

    dataset = data_options.read_dataset()
    with show_progress(output_options) as progress:
        result = perturb(
            dataset,
            **perturb_options.to_dict(),
            seed=output_options.seed,
            workers=output_options.workers,
            out=output_options.out,
            llm=llm_options.build_llm_settings(),
            progress=progress,
        )
    if output_options.json:
        print(result.to_json())
        return
    print_lines_tables_and_notes(result.describe_result_for_terminal(), verbose=output_options.verbose)
    if result.folder is None:
        print_line("The pairs were not written. To keep them: --out FOLDER")
        return
    print_line(f"Pairs: {format_path_for_user(result.folder / 'pairs.parquet')}")
    texts = result.folder / TEXTS
    if texts.is_file():
        print_line(f"Texts to score elsewhere, for assay --scores: {format_path_for_user(texts)}")
