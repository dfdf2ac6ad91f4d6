"""`metassay aggregate`."""

from __future__ import annotations

from typing import Any

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.workflows.settings import AggregateSettings

EXPLANATION = """\
corpus: one score from the summed statistics. segment (m-): the mean of the segment scores. bootstrap (x-):
the mean of corpus scores over resamples. After ±, the standard error over resampled segments."""


def run_aggregate(data: DataOptions, output: OutputOptions, settings: AggregateSettings) -> None:
    """Corpus scores or means of segments? Three aggregations of every system, compared, also with people."""
    from metassay.workflows.system_scores import aggregate

    dataset = data.read()
    with progress(output) as show:
        result = aggregate(
            dataset,
            **settings.to_dict(),
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict())
    if output.out:
        say(f"Report: {output.out}/report.html")


def _show(found: dict[str, Any]) -> None:
    from metassay.reporting.score_pages import aggregation_sentences
    from metassay.reporting.wording import in_labels

    found = in_labels(found)
    say(*aggregation_sentences(found))
    print_table([_with_errors(row) for row in found["systems"]], title="System scores")
    print_table(found["between"], title="Pearson between aggregations, over all systems")
    print_table(found["downsampled"], title="Pearson after keeping few segments")
    means = [row for row in found["human"] if row["group"] == "mean"]
    print_table(means or found["human"], title="Pearson of system scores with people, mean over test sets")
    say(EXPLANATION)
    note(found["notes"])


def _with_errors(row: dict[str, Any]) -> dict[str, Any]:
    errors = row["standard_errors"]
    shown = {name: value for name, value in row.items() if name != "standard_errors"}
    return shown | {
        name: f"{row[name]:.3f} ± {error:.3f}"
        for name, error in errors.items()
        if row[name] is not None and error is not None
    }
