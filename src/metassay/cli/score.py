"""`metassay score`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.workflows.settings import ScoreSettings

NULL_HYPOTHESES = {
    "bootstrap": "p: if the true difference between the two systems were 0, a difference as large as this or "
    "larger would be found this often (paired bootstrap over segments, two-sided).",
    "randomization": "p: if it did not matter which of the two systems made which output, a difference as "
    "large as this or larger would be found this often (approximate randomisation, two-sided).",
}


def run_score(
    data: DataOptions,
    output: OutputOptions,
    settings: ScoreSettings,
    *,
    metric_file: Annotated[
        list[str], typer.Option(help="Your own metric: FILE.py:NAME or a program.", metavar="FILE")
    ] = [],  # noqa: B006
    form: Annotated[
        str, typer.Option("--format", help="table, csv, latex or markdown.", metavar="FORMAT")
    ] = "table",
) -> None:
    """Metrics per segment and per system, and tests between systems."""
    from metassay.reporting.wording import in_labels
    from metassay.workflows.preparing import named_metrics
    from metassay.workflows.score import score

    dataset = data.read()
    with progress(output) as show:
        result = score(
            dataset,
            **settings.to_dict() | {"metrics": named_metrics(settings.metrics, metric_file)},
            seed=output.seed,
            workers=output.workers,
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    if form != "table":
        print(result.to_text(form), end="")
        return
    systems, compared = in_labels([result.systems, result.comparisons])
    print_table([{k: v for k, v in row.items() if k != "signature"} for row in systems])
    print_table(compared, title="Differences between systems")
    if settings.test is not None:
        say(NULL_HYPOTHESES[settings.test])
    say(*dict.fromkeys(row["signature"] for row in result.systems))
    note(result.notes)
