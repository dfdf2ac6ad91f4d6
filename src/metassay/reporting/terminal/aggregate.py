"""What `metassay aggregate` prints: system scores under three aggregations, and how they agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.score_pages import aggregation_sentences
from metassay.reporting.terminal.blocks import Block, Line, Row, Table, lines, notes
from metassay.reporting.wording import in_labels

EXPLANATION = """\
corpus: one score from the summed statistics. segment (m-): the mean of the segment scores. bootstrap (x-):
the mean of corpus scores over resamples. After ±, the standard error over resampled segments."""


def describe_aggregation(result: Mapping[str, Any]) -> list[Block]:
    """Describe how the three aggregations of segment scores differ."""
    content = in_labels(result)
    averages = [row for row in content["human"] if row["group"] == "mean"]
    return [
        *lines(aggregation_sentences(content)),
        Table([_add_standard_errors(row) for row in content["systems"]], title="System scores"),
        Table(content["between"], title="Pearson between aggregations, over all systems"),
        Table(content["downsampled"], title="Pearson when only some segments are used"),
        Table(
            averages or content["human"],
            title="Pearson of system scores with human scores, mean over test sets",
        ),
        Line(EXPLANATION),
        *notes(content["notes"]),
    ]


def _add_standard_errors(row: Row) -> Row:
    """Return a row in which each score is followed by its standard error: `32.145 ± 0.312`."""
    columns = {name: value for name, value in row.items() if name != "standard_errors"}
    for name, standard_error in row["standard_errors"].items():
        if row[name] is not None and standard_error is not None:
            columns[name] = f"{row[name]:.3f} ± {standard_error:.3f}"
    return columns
