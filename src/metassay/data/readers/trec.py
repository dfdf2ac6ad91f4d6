"""TREC runs: `topic Q0 document rank score tag`, one retrieved document a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import opening, read_text
from metassay.errors import InputError, Place

_GAP = r"[ \t\r\x0b\x0c]"
_WORD = r"([^ \t\r\x0b\x0c]+)"
_LINE = rf"^{_GAP}*{f'{_WORD}{_GAP}+' * 5}(.*[^ \t\r\x0b\x0c]){_GAP}*$"
_SNIFF = re.compile(r"\s*\S+\s+[Qq]0\s+\S+\s+\S+\s+[-+.\dnNiI]\S*\s+\S.*")
_REMEDY = "A line of a run is: topic Q0 document rank score tag."


def sniff(path: str) -> bool:
    """Whether the file starts with lines of a run: six words or more, the second of them Q0."""
    return looks_like_run(opening(path))


def looks_like_run(lines: Sequence[str]) -> bool:
    """Whether the first of these lines are lines of a run."""
    return bool(lines) and all(_SNIFF.fullmatch(line) for line in lines[:5])


def read_run(path: str) -> pl.DataFrame:
    """A table `run, topic, docid, score, line` of the retrieved documents, in the order of the file.

    Lines that start with `#` and empty lines are passed over; the second and fourth word are ignored, as
    trec_eval does. The run is the tag: all that follows the score where every line has the same, else its
    first word (trec_eval ignores further words). Gzip is recognised by content.
    """
    return parse_run(read_text(path), path)


def parse_run(text: str, path: str) -> pl.DataFrame:
    """The same from text; `path` is where it comes from."""
    lines = content_lines(text, path)
    fields = lines["text"].str.extract_groups(_LINE).struct.unnest()
    fields.columns = ["topic", "iteration", "docid", "rank", "written", "tag"]
    bad = fields["topic"].is_null()
    if bad.any():
        at = int(bad.arg_max() or 0)
        words = len(lines["text"][at].split())
        raise InputError(
            f"{words} {'word' if words == 1 else 'words'}, but a run has six columns.",
            place=Place(file=path, line=lines["line"][at]),
            remedy=_REMEDY,
        )
    frame = fields.select(
        _tags(fields["tag"]).alias("run"),
        "topic",
        "docid",
        _scores(fields["written"], lines["line"], path).alias("score"),
        lines["line"],
    )
    refuse_repeated(
        frame, ("run", "topic", "docid"), path, "document {docid} was already retrieved for topic {topic}"
    )
    return frame


def content_lines(text: str, path: str) -> pl.DataFrame:
    """The lines that say something, with their numbers: `text, line`."""
    frame = pl.DataFrame({"text": text.split("\n")}).with_row_index("line", offset=1)
    frame = frame.filter(pl.col("text").str.contains(r"^[ \t\r\x0b\x0c]*[^# \t\r\x0b\x0c]"))
    if frame.is_empty():
        raise InputError("the file has no lines but comments and empty ones.", place=Place(file=path, line=1))
    return frame.with_columns(pl.col("line").cast(pl.Int64))


def refuse_repeated(frame: pl.DataFrame, key: tuple[str, ...], path: str, what: str) -> None:
    """An error at the second of two lines with the same key; `what` is filled in from the line."""
    repeated = frame.select(pl.struct(key).is_duplicated())[key[0]]
    if not repeated.any():
        return
    rows = frame.filter(repeated)
    second = rows.filter(~rows.select(pl.struct(key).is_first_distinct())[key[0]]).row(0, named=True)
    same = pl.all_horizontal(pl.col(name) == second[name] for name in key)
    first = rows.filter(same)["line"][0]
    raise InputError(
        f"{what.format(**second)} in line {first}.",
        place=Place(file=path, line=second["line"]),
        remedy="Remove one of the two lines.",
    )


def _tags(tags: pl.Series) -> pl.Series:
    if tags.n_unique() == 1:
        return tags
    return tags.str.extract(rf"^{_WORD}")


def _scores(written: pl.Series, lines: pl.Series, path: str) -> pl.Series:
    """Retrieval scores as float64; what is no number, not a number or infinite is refused with its line."""
    scores = written.cast(pl.Float64, strict=False)
    bad = ~scores.is_finite().fill_null(value=False)
    if bad.any():
        at = int(bad.arg_max() or 0)
        raise InputError(
            f"the score {written[at]!r} is not a finite number.",
            place=Place(file=path, line=lines[at]),
            remedy=_REMEDY,
        )
    return scores
