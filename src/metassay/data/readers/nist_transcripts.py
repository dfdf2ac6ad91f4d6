"""References and outputs in separate files: transcripts of speech by utterance, plain text by line.

NIST's `stm` holds segments of recordings, `file channel speaker begin end <label> words`; its `ctm` holds
recognised words in time, `file channel begin duration word [confidence]`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import (
    check_path,
    decode_text,
    file_stem,
    read_bytes,
    read_first_lines,
    read_text,
)
from metassay.data.readers.speech_utterances import is_kaldi, is_trn, read_kaldi, read_trn_pairs, side_by_side
from metassay.errors import InputError, Place, display_path

_TIME = r"\d{1,15}(?:\.\d{0,30})?|\.\d{1,30}"
_STM_LINE = re.compile(
    rf"\s*(?P<file>\S+)\s+(?P<channel>\S+)\s+(?P<speaker>\S+)\s+(?P<begin>{_TIME})\s+(?P<end>{_TIME})"
    r"(?:\s+<(?P<label>[^>]*)>)?(?:\s+(?P<text>\S.*))?"
)
"""Of a line without space at its end: to look for that here takes time with the square of the spaces."""
_UNSCORED = re.compile(r"ignore_time_segment_in_scoring|inter_segment_gap", re.IGNORECASE)
_GENDERS = {"male": "male", "female": "female", "m": "male", "f": "female"}
STM_SCHEMA = {
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


def is_stm(path: str) -> bool:
    """Whether the file starts with segments: three words and two times that follow each other."""
    lines = [_STM_LINE.fullmatch(line.rstrip()) for line in read_first_lines(path)[:20]]
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
        found = _STM_LINE.fullmatch(line.rstrip())
        if found is None or float(found["end"]) <= float(found["begin"]):
            raise InputError(
                "this is not a segment: file, channel, speaker, begin, a later end, and words.",
                place=Place(file=path, line=number),
            )
        if _UNSCORED.search(found["text"] or "") or _UNSCORED.search(found["speaker"]):
            continue
        rows.append(_segment(found, number))
    frame = pl.DataFrame(rows, schema=STM_SCHEMA, orient="row").sort(
        "file", "channel", "begin", "end", "speaker_id"
    )
    if frame.is_empty():
        raise InputError("no segment of this file is to be scored.", place=Place(file=path))
    _refuse_overlaps(frame, path)
    return frame if frame["gender"].is_not_null().any() else frame.drop("gender")


def _segment(found: re.Match[str], number: int) -> tuple[object, ...]:
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


_CTM_LINE = re.compile(
    rf"\s*(?P<file>\S+)\s+(?P<channel>\S+)\s+(?P<begin>{_TIME})\s+(?P<duration>{_TIME})\s+(?P<word>\S+)"
    r"(?:\s+(?P<confidence>[-+.\deE]+|NA))?(?:\s+\S+)*\s*"
)
_ALTERNATIVES = re.compile(r"<ALT(?:_BEGIN|_END)?>", re.IGNORECASE)
CTM_SCHEMA = {
    "file": pl.String,
    "channel": pl.String,
    "middle": pl.Float64,
    "word": pl.String,
    "line": pl.Int64,
}


def is_ctm(path: str) -> bool:
    """Whether the file starts with words in time."""
    lines = read_first_lines(path)[:20]
    return bool(lines) and all(_CTM_LINE.fullmatch(line) for line in lines)


def read_ctm(path: str) -> pl.DataFrame:
    """A table `file, channel, middle, word, line`: each word with the middle of its time, in order."""
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith((";;", "#")):
            continue
        found = _CTM_LINE.fullmatch(line)
        if found is None or _ALTERNATIVES.fullmatch(found["word"]):
            what = "alternatives cannot be scored" if found else "this is not a word in time"
            raise InputError(
                f"{what}.",
                place=Place(file=path, line=number),
                remedy="A line of a ctm file is: file channel begin duration word [confidence].",
            )
        middle = float(found["begin"]) + float(found["duration"]) / 2
        rows.append((found["file"], found["channel"], middle, found["word"], number))
    frame = pl.DataFrame(rows, schema=CTM_SCHEMA, orient="row")
    return frame.sort("file", "channel", "middle", maintain_order=True)


def read_ctm_pairs(segments: str, outputs: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """A table `utt_id, system, ref, hyp` and what the `stm` says, and notes on words outside all segments.

    A word belongs to the segment that holds the middle of its time.
    """
    references = read_stm(segments)
    tables, notes = {}, []
    for path in outputs:
        words = read_ctm(path)
        placed = _placed(words, references, path)
        if placed.height < words.height:
            notes.append(
                f"{display_path(path)}: {words.height - placed.height} words lie outside all segments"
                " and are left out."
            )
        spoken = placed.group_by("utt_id", maintain_order=True).agg(
            pl.col("word").str.join(" ").alias("text")
        )
        tables[path] = (
            references.select("utt_id")
            .join(spoken, on="utt_id", how="left", maintain_order="left")
            .with_columns(pl.col("text").fill_null(""))
        )
    return side_by_side(references, tables), notes


def _placed(words: pl.DataFrame, segments: pl.DataFrame, path: str) -> pl.DataFrame:
    """The words that lie in a segment, with its utterance."""
    recordings = segments.select("file", "channel").unique()
    known = words.join(recordings, on=("file", "channel"), how="semi", maintain_order="left")
    if known.is_empty():
        raise InputError("none of its recordings is in the references.", place=Place(file=path))
    return (
        known.join_asof(
            segments.select("file", "channel", "begin", "end", "utt_id").sort("begin"),
            left_on="middle",
            right_on="begin",
            by=("file", "channel"),
            strategy="backward",
            check_sortedness=False,
        )
        .filter(pl.col("middle") < pl.col("end"))
        .sort("file", "channel", "middle", maintain_order=True)
    )


def read_transcripts(reference: str, outputs: Sequence[str]) -> tuple[pl.DataFrame, list[str]] | None:
    """A table `utt_id, system, ref, hyp` with what is known of speakers, and notes; None for plain text.

    A Kaldi data folder goes with files in the format of its `text`, an `stm` with `ctm`, a `trn` with `trn`.
    """
    for path in (reference, *outputs):
        check_path(path)
    if is_kaldi(reference):
        return read_kaldi(reference, outputs), []
    if is_stm(reference):
        return read_ctm_pairs(reference, outputs)
    if is_trn(reference):
        return read_trn_pairs(reference, outputs), []
    return None


def read_lines(path: str) -> list[str]:
    """The lines of a text file, split at LF alone; a line may be empty."""
    content = read_bytes(path)
    if not content:
        raise InputError("the file is empty.", place=Place(file=path, line=1))
    text = decode_text(content, path) if content.strip() else content.decode()
    return text.removesuffix("\n").split("\n")


def read_parallel(
    references: Sequence[str], hypotheses: Sequence[str], source: str | None = None
) -> pl.DataFrame:
    """A table `seg_id, system, output, ref1, ref2 …, source` from parallel files; lengths must agree."""
    if not references or not hypotheses:
        raise InputError("the plain-text form needs --reference FILE and --hypothesis FILE….")
    streams = [read_lines(path) for path in references]
    size, first = len(streams[0]), references[0]
    segments = {f"ref{number}": lines for number, lines in enumerate(streams, start=1)}
    if source is not None:
        segments["source"] = read_lines(source)
    for path, lines in zip([*references, source or ""], segments.values()):
        _check_length(path, lines, size, first)
    names = ["standard input" if path == "-" else file_stem(path) for path in hypotheses]
    tables = []
    for path, name in zip(hypotheses, names):
        if names.count(name) > 1:
            raise InputError(
                f"two hypothesis files are called {name}.",
                place=Place(file=path),
                remedy="Rename one of them.",
            )
        lines = read_lines(path)
        _check_length(path, lines, size, first)
        columns = {"seg_id": list(range(1, size + 1)), "system": [name] * size, "output": lines, **segments}
        tables.append(pl.DataFrame(columns))
    return pl.concat(tables)


def _check_length(path: str, lines: list[str], size: int, reference: str) -> None:
    if len(lines) != size:
        raise InputError(
            f"{len(lines)} lines, but {display_path(reference)} has {size}.",
            place=Place(file=path),
            remedy="Line n of every file must belong to segment n.",
        )
