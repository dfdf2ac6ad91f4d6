"""Reader of TREC runs: one retrieved document a line, `topic Q0 document rank score tag`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.readers.base import Reader
from metassay.data.readers.files import read_first_lines_without_comments, read_text
from metassay.data.readers.trec_lines import SPACE, WORD, reject_repeated_lines, split_lines_into_fields
from metassay.errors import InputError, InputLocation
from metassay.tasks import ranking

_FIELDS = ["topic", "iteration", "docid", "rank", "score", "tag"]
_LINE = rf"^{SPACE}*{f'{WORD}{SPACE}+' * 5}(.*[^ \t\r\x0b\x0c]){SPACE}*$"
_FIRST_LINES = re.compile(r"\s*\S+\s+[Qq]0\s+\S+\s+\S+\s+[-+.\dnNiI]\S*\s+\S.*")
TREC_RUN_REMEDY = "A line of a run is: topic Q0 document rank score tag."


class TrecRunReader(Reader):
    """Reader of runs in TREC format: the documents that a system retrieved for each topic."""

    name = "trec run"
    files = "any name, second word Q0"
    summary = "a ranking: topic Q0 document rank score tag; needs --qrels"
    task = ranking.TASK.name

    def sniff(self, path: str) -> bool:
        """Return whether the second word of each of the first lines is Q0, as in runs of TREC."""
        return looks_like_trec_run(read_first_lines_without_comments(path))

    def read(self, path: str) -> pl.DataFrame:
        """Read a table of the documents that a system retrieved, with a row per document."""
        return read_trec_run(path)


def looks_like_trec_run(lines: Sequence[str]) -> bool:
    """Return whether lines have the six or more words of a TREC run, of which the second is Q0."""
    return bool(lines) and all(_FIRST_LINES.fullmatch(line) for line in lines[:5])


def read_trec_run(path: str) -> pl.DataFrame:
    """Read a file in the format of TREC runs into a table with a row per retrieved document.

    As in trec_eval, comments (`#`), empty lines and the second word are ignored, and the rank does not matter
    for the order. The run is named by the tag: everything after the score if it is the same in all lines,
    else the first word after it.
    """
    return parse_trec_run(read_text(path), path)


def parse_trec_run(text: str, path: str) -> pl.DataFrame:
    """Parse the text of a TREC run into a table with a row per retrieved document. Errors name the path of
    the file.
    """
    fields = split_lines_into_fields(text, path, _LINE, _FIELDS, "a run has six columns", TREC_RUN_REMEDY)
    run = fields.select(
        _extract_run_names_from_tags(fields["tag"]).alias("run"),
        "topic",
        "docid",
        # A rank that is no number is ignored: trec_eval ignores all ranks.
        fields["rank"].cast(pl.Int64, strict=False),
        _parse_retrieval_scores(fields["score"], fields["line"], path).alias("score"),
        "line",
    )
    reject_repeated_lines(
        run, ("run", "topic", "docid"), path, "document {docid} was already retrieved for topic {topic}"
    )
    return run


def _extract_run_names_from_tags(tags: pl.Series) -> pl.Series:
    """Extract the name of the run from the tag of each line. If tags differ between lines, the name is the
    first word of the tag.
    """
    if tags.n_unique() == 1:
        return tags
    return tags.str.extract(rf"^{WORD}")


def _parse_retrieval_scores(score_texts: pl.Series, line_numbers: pl.Series, path: str) -> pl.Series:
    """Convert the scores of retrieved documents to floats. A score that is not a finite number is an
    error.
    """
    scores = score_texts.cast(pl.Float64, strict=False)
    is_invalid = ~scores.is_finite().fill_null(value=False)
    if is_invalid.any():
        index = int(is_invalid.arg_max() or 0)
        raise InputError(
            f"the score {score_texts[index]!r} is not a finite number.",
            location=InputLocation(file=path, line=line_numbers[index]),
            remedy=TREC_RUN_REMEDY,
        )
    return scores
