"""Transcripts in NIST's formats: segments of recordings (`stm`) and recognised words in time (`ctm`).

A line of an `stm` file is `file channel speaker begin end <label> words`; a line of a `ctm` file is
`file channel begin duration word [confidence]`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import read_first_lines_without_comments, read_text
from metassay.data.readers.utterances import GENDERS, join_system_outputs
from metassay.errors import InputError, InputLocation, format_path_for_user

_TIME = r"\d{1,15}(?:\.\d{0,30})?|\.\d{1,30}"
# The line must not end in spaces: a pattern that allows it takes quadratic time on long runs of spaces.
_STM_LINE = re.compile(
    rf"\s*(?P<file>\S+)\s+(?P<channel>\S+)\s+(?P<speaker>\S+)\s+(?P<begin>{_TIME})\s+(?P<end>{_TIME})"
    r"(?:\s+<(?P<label>[^>]*)>)?(?:\s+(?P<text>\S.*))?"
)
_UNSCORED = re.compile(r"ignore_time_segment_in_scoring|inter_segment_gap", re.IGNORECASE)
_STM_SCHEMA = {
    "utt_id": pl.String,
    "text": pl.String,
    "file": pl.String,
    "channel": pl.String,
    "begin": pl.Float64,
    "end": pl.Float64,
    "speaker_id": pl.String,
    "gender": pl.String,
    "line": pl.Int64,
}
_CTM_LINE = re.compile(
    rf"\s*(?P<file>\S+)\s+(?P<channel>\S+)\s+(?P<begin>{_TIME})\s+(?P<duration>{_TIME})\s+(?P<word>\S+)"
    r"(?:\s+(?P<confidence>[-+.\deE]+|NA))?(?:\s+\S+)*\s*"
)
_ALTERNATIVES = re.compile(r"<ALT(?:_BEGIN|_END)?>", re.IGNORECASE)
_CTM_SCHEMA = {
    "file": pl.String,
    "channel": pl.String,
    "middle": pl.Float64,
    "word": pl.String,
    "line": pl.Int64,
}


def is_stm_file(path: str) -> bool:
    """Return whether the first lines of a file are segments in the `stm` format, NIST's format of reference
    transcripts.
    """
    lines = read_first_lines_without_comments(path)[:20]
    return bool(lines) and all(_match_stm_segment(line) for line in lines)


def _match_stm_segment(stm_line: str) -> re.Match[str] | None:
    """Match a line of an `stm` file with the pattern of a segment. Returns None if the line is not a valid
    segment.
    """
    match = _STM_LINE.fullmatch(stm_line.rstrip())
    if match is None or float(match["end"]) <= float(match["begin"]):
        return None
    return match


def read_stm_references(path: str) -> pl.DataFrame:
    """Read a reference transcript in NIST's `stm` format into a table with a row per segment, sorted by time.

    The utterance is `file-channel-begin-end`. The gender is that of the label, if it names one. Segments that
    the file marks as not to be scored are left out.
    """
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        match = _match_stm_segment(line)
        if match is None:
            raise InputError(
                "this is not a segment: file, channel, speaker, begin, a later end, and words.",
                location=InputLocation(file=path, line=number),
            )
        if not (_UNSCORED.search(match["text"] or "") or _UNSCORED.search(match["speaker"])):
            rows.append(_build_transcript_segment_row(match, number))
    segments = pl.DataFrame(rows, schema=_STM_SCHEMA, orient="row")
    segments = segments.sort("file", "channel", "begin", "end", "speaker_id")
    if segments.is_empty():
        raise InputError("no segment of this file is to be scored.", location=InputLocation(file=path))
    _reject_overlapping_segments(segments, path)
    if segments["gender"].is_null().all():
        return segments.drop("gender")
    return segments


def _build_transcript_segment_row(segment_match: re.Match[str], line_number: int) -> tuple[object, ...]:
    """Build the table row of one transcribed segment."""
    begin = float(segment_match["begin"])
    end = float(segment_match["end"])
    utterance = f"{segment_match['file']}-{segment_match['channel']}-{begin:.3f}-{end:.3f}"
    gender = None
    for label in (segment_match["label"] or "").split(","):
        gender = gender or GENDERS.get(label.strip().lower())
    text = segment_match["text"] or ""
    return (
        utterance,
        text,
        segment_match["file"],
        segment_match["channel"],
        begin,
        end,
        segment_match["speaker"],
        gender,
        line_number,
    )


def _reject_overlapping_segments(segments: pl.DataFrame, path: str) -> None:
    """Raise an error if two segments of one channel overlap in time."""
    previous_end = pl.col("end").shift(1).over("file", "channel")
    overlapping = segments.filter(pl.col("begin") < previous_end - 1e-6)
    if overlapping.height:
        raise InputError(
            "the segment begins before the one before it on the same channel ends.",
            location=InputLocation(file=path, line=overlapping["line"].sort()[0]),
        )


def read_ctm_words(path: str) -> pl.DataFrame:
    """Read the recognised words of a file in NIST's `ctm` format into a table, sorted by time.

    The time of a word is the middle between its begin and end.
    """
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith((";;", "#")):
            continue
        match = _CTM_LINE.fullmatch(line)
        if match is None or _ALTERNATIVES.fullmatch(match["word"]):
            message = "this is not a word in time." if match is None else "alternatives cannot be scored."
            raise InputError(
                message,
                location=InputLocation(file=path, line=number),
                remedy="A line of a ctm file is: file channel begin duration word [confidence].",
            )
        middle = float(match["begin"]) + float(match["duration"]) / 2
        rows.append((match["file"], match["channel"], middle, match["word"], number))
    words = pl.DataFrame(rows, schema=_CTM_SCHEMA, orient="row")
    return words.sort("file", "channel", "middle", maintain_order=True)


def read_stm_and_ctm_transcripts(segment_file: str, outputs: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Read a table `utt_id, system, ref, hyp` from a file of reference segments (`stm`) and files of
    recognised words (`ctm`).

    A word belongs to the segment that holds the middle of its time. Notes count words outside all segments.
    """
    segments = read_stm_references(segment_file)
    tables = {}
    notes = []
    for path in outputs:
        words = read_ctm_words(path)
        assigned = _assign_words_to_segments(words, segments, path)
        outside = words.height - assigned.height
        if outside:
            notes.append(
                f"{format_path_for_user(path)}: {outside} words lie outside all segments and are left out."
            )
        texts = assigned.group_by("utt_id", maintain_order=True).agg(
            pl.col("word").str.join(" ").alias("text")
        )
        utterances = segments.select("utt_id").join(texts, on="utt_id", how="left", maintain_order="left")
        tables[path] = utterances.with_columns(pl.col("text").fill_null(""))
    return join_system_outputs(segments, tables), notes


def _assign_words_to_segments(words: pl.DataFrame, segments: pl.DataFrame, path: str) -> pl.DataFrame:
    """Assign each recognised word to the segment in which the middle of the word lies. Words outside all
    segments are left out.
    """
    recordings = segments.select("file", "channel").unique()
    recorded = words.join(recordings, on=("file", "channel"), how="semi", maintain_order="left")
    if recorded.is_empty():
        raise InputError("none of its recordings is in the references.", location=InputLocation(file=path))
    last_begun = recorded.join_asof(
        segments.select("file", "channel", "begin", "end", "utt_id").sort("begin"),
        left_on="middle",
        right_on="begin",
        by=("file", "channel"),
        strategy="backward",
        check_sortedness=False,
    )
    inside = last_begun.filter(pl.col("middle") < pl.col("end"))
    return inside.sort("file", "channel", "middle", maintain_order=True)
