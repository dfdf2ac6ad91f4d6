"""MQM scores from errors that raters marked: weights by severity, summed per segment, averaged over raters.

Two forms are read: tables with a row per marked error (`system, seg_id, rater, category, severity`), as
Google and Unbabel publish them, and `.seg.rating` files of mt-metrics-eval, with a JSON object per segment.
Scores are negative sums of weights: 0 is best.

Weights follow Freitag et al. (2021): 5 for a major error, 1 for a minor one, 0.1 for minor punctuation, 25
for non-translation, 0 for neutral remarks and errors of the source; as in WMT23, 0 for creative
reinterpretation. `critical`, which only Unbabel's annotation has, counts 10.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metassay.data import cells
from metassay.data.columns import TEST_SET_COLUMNS
from metassay.data.readers.files import read_text
from metassay.errors import InputError, InputLocation
from metassay.tasks.base import TEXT_COLUMNS

SEVERITY_WEIGHTS = {
    "critical": 10.0,
    "major": 5.0,
    "minor": 1.0,
    "neutral": 0.0,
    "no-error": 0.0,
    "no_error": 0.0,
}
# Weights of Freitag et al. (2021): a segment that is no translation at all costs as much as five major
# errors.
NON_TRANSLATION_WEIGHT = 25.0
MINOR_PUNCTUATION_WEIGHT = 0.1
# Categories that cost nothing, whatever their severity.
FREE_CATEGORIES = ("source error", "source issue", "creative reinterpretation")


def find_error_weight(category: str, severity: str) -> float:
    """Return the weight of an error in MQM scores, given its category and severity. The weight is NaN for an
    unknown severity.

    >>> find_error_weight("Fluency/Punctuation", "Minor")
    0.1
    """
    category = category.strip().lower()
    severity = severity.strip().lower().replace(" ", "-")
    if any(free in category for free in FREE_CATEGORIES):
        return 0.0
    is_non_translation = category.replace("_", "-").startswith(("non-translation", "non translation"))
    if severity == "major" and is_non_translation:
        return NON_TRANSLATION_WEIGHT
    if severity == "minor" and category == "fluency/punctuation":
        return MINOR_PUNCTUATION_WEIGHT
    return SEVERITY_WEIGHTS.get(severity, math.nan)


def is_mqm_table(table: pl.DataFrame) -> bool:
    """Return whether a table has a row per marked error, with the columns `system`, `category` and
    `severity`.
    """
    return {"system", "category", "severity"} <= {name.lower() for name in table.columns}


def compute_mqm_scores_by_rater(marked_errors: pl.DataFrame, *, file: str = "") -> pl.DataFrame:
    """Compute the MQM score that each rater gave to each segment, from a table of the errors that raters
    marked.

    The score is minus the sum of error weights. The result has the key columns, `rater` and `mqm`.
    """
    counts = Counter(name.lower() for name in marked_errors.columns)
    repeated = [name for name in marked_errors.columns if counts[name.lower()] > 1]
    if repeated:
        raise InputError(
            f"these columns have the same name, apart from case: {', '.join(repeated)}.",
            location=InputLocation(file or None),
            remedy="Rename or remove one of them.",
        )
    marked_errors = marked_errors.rename({name: name.lower() for name in marked_errors.columns})
    possible_keys = (*TEST_SET_COLUMNS, "doc", "doc_id", *TEXT_COLUMNS["item"], "system")
    keys = [name for name in possible_keys if name in marked_errors.columns]
    if not {*TEXT_COLUMNS["item"]} & {*keys}:
        raise InputError("no column names the segment.", location=InputLocation(file or None))
    if "rater" not in marked_errors.columns:
        marked_errors = marked_errors.with_columns(rater=pl.lit("rater"))
    weights = _add_error_weights(marked_errors.select("category", "severity").unique(), file)
    weighted = marked_errors.join(weights, on=["category", "severity"], nulls_equal=True)
    scores = weighted.group_by([*keys, "rater"], maintain_order=True).agg(mqm=0.0 - pl.col("_weight").sum())
    return scores.sort([*keys, "rater"])


def _add_error_weights(error_types: pl.DataFrame, file: str) -> pl.DataFrame:
    """Add the MQM weight to each row of a table of distinct error categories and severities."""
    weights = []
    for category, severity in error_types.iter_rows():
        weight = find_error_weight(category or "", severity or "")
        if math.isnan(weight):
            raise InputError(
                f"unknown severity {severity!r} (of {category!r}).",
                location=InputLocation(file or None, column="severity"),
                remedy=f"Known: {', '.join(SEVERITY_WEIGHTS)}.",
            )
        weights.append(weight)
    return error_types.with_columns(_weight=pl.Series(weights))


def compute_mqm_scores_by_segment(marked_errors: pl.DataFrame, *, file: str = "") -> pl.DataFrame:
    """Compute the MQM score of each segment, which is the mean over raters, from a table of the errors that
    raters marked.

    If there are several raters, a column `mqm:NAME` has the score of each.
    """
    by_rater = compute_mqm_scores_by_rater(marked_errors, file=file)
    keys = [name for name in by_rater.columns if name not in {"rater", "mqm"}]
    means = by_rater.group_by(keys, maintain_order=True).agg(pl.col("mqm").mean()).sort(keys)
    if by_rater["rater"].n_unique() < 2:
        return means
    named = by_rater.with_columns(rater="mqm:" + pl.col("rater").cast(pl.String))
    rater_columns = named.pivot(on="rater", index=keys, values="mqm", sort_columns=True)
    return means.join(rater_columns, on=keys, nulls_equal=True).sort(keys)


def read_mqm_rating_file(path: str | Path, segment_count: int | None = None) -> pl.DataFrame:
    """Read the MQM scores of a `.seg.rating` file into a table `system, seg_id, mqm`, with null for unrated
    segments.

    Line n of a system is segment n, so every system must have `segment_count` lines, or without that number
    as many lines as the others.
    """
    systems = []
    scores = []
    for number, line in enumerate(read_text(str(path)).removesuffix("\n").split("\n"), start=1):
        system, tab, rating = line.partition("\t")
        location = InputLocation(str(path), line=number)
        if not tab:
            raise InputError("a system, a tab and a rating were expected.", location=location)
        systems.append(system)
        scores.append(_compute_mqm_score_of_rating(rating, location))
    check_line_count_of_each_system(systems, segment_count, path, "ratings")
    table = pl.DataFrame({"system": systems, "mqm": pl.Series(scores, dtype=pl.Float64)})
    return table.select("system", pl.int_range(1, pl.len() + 1).over("system").alias("seg_id"), "mqm")


def check_line_count_of_each_system(
    system_of_line: Sequence[str], segment_count: int | None, path: str | Path, line_content: str
) -> None:
    """Raise an error if a system has more or fewer lines than there are segments.

    One missing line would shift all segments after it. `system_of_line` has the system of each line;
    `line_content` says in the error what the lines hold.
    """
    counts = Counter(system_of_line)
    expected = max(counts.values()) if segment_count is None else segment_count
    for system in sorted(counts):
        if counts[system] != expected:
            raise InputError(
                f"system {system} has {counts[system]} {line_content}, but the test set has {expected} "
                "segments.",
                location=InputLocation(str(path)),
            )


def _compute_mqm_score_of_rating(rating_text: str, location: InputLocation) -> float | None:
    """Compute the MQM score of a segment from the JSON text that lists its errors. Returns None if the
    segment is unrated.
    """
    rating, _, _ = rating_text.partition("\t")
    if rating.strip().lower() in cells.MISSING_SCORES:
        return None
    try:
        errors = json.loads(rating)["errors"]
        # `is_source_error` is ignored: it says that the span lies in the source, as for omissions.
        weights = [find_error_weight(error["category"], error["severity"]) for error in errors]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"this is not a rating ({type(error).__name__}).", location=location) from None
    if any(math.isnan(weight) for weight in weights):
        raise InputError("a marked error has an unknown severity.", location=location)
    return 0.0 - math.fsum(weights)
