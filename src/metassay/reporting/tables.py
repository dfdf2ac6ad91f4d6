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
from dataclasses import dataclass
from typing import Any, Literal

from metassay.data.csv_export import escape_cell
from metassay.errors import UnknownName
from metassay.reporting.accuracy_phrases import HasAccuracy, describe_accuracy
from metassay.reporting.labels import MetricLabel
from metassay.reporting.wording import NOTHING, Label, count, number, percent, probability

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
    """An accuracy with its interval in one cell: people read both, other programs the accuracy."""

    accuracy: float | None
    low: float | None
    high: float | None

    @classmethod
    def from_row(cls, row: HasAccuracy | None) -> AccuracyCell | None:
        """Build the cell of a row of results; None where there is no such row."""
        return None if row is None else cls(row.accuracy, row.low, row.high)


@dataclass(frozen=True)
class Field:
    """A table column: its key in the rows, its heading, how its cells read; `hint` explains the heading."""

    key: str
    label: str
    kind: Kind = "text"
    hint: str = ""

    @property
    def numeric(self) -> bool:
        """Whether cells align right."""
        return self.kind not in {"name", "text", "prose", "verdict"}

    def show(self, row: Mapping[str, Any]) -> str:
        """What a person reads in the cell."""
        value = row.get(self.key)
        if isinstance(value, AccuracyCell):
            return describe_accuracy(value)
        if value is None or value == "":
            return NOTHING
        return _SHOW[self.kind](value)

    def raw(self, row: Mapping[str, Any]) -> str:
        """What sorts the column and goes into the CSV."""
        value = row.get(self.key)
        if isinstance(value, AccuracyCell):
            value = value.accuracy
        if isinstance(value, tuple | list):
            value = " ".join(map(_exact, value))
        return "" if value is None else _exact(value)


@dataclass(frozen=True)
class Grid:
    """A table to show, sort and download; `left` counts rows that were not put on the page."""

    name: str
    caption: str
    fields: tuple[Field, ...]
    rows: tuple[Mapping[str, Any], ...]
    left: int = 0


def grid(
    name: str,
    caption: str,
    fields: Sequence[Field],
    rows: Sequence[Mapping[str, Any]],
    *,
    at_most: int = 2000,
) -> Grid:
    """A table without the columns that hold nothing, cut to `at_most` rows."""
    told = _hashable(rows)
    held = tuple(field for field in fields if any(row.get(field.key) not in {None, ""} for row in told))
    return Grid(name, caption, held, tuple(rows[:at_most]), left=max(0, len(rows) - at_most))


def plain_grids(result: Mapping[str, Any], *, at_most: int = 20) -> list[Grid]:
    """Every list of rows in a result as a table, under the name it has there."""
    tables = {
        str(name): [row for row in value if isinstance(row, Mapping)]
        for name, value in result.items()
        if isinstance(value, list | tuple)
    }
    return [rows_grid(name, name, rows, at_most=at_most) for name, rows in tables.items() if rows]


def rows_grid(
    name: str, caption: str, rows: Sequence[Row], columns: Sequence[str] | None = None, *, at_most: int = 500
) -> Grid:
    """Plain rows as a table, whose headings are their keys; what a cell cannot show is left out."""
    held = [key for key in _columns(rows, columns) if not any(isinstance(r.get(key), Mapping) for r in rows)]
    return grid(name, caption, [_plain_field(key, rows) for key in held], rows, at_most=at_most)


def _plain_field(key: str, rows: Sequence[Row]) -> Field:
    values = [row.get(key) for row in rows if row.get(key) is not None]
    label = key.replace("_", " ")
    if not values or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return Field(key, label, "text")
    if key == "p" or key.startswith("p_"):
        return Field(key, label, "probability")
    return Field(key, label, "count" if all(isinstance(value, int) for value in values) else "score")


def _hashable(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value if isinstance(value, str | None) else True for key, value in row.items()} for row in rows
    ]


