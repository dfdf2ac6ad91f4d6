"""Tables of results: on the page (names, cells, sorting, export), and as Markdown, LaTeX or CSV.

>>> print(to_markdown([{"metric": "chrf", "accuracy": 0.91}]))
| metric | accuracy |
|:---|---:|
| chrf | 0.91 |
<BLANKLINE>
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from metassay.data.csv_export import escape_spreadsheet_formula
from metassay.errors import UnknownName
from metassay.metrics.labels import find_metric_specs
from metassay.reporting.labels import MetricLabel, MetricLabels
from metassay.reporting.wording import (
    NO_VALUE,
    HasAccuracy,
    choose_decimals_for_scores,
    format_accuracy,
    format_count,
    format_number,
    format_p_value,
    format_percent,
)

Kind = Literal[
    "name",
    "text",
    "prose",
    "percent",
    "amount",
    "count",
    "number",
    "score",
    "decimal",
    "probability",
    "verdict",
]
Row = Mapping[str, Any]
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\u202f": r"\,",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "≤": r"$\le$",
    "±": r"$\pm$",
    "τ": r"$\tau$",
    "ε": r"$\varepsilon$",
}


@dataclass(frozen=True)
class AccuracyCell:
    """A table cell with an accuracy and its interval. Exported files contain only the accuracy."""

    accuracy: float | None
    low: float | None
    high: float | None

    @classmethod
    def from_accuracy(cls, row: HasAccuracy | None) -> AccuracyCell | None:
        """Build a table cell from a result that has an accuracy. None if there is no result."""
        return None if row is None else cls(row.accuracy, row.low, row.high)


@dataclass(frozen=True)
class Field:
    """A column of a table, given by the key of its values in the rows, its heading, its format and a hint for
    readers.
    """

    key: str
    label: str
    kind: Kind = "text"
    hint: str = ""

    @property
    def is_numeric(self) -> bool:
        """Whether the cells are numbers, which are aligned to the right."""
        return self.kind not in {"name", "text", "prose", "verdict"}

    def format_cell(self, row: Mapping[str, Any]) -> str:
        """Format the value of a row in this column for human readers."""
        value = row.get(self.key)
        if isinstance(value, AccuracyCell):
            return format_accuracy(value)
        if value is None or value == "":
            return NO_VALUE
        return _SHOW[self.kind](value)

    def format_exact_value(self, row: Mapping[str, Any]) -> str:
        """Format the value of a row in this column with full precision, for sorting and CSV files."""
        value = row.get(self.key)
        if isinstance(value, AccuracyCell):
            value = value.accuracy
        if isinstance(value, tuple | list):
            value = " ".join(map(_format_cell_for_programs, value))
        return "" if value is None else _format_cell_for_programs(value)


@dataclass(frozen=True)
class Grid:
    """A table that readers of a page can sort and download."""

    name: str
    caption: str
    fields: tuple[Field, ...]
    rows: tuple[Mapping[str, Any], ...]
    rows_left_out: int = 0
    """Number of further rows, which are not in `rows`."""


def build_grid(
    name: str,
    caption: str,
    fields: Sequence[Field],
    rows: Sequence[Mapping[str, Any]],
    *,
    at_most: int = 2000,
) -> Grid:
    """Build a table of at most `at_most` rows. Columns without values are left out.

    Scores have two decimals instead of three if their intervals (`low`, `high`) are wide.
    """
    used_fields = [field for field in fields if any(row.get(field.key) not in (None, "") for row in rows)]
    intervals = [(row.get("low"), row.get("high")) for row in rows if row.get("baseline") is not True]
    has_intervals = any(isinstance(low, float) and isinstance(high, float) for low, high in intervals)
    if has_intervals and choose_decimals_for_scores(intervals) == 2:
        used_fields = [replace(each, kind="number") if each.kind == "score" else each for each in used_fields]
    rows_left_out = max(0, len(rows) - at_most)
    return Grid(name, caption, tuple(used_fields), tuple(rows[:at_most]), rows_left_out=rows_left_out)


def build_tables_of_row_lists(result: Mapping[str, Any]) -> list[Grid]:
    """Build a table from each list of rows in a result. Its name is the key of the list."""
    labels = MetricLabels(find_metric_specs(result), result.get("same_decisions") or ())
    grids = []
    for name, value in result.items():
        if isinstance(value, list | tuple):
            rows = [_replace_metric_specs_by_labels(row, labels) for row in value if isinstance(row, Mapping)]
            if rows:
                grids.append(build_grid_from_rows(str(name), str(name), rows, at_most=20))
    return grids


def _replace_metric_specs_by_labels(row: Row, metric_labels: MetricLabels) -> Row:
    """Replace metric specs such as `chrf(word_order=2)` in a table row by labels such as `chrF++`."""
    labelled = dict(row)
    metric = row.get("metric")
    if isinstance(metric, str):
        labelled["metric"] = metric_labels.single_labels.get(metric, metric)
    metrics = row.get("metrics")
    if isinstance(metrics, list) and all(isinstance(each, str) for each in metrics):
        labelled["metrics"] = metric_labels.list_labels_of_metrics(metrics)
    if isinstance(row.get("sentence"), str):
        labelled["sentence"] = metric_labels.replace_specs_by_labels(row["sentence"])
    if isinstance(row.get("sentences"), list):
        labelled["sentences"] = [metric_labels.replace_specs_by_labels(text) for text in row["sentences"]]
    return labelled


def build_grid_from_rows(
    name: str, caption: str, rows: Sequence[Row], columns: Sequence[str] | None = None, *, at_most: int = 500
) -> Grid:
    """Build a table from rows. The keys of the rows are its headings, and columns that contain mappings are
    left out.
    """
    fields = []
    for key in columns or _list_column_names(rows):
        if not any(isinstance(row.get(key), Mapping) for row in rows):
            fields.append(_guess_column_format(key, rows))
    return build_grid(name, caption, fields, rows, at_most=at_most)


def _guess_column_format(key: str, rows: Sequence[Row]) -> Field:
    label = key.replace("_", " ")
    if not _is_numeric_column(rows, key):
        return Field(key, label, "text")
    values = [row[key] for row in rows if row.get(key) is not None]
    if key == "p" or key.startswith("p_"):
        return Field(key, label, "probability")
    if all(isinstance(value, int) for value in values):
        return Field(key, label, "count")
    return Field(key, label, "number" if max(map(abs, values)) > 1 else "score")


def _format_cell_for_programs(value: Any) -> str:
    """Write a cell for other programs. A metric is written as its spec, such as `chrf(word_order=2)`, not as
    its label.
    """
    return value.spec if isinstance(value, MetricLabel) else str(value)


def _format_text_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


_SHOW = {
    "name": _format_text_value,
    "text": _format_text_value,
    "prose": _format_text_value,
    "verdict": _format_text_value,
    "percent": lambda value: format_percent(value, digits=1),
    "amount": lambda value: (
        format_percent(value, digits=1) if isinstance(value, float) else format_count(value)
    ),
    "count": format_count,
    "number": format_number,
    "score": lambda value: format_number(value, digits=3),
    "decimal": lambda value: format_number(value, digits=4),
    "probability": format_p_value,
}


def to_csv(rows: Sequence[Row]) -> str:
    """Write rows as CSV (RFC 4180) with LF line ends, full precision, and empty cells for missing values."""
    names = _list_column_names(rows)
    text = io.StringIO()
    lines = [[escape_spreadsheet_formula(name) for name in names]]
    lines += [[escape_spreadsheet_formula(_join_list_value(row.get(name))) for name in names] for row in rows]
    # The writer does not quote a carriage return, though many readers take it for the end of a row.
    has_return = any("\r" in str(cell) for line in lines for cell in line)
    writer = csv.writer(text, lineterminator="\n")
    if has_return:
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows(lines)
    return text.getvalue()


def to_markdown(rows: Sequence[Row], *, right: frozenset[str] = frozenset()) -> str:
    """Write rows as a Markdown table, with escaped cells. Numbers and the columns in `right` align right."""
    names = _list_column_names(rows)
    if not names:
        return ""
    marks = ["---:" if name in right or _is_numeric_column(rows, name) else ":---" for name in names]
    body = [[_escape_markdown(_format_rounded_value(row.get(name))) for name in names] for row in rows]
    lines = ["| " + " | ".join(map(_escape_markdown, names)) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in body)]) + "\n"


def to_latex(rows: Sequence[Row], *, right: frozenset[str] = frozenset(), note: str = "") -> str:
    r"""Write rows as a LaTeX `tabular` with escaped cells. It needs the package `booktabs`."""
    names = _list_column_names(rows)
    if not names:
        return ""
    align = "".join("r" if name in right or _is_numeric_column(rows, name) else "l" for name in names)
    below = [rf"\multicolumn{{{len(names)}}}{{l}}{{\footnotesize {_escape_latex(note)}}} \\"] if note else []
    body = [[_escape_latex(_format_rounded_value(row.get(name))) for name in names] for row in rows]
    lines = [
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        " & ".join(map(_escape_latex, names)) + r" \\",
        r"\midrule",
        *(" & ".join(cells) + r" \\" for cells in body),
        r"\bottomrule",
        *below,
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


FORMATS: dict[str, Callable[[Sequence[Row]], str]] = {
    "csv": to_csv,
    "latex": to_latex,
    "markdown": to_markdown,
}


def format_rows(rows: Sequence[Row], table_format: str) -> str:
    """Write rows as a table in the format `csv`, `latex` or `markdown`."""
    if table_format not in FORMATS:
        raise UnknownName("table format", table_format, FORMATS)
    return FORMATS[table_format](rows)


ENDINGS = {"latex": "tex", "markdown": "md"}
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
LEGEND = "* p ≤ .05, ** p ≤ .01, *** p ≤ .001"


def format_grid(grid: Grid, table_format: str) -> str:
    """Write a table as `csv`, `latex` or `markdown`. The latter two mark significant p-values with stars."""
    columns = list(zip(_list_distinct_labels(grid.fields), grid.fields))
    if table_format == "csv":
        return to_csv(
            [{label: field.format_exact_value(row) for label, field in columns} for row in grid.rows]
        )
    shown = []
    for row in grid.rows:
        cells = {}
        for label, field in columns:
            cells[label] = field.format_cell(row) + _format_significance_stars(field, row)
        shown.append(cells)
    right = frozenset(label for label, field in columns if field.is_numeric)
    starred = any(_format_significance_stars(field, row) for row in grid.rows for field in grid.fields)
    note = LEGEND if starred else ""
    if table_format == "latex":
        return f"% {' '.join(grid.caption.split())}\n{to_latex(shown, right=right, note=note)}"
    if table_format != "markdown":
        raise UnknownName("table format", table_format, FORMATS)
    text = to_markdown(shown, right=right)
    below = f"\n{_escape_markdown(note)}\n" if note else ""
    return f"{_escape_markdown(grid.caption)}\n\n{text}{below}"


def _list_distinct_labels(fields: Sequence[Field]) -> list[str]:
    """List the labels of columns. A label that occurs again is preceded by the column that it belongs to,
    for example `labels only: high`: that is the last column before it whose label occurs once.
    """
    labels = [field.label for field in fields]
    distinct_labels: list[str] = []
    owner = ""
    for label in labels:
        if labels.count(label) == 1:
            owner = label
        distinct_label = label
        while distinct_label in distinct_labels:
            distinct_label = f"{owner}: {distinct_label}"
        distinct_labels.append(distinct_label)
    return distinct_labels


def _format_significance_stars(field: Field, row: Row) -> str:
    """Return one to three stars for a significant p-value, and an empty text for all other cells."""
    value = row.get(field.key)
    if field.kind != "probability" or value is None:
        return ""
    return next((stars for level, stars in STARS if value <= level), "")


def _list_column_names(rows: Sequence[Row]) -> list[str]:
    """List the keys of all rows, in the order in which they first occur."""
    return list(dict.fromkeys(key for row in rows for key in row))


def _is_numeric_column(rows: Sequence[Row], column: str) -> bool:
    values = [row.get(column) for row in rows if row.get(column) is not None]
    # In Python, True and False are integers.
    return bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _join_list_value(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _format_rounded_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        text = f"{value:.4f}".rstrip("0").rstrip(".")
        # A small negative number is rounded to -0.
        return "0" if text == "-0" else text
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _escape_markdown(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
    return " ".join(escaped.splitlines()) if len(escaped.splitlines()) > 1 else escaped


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split("\n")))
