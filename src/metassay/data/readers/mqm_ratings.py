"""MQM from the errors that raters marked: severity weights, summed per segment, averaged over raters.

Two forms are read. Tables with a row per marked error (`system, seg_id, rater, category, severity`), as
Google and Unbabel publish them; and mt-metrics-eval's `.seg.rating` files, one JSON object per segment.
Scores are negative weights: 0 is best.

Weights as in Freitag et al. (2021): a major error 5, a minor one 1, minor punctuation 0.1, non-translation
25, neutral remarks and errors of the source 0; as in WMT23, creative reinterpretation 0; `critical`, which
only Unbabel's annotation has, 10.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import polars as pl

from metassay.data import cells
from metassay.data.columns import KEY_PREFIXES, TEXT_NAMES
from metassay.data.readers.files import read_text
from metassay.errors import InputError, Place

SEVERITIES = {"critical": 10.0, "major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0, "no_error": 0.0}
NON_TRANSLATION = 25.0
MINOR_PUNCTUATION = 0.1
FREE = ("source error", "source issue", "creative reinterpretation")
"""Categories that cost nothing, whatever their severity."""


def error_weight(category: str, severity: str) -> float:
    """What one marked error costs; NaN for a severity that is not known.

    >>> error_weight("Fluency/Punctuation", "Minor"), error_weight("Accuracy/Mistranslation", "Major")
    (0.1, 5.0)
    """
    category, severity = category.strip().lower(), severity.strip().lower().replace(" ", "-")
    if any(free in category for free in FREE):
        return 0.0
    if severity == "major" and category.replace("_", "-").startswith(("non-translation", "non translation")):
        return NON_TRANSLATION
    if severity == "minor" and category == "fluency/punctuation":
        return MINOR_PUNCTUATION
    return SEVERITIES.get(severity, math.nan)


def is_ratings(frame: pl.DataFrame) -> bool:
    """Whether a table has a row per marked error."""
    return {"system", "category", "severity"} <= {name.lower() for name in frame.columns}


def rater_scores(frame: pl.DataFrame, *, file: str = "") -> pl.DataFrame:
    """MQM per segment and rater, with the key columns the table has, `rater` and `mqm`."""
    frame = frame.rename({name: name.lower() for name in frame.columns})
    keys = [
        name
        for name in (*KEY_PREFIXES, "doc", "doc_id", *TEXT_NAMES["item"], "system")
        if name in frame.columns
    ]
    if not {*TEXT_NAMES["item"]} & {*keys}:
        raise InputError("no column names the segment.", place=Place(file or None))
    if "rater" not in frame.columns:
        frame = frame.with_columns(rater=pl.lit("rater"))
    kinds = frame.select("category", "severity").unique()
    weights = [error_weight(c or "", s or "") for c, s in kinds.iter_rows()]
    for (category, severity), weight in zip(kinds.iter_rows(), weights):
        if math.isnan(weight):
            raise InputError(
                f"unknown severity {severity!r} (of {category!r}).",
                place=Place(file or None, column="severity"),
                remedy=f"Known: {', '.join(SEVERITIES)}.",
            )
    weighted = frame.join(
        kinds.with_columns(_weight=pl.Series(weights)), on=["category", "severity"], nulls_equal=True
    )
    return (
        weighted.group_by([*keys, "rater"], maintain_order=True)
        .agg(mqm=0.0 - pl.col("_weight").sum())
        .sort([*keys, "rater"])
    )


def segment_scores(frame: pl.DataFrame, *, file: str = "") -> pl.DataFrame:
    """MQM per segment, the mean over its raters; where there are several, also `mqm:NAME` of each rater."""
    by_rater = rater_scores(frame, file=file)
    keys = [name for name in by_rater.columns if name not in {"rater", "mqm"}]
    mean = by_rater.group_by(keys, maintain_order=True).agg(pl.col("mqm").mean()).sort(keys)
    if by_rater["rater"].n_unique() < 2:
        return mean
    each = by_rater.with_columns(rater="mqm:" + pl.col("rater").cast(pl.String))
    wide = each.pivot(on="rater", index=keys, values="mqm", sort_columns=True)
    return mean.join(wide, on=keys, nulls_equal=True).sort(keys)


def read_rating_file(path: str | Path, segments: int | None = None) -> pl.DataFrame:
    """`system, seg_id, mqm` from a `.seg.rating` file of mt-metrics-eval, null where a segment is unrated.

    Line n of a system is segment n, so every system must have one line for each of `segments`; without that
    number, as many as every other.
    """
    systems, values = [], []
    for number, line in enumerate(read_text(str(path)).removesuffix("\n").split("\n"), start=1):
        system, tab, rating = line.partition("\t")
        place = Place(str(path), line=number)
        if not tab:
            raise InputError("a system, a tab and a rating were expected.", place=place)
        systems.append(system)
        values.append(_rating_score(rating, place))
    check_lengths(systems, segments, path, "ratings")
    frame = pl.DataFrame({"system": systems, "mqm": pl.Series(values, dtype=pl.Float64)})
    return frame.select("system", pl.int_range(1, pl.len() + 1).over("system").alias("seg_id"), "mqm")


def check_lengths(systems: list[str], segments: int | None, path: str | Path, what: str) -> None:
    """An error where a system has more or fewer lines than the test set has segments: one lost shifts all."""
    counts = Counter(systems)
    wanted = max(counts.values()) if segments is None else segments
    short = next((system for system in sorted(counts) if counts[system] != wanted), None)
    if short is not None:
        raise InputError(
            f"system {short} has {counts[short]} {what}, but the test set has {wanted} segments.",
            place=Place(str(path)),
        )


def _rating_score(text: str, place: Place) -> float | None:
    rating, _, _ = text.partition("\t")
    if rating.strip().lower() in cells.MISSING_SCORES:
        return None
    try:  # `is_source_error` says that the span lies in the source, as for omissions: it costs the same
        weights = [
            error_weight(error["category"], error["severity"]) for error in json.loads(rating)["errors"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"this is no rating ({type(error).__name__}).", place=place) from None
    if any(map(math.isnan, weights)):
        raise InputError("a marked error has an unknown severity.", place=place)
    return 0.0 - math.fsum(weights)
