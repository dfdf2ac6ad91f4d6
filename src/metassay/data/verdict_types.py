"""Types of verdicts: pairwise (one of two outputs), grade (an ordered number) and label (unordered).

Codes such as 1 … 17 can be grades or labels. They are grades if raters who disagree choose codes that are
close to each other, which raters of unordered labels have no reason to do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from metassay.data import cells
from metassay.errors import UnknownName
from metassay.stats.arrays import FloatArray

PAIRWISE = "pairwise"
GRADE = "grade"
LABEL = "label"
VERDICT_TYPES = (PAIRWISE, GRADE, LABEL)

# Spellings of the two labels whose share can be corrected, in lower case.
GOOD = ("good", "yes", "true", "correct", "pass", "1", "1.0")
BAD = ("bad", "no", "false", "incorrect", "fail", "0", "0.0")
_FEW_CODES = 10
# Floats have all whole numbers up to this size.
_LARGEST_CODE = 2**53
# More distinct whole numbers than this are grades.
_MOST_CODES = 50
# Fewer cases in which two raters disagree do not show whether codes are ordered.
_FEWEST_DISAGREEMENTS = 30
# Correlation of codes between raters who disagree from which codes are grades: few codes, and many codes.
_SCALE_CORRELATION = 0.2
_CODE_CORRELATION = 0.4
# Correlation of all codes up to which one of two raters counts in the opposite direction. Two raters who
# never choose the same of three unordered labels have −0.5, and with more labels it is closer to 0.
_OPPOSITE_CORRELATION = -0.6
_FEWEST_OPPOSITE_CODES = 3


def check_verdict_type(requested_type: str | None) -> None:
    """Raise an error if the type of verdicts that the user named does not exist."""
    if requested_type is not None and requested_type not in VERDICT_TYPES:
        raise UnknownName("type of verdicts", requested_type, VERDICT_TYPES)


def is_text_column(column: pl.Series) -> bool:
    """Return whether a column has values, none of which is a number."""
    if column.dtype == pl.Boolean:
        return True
    if column.dtype != pl.String:
        return False
    present = column.drop_nulls().str.strip_chars()
    present = present.filter(~present.str.to_lowercase().is_in(list(cells.MISSING_SCORES)))
    return len(present) > 0 and bool(cells.parse_number_column(present).is_null().all())


def normalize_labels(column: pl.Series) -> pl.Series:
    """Convert labels to lower-case text without spaces around it. Empty cells and NaN become null.

    >>> normalize_labels(pl.Series([1.0, 2.0, None])).to_list()
    ['1', '2', None]
    """
    if column.dtype.is_float():
        column = column.fill_nan(None)
        present = column.drop_nulls()
        is_code = bool(((present == present.round()) & (present.abs() < _LARGEST_CODE)).all())
        column = column.cast(pl.Int64) if is_code else column
    text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    return text.set(text.is_in(list(cells.MISSING_SCORES)), None)


def map_labels_to_numbers(label_columns: Sequence[pl.Series]) -> dict[str, float]:
    """Assign a number to every label in the given columns. Labels such as "good" and "bad" get 1 and 0,
    others the numbers from 0.
    """
    labels = sorted({label for column in label_columns for label in normalize_labels(column).drop_nulls()})
    if all(label in (*GOOD, *BAD) for label in labels):
        return {label: float(label in GOOD) for label in labels}
    return {label: float(code) for code, label in enumerate(labels)}


def do_ratings_look_like_grades(first_ratings: Sequence[float], second_ratings: Sequence[float]) -> bool:
    """Return whether the numbers that two raters gave to the same outputs seem to be grades on a scale, not
    codes of labels.

    They are if the codes differ in enough places and are correlated there, or if all codes are strongly
    correlated with the opposite sign, because 1 is best for one rater and worst for the other.

    >>> do_ratings_look_like_grades([1, 2, 3, 4] * 10, [2, 3, 4, 5] * 10)
    True
    >>> do_ratings_look_like_grades([1, 2, 3, 4] * 10, [4, 3, 2, 1] * 10)
    True
    >>> do_ratings_look_like_grades([1, 2, 3, 4] * 10, [2, 4, 1, 3] * 10)
    False
    """
    ratings = np.array([first_ratings, second_ratings], dtype=np.float64)
    ratings = ratings[:, ~np.isnan(ratings).any(axis=0)]
    if len(np.unique(ratings)) > _MOST_CODES:
        return True
    required_correlation = _SCALE_CORRELATION if len(np.unique(ratings)) <= _FEW_CODES else _CODE_CORRELATION
    disagreements = ratings[:, ratings[0] != ratings[1]]
    if disagreements.shape[1] < _FEWEST_DISAGREEMENTS or (np.ptp(disagreements, axis=1) == 0).any():
        return False
    if len(np.unique(ratings)) >= _FEWEST_OPPOSITE_CODES and _correlate(ratings) <= _OPPOSITE_CORRELATION:
        return True
    return _correlate(disagreements) >= required_correlation


def _correlate(ratings: FloatArray) -> float:
    """Return the correlation of two rows of ratings."""
    return float(np.asarray(np.corrcoef(ratings))[0, 1])
