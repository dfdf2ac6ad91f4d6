"""NIST's `ctm`: recognised words in time, `file channel begin duration word [confidence]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import read_text
from metassay.data.readers.opening import opening
from metassay.data.readers.stm import read_stm
from metassay.data.readers.utterances import side_by_side
from metassay.errors import InputError, Place

_TIME = r"\d+(?:\.\d*)?|\.\d+"
_LINE = re.compile(
    rf"\s*(?P<file>\S+)\s+(?P<channel>\S+)\s+(?P<begin>{_TIME})\s+(?P<duration>{_TIME})\s+(?P<word>\S+)"
    r"(?:\s+(?P<confidence>[-+.\deE]+|NA))?(?:\s+\S+)*\s*"
)
_ALTERNATIVES = re.compile(r"<ALT(?:_BEGIN|_END)?>", re.IGNORECASE)
SCHEMA = {"file": pl.String, "channel": pl.String, "middle": pl.Float64, "word": pl.String, "line": pl.Int64}


def sniff(path: str) -> bool:
    """Whether the file starts with words in time."""
    lines = opening(path)[:20]
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


def read_ctm(path: str) -> pl.DataFrame:
    """A table `file, channel, middle, word, line`: each word with the middle of its time, in order."""
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith((";;", "#")):
            continue
        found = _LINE.fullmatch(line)
        if found is None or _ALTERNATIVES.fullmatch(found["word"]):
            what = "alternatives cannot be scored" if found else "this is not a word in time"
            raise InputError(
                f"{what}.",
                place=Place(file=path, line=number),
                remedy="A line of a ctm file is: file channel begin duration word [confidence].",
            )
        middle = float(found["begin"]) + float(found["duration"]) / 2
        rows.append((found["file"], found["channel"], middle, found["word"], number))
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
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
                f"{path}: {words.height - placed.height} words lie outside all segments and are left out."
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
