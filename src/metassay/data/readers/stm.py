"""NIST's `stm`: segments of recordings, `file channel speaker begin end <label> words`."""

from __future__ import annotations

import re

import polars as pl

from metassay.data.readers.files import read_text
from metassay.data.readers.opening import opening
from metassay.errors import InputError, Place

_TIME = r"\d+(?:\.\d*)?|\.\d+"
_LINE = re.compile(
    rf"\s*(?P<file>\S+)\s+(?P<channel>\S+)\s+(?P<speaker>\S+)\s+(?P<begin>{_TIME})\s+(?P<end>{_TIME})"
    r"(?:\s+<(?P<label>[^>]*)>)?(?:\s+(?P<text>.*?))?\s*"
)
_UNSCORED = re.compile(r"ignore_time_segment_in_scoring|inter_segment_gap", re.IGNORECASE)
_GENDERS = {"male": "male", "female": "female", "m": "male", "f": "female"}
SCHEMA = {
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


def sniff(path: str) -> bool:
    """Whether the file starts with segments: three words and two times that follow each other."""
    lines = [_LINE.fullmatch(line) for line in opening(path)[:20]]
    return bool(lines) and all(found and float(found["begin"]) < float(found["end"]) for found in lines)


def read_stm(path: str) -> pl.DataFrame:
    """A table `utt_id, text, file, channel, begin, end, speaker_id, gender, line`, sorted by time.

    The utterance is `file-channel-begin-end`. Segments that the file marks as not to be scored are left out.
    The gender is taken from the label where it says male or female, else null.
    """
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        found = _LINE.fullmatch(line)
        if found is None or float(found["end"]) <= float(found["begin"]):
            raise InputError(
                "this is not a segment: file, channel, speaker, begin, a later end, and words.",
                place=Place(file=path, line=number),
            )
        if _UNSCORED.search(found["text"] or "") or _UNSCORED.search(found["speaker"]):
            continue
        rows.append(_row(found, number))
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row").sort(
        "file", "channel", "begin", "end", "speaker_id"
    )
    if frame.is_empty():
        raise InputError("no segment of this file is to be scored.", place=Place(file=path))
    _refuse_overlaps(frame, path)
    return frame if frame["gender"].is_not_null().any() else frame.drop("gender")


def _row(found: re.Match[str], number: int) -> tuple[object, ...]:
    begin, end = float(found["begin"]), float(found["end"])
    utterance = f"{found['file']}-{found['channel']}-{begin:.3f}-{end:.3f}"
    labels = [part.strip().lower() for part in (found["label"] or "").split(",")]
    gender = next((_GENDERS[label] for label in labels if label in _GENDERS), None)
    text = found["text"] or ""
    return utterance, text, found["file"], found["channel"], begin, end, found["speaker"], gender, number


def _refuse_overlaps(frame: pl.DataFrame, path: str) -> None:
    """Segments of one channel must not overlap, or a word in time belongs to two."""
    previous = pl.col("end").shift(1).over("file", "channel")
    overlapping = frame.filter(pl.col("begin") < previous - 1e-6)
    if overlapping.height:
        raise InputError(
            "the segment begins before the one before it on the same channel ends.",
            place=Place(file=path, line=overlapping["line"].sort()[0]),
        )
