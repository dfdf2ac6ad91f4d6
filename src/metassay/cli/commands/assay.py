"""`metassay assay`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from metassay.cli.options import OUTPUT_PANEL, DataOptions, LlmOptions, MetricFilesOption, OutputOptions
from metassay.cli.printing import print_lines_tables_and_notes, print_result
from metassay.cli.progress import show_progress
from metassay.errors import InputError, format_path_for_user
from metassay.options import PERTURBED_PAIRS, are_pairs_read_from_table
from metassay.workflows.options import AssaySettings

if TYPE_CHECKING:
    from metassay.workflows.assay_result import AssayResult

EXAMPLE = "metassay assay outputs.csv --context domain --metrics bleu,chrf++ --out run"
COMMON_OPTIONS = (
    "metrics",
    "contexts",
    "human",
    "columns",
    "where",
    "language",
    "reference",
    "out",
    "json",
    "workers",
)
MOST_DIGITS = 9


def run_assay_command(
    data_options: DataOptions,
    output_options: OutputOptions,
    llm_options: LlmOptions,
    assay_options: AssaySettings,
    *,
    metric_file: MetricFilesOption = [],  # noqa: B006
    cache: Annotated[
        str | None,
        typer.Option(
            help="Folder of scores that runs share, or off. By default the folder in "
            "METASSAY_CACHE, else off.",
            metavar="FOLDER",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="Where metrics are computed: local, or on a Ray cluster (ray or ray,ADDRESS).",
            metavar="NAME",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = "local",
    parts: Annotated[
        str | None,
        typer.Option(
            help="Compute only these parts of the run, such as 0-9, and stop. See metassay work.",
            metavar="PARTS",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
) -> None:
    """Make outputs worse, measure how often each metric notices, and recommend a metric."""
    from metassay.workflows.assay import assay, score_selected_assay_batches
    from metassay.workflows.metric_files import collect_requested_metrics
    from metassay.workflows.run_files import AUTOMATIC_FOLDER
    from metassay.workflows.terminal_blocks import describe_partial_run

    part_numbers = parse_number_range(parts)
    options = assay_options.to_dict()
    if are_pairs_read_from_table(assay_options.pairs):
        dataset = data_options.read_output_pairs(str(assay_options.pairs))
        options["pairs"] = PERTURBED_PAIRS
    else:
        dataset = data_options.read_dataset()
    with show_progress(output_options) as progress:
        llm = llm_options.build_llm_settings()
        options["metrics"] = collect_requested_metrics(assay_options.metrics, metric_file)
        options |= {
            "seed": output_options.seed,
            "workers": output_options.workers,
            "out": output_options.out or (None if output_options.json else AUTOMATIC_FOLDER),
            "llm": llm,
            "cache": cache,
            "engine": engine,
            "progress": progress,
        }
        if part_numbers is None:
            result = assay(dataset, **options)
        else:
            partial_run = score_selected_assay_batches(dataset, **options, parts=part_numbers)
    if part_numbers is None:
        print_assay_result(result, json=output_options.json, verbose=output_options.verbose)
    elif output_options.json:
        print(partial_run.to_json())
    else:
        print_lines_tables_and_notes(describe_partial_run(partial_run))


def parse_number_range(option_text: str | None) -> range | None:
    """Parse a number such as `"3"` or a range such as `"0-9"`; None if there is no text."""
    if option_text is None:
        return None
    error = InputError(f"--parts {option_text!r} is neither a number nor a range such as 0-9.")
    first, _, last = option_text.partition("-")
    numbers: list[int] = []
    for digits in (first, last or first):
        if not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS):
            raise error
        numbers.append(int(digits))
    if numbers[0] > numbers[1]:
        raise error
    return range(numbers[0], numbers[1] + 1)


def print_assay_result(assay_result: AssayResult, *, json: bool, verbose: bool = False) -> None:
    """Print the result of an assay, and where its report is."""
    folder = None if assay_result.run_folder is None else format_path_for_user(assay_result.run_folder)
    print_result(assay_result, json=json, verbose=verbose, folder=folder)