def _exact(value: Any) -> str:
    """What other programs read: of a metric its spec."""
    return value.spec if isinstance(value, Label | MetricLabel) else str(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


_SHOW = {
    "name": _text,
    "text": _text,
    "prose": _text,
    "verdict": _text,
    "percent": lambda value: percent(value, digits=1),
    "amount": lambda value: percent(value, digits=1) if isinstance(value, float) else count(value),
    "count": count,
    "number": number,
    "score": lambda value: number(value, digits=3),
    "decimal": lambda value: number(value, digits=4),
    "probability": probability,
}


def to_csv(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """RFC 4180 with LF line ends; numbers in full, nothing where a value is missing."""
    names = _columns(rows, columns)
    text = io.StringIO()
    lines = [[escape_cell(name) for name in names]]
    lines += [[escape_cell(_full(row.get(name))) for name in names] for row in rows]
    # The writer does not quote a carriage return, though many readers take it for the end of a row.
    has_return = any("\r" in str(cell) for line in lines for cell in line)
    writer = csv.writer(text, lineterminator="\n")
    if has_return:
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows(lines)
    return text.getvalue()


def to_markdown(
    rows: Sequence[Row],
    columns: Sequence[str] | None = None,
    *,
    digits: int = 4,
    right: frozenset[str] = frozenset(),
) -> str:
    """A pipe table, numbers and the columns in `right` to the right; cells are escaped."""
    names = _columns(rows, columns)
    if not names:
        return ""
    marks = ["---:" if name in right or _numeric(rows, name) else ":---" for name in names]
    body = [[_markdown(_short(row.get(name), digits)) for name in names] for row in rows]
    lines = ["| " + " | ".join(map(_markdown, names)) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in body)]) + "\n"


def to_latex(
    rows: Sequence[Row],
    columns: Sequence[str] | None = None,
    *,
    digits: int = 4,
    right: frozenset[str] = frozenset(),
    note: str = "",
) -> str:
    r"""A `tabular` with booktabs rules, every special character escaped; needs `\usepackage{booktabs}`."""
    names = _columns(rows, columns)
    if not names:
        return ""
    align = "".join("r" if name in right or _numeric(rows, name) else "l" for name in names)
    below = [rf"\multicolumn{{{len(names)}}}{{l}}{{\footnotesize {_latex(note)}}} \\"] if note else []
    body = [[_latex(_short(row.get(name), digits)) for name in names] for row in rows]
    lines = [
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        " & ".join(map(_latex, names)) + r" \\",
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


def to_text(rows: Sequence[Row], form: str) -> str:
    """The rows in the named form: `csv`, `latex` or `markdown`."""
    if form not in FORMATS:
        raise UnknownName("table format", form, FORMATS)
    return FORMATS[form](rows)


ENDINGS = {"latex": "tex", "markdown": "md"}
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
LEGEND = "* p ≤ .05, ** p ≤ .01, *** p ≤ .001"


def grid_text(grid: Grid, form: str) -> str:
    """A table of a page as `csv` in full, or as it reads, with stars at p-values: `latex`, `markdown`."""
    if form == "csv":
        return to_csv([{field.label: field.raw(row) for field in grid.fields} for row in grid.rows])
    shown = [
        {field.label: field.show(row) + _stars(field, row) for field in grid.fields} for row in grid.rows
    ]
    right = frozenset(field.label for field in grid.fields if field.numeric)
    starred = any(_stars(field, row) for row in grid.rows for field in grid.fields)
    note = LEGEND if starred else ""
    if form == "latex":
        return f"% {' '.join(grid.caption.split())}\n{to_latex(shown, right=right, note=note)}"
    if form != "markdown":
        raise UnknownName("table format", form, FORMATS)
    text = to_markdown(shown, right=right)
    below = f"\n{_markdown(note)}\n" if note else ""
    return f"{_markdown(grid.caption)}\n\n{text}{below}"


def _stars(field: Field, row: Row) -> str:
    """The marks of significance of a p-value."""
    value = row.get(field.key)
    if field.kind != "probability" or value is None:
        return ""
    return next((stars for level, stars in STARS if value <= level), "")


def _columns(rows: Sequence[Row], columns: Sequence[str] | None) -> list[str]:
    """The columns asked for, else every key in the order of first appearance."""
    return list(columns) if columns is not None else list(dict.fromkeys(key for row in rows for key in row))


def _numeric(rows: Sequence[Row], name: str) -> bool:
    values = [row.get(name) for row in rows if row.get(name) is not None]
    return bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _full(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _short(value: Any, digits: int) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _markdown(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
    return " ".join(escaped.splitlines()) if len(escaped.splitlines()) > 1 else escaped


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split("\n")))
