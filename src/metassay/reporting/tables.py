"""Rows of results as Markdown, LaTeX or CSV: functions from `list[dict]` to text.

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
from typing import Any

from metassay.errors import UnknownName

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
}


def to_csv(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """RFC 4180 with LF line ends; numbers in full, nothing where a value is missing."""
    names = _columns(rows, columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_exact(row.get(name)) for name in names] for row in rows)
    return text.getvalue()


def to_markdown(rows: Sequence[Row], columns: Sequence[str] | None = None, *, digits: int = 4) -> str:
    """A pipe table, numbers to the right; pipes and line breaks in cells are escaped."""
    names = _columns(rows, columns)
    if not names:
        return ""
    marks = ["---:" if _numeric(rows, name) else ":---" for name in names]
    body = [[_markdown(_short(row.get(name), digits)) for name in names] for row in rows]
    lines = ["| " + " | ".join(map(_markdown, names)) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in body)]) + "\n"


def to_latex(rows: Sequence[Row], columns: Sequence[str] | None = None, *, digits: int = 4) -> str:
    r"""A `tabular` with booktabs rules, every special character escaped; needs `\usepackage{booktabs}`."""
    names = _columns(rows, columns)
    if not names:
        return ""
    align = "".join("r" if _numeric(rows, name) else "l" for name in names)
    body = [[_latex(_short(row.get(name), digits)) for name in names] for row in rows]
    lines = [
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        " & ".join(map(_latex, names)) + r" \\",
        r"\midrule",
        *(" & ".join(cells) + r" \\" for cells in body),
        r"\bottomrule",
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


def _columns(rows: Sequence[Row], columns: Sequence[str] | None) -> list[str]:
    """The columns asked for, else every key in the order of first appearance."""
    return list(columns) if columns is not None else list(dict.fromkeys(key for row in rows for key in row))


def _numeric(rows: Sequence[Row], name: str) -> bool:
    values = [row.get(name) for row in rows if row.get(name) is not None]
    return bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _exact(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _short(value: Any, digits: int) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _markdown(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.splitlines()) if len(escaped.splitlines()) > 1 else escaped


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split("\n")))
