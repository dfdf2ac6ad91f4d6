"""sclite's `trn`: one transcript a line, its utterance in parentheses at the end."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import read_text
from metassay.data.readers.opening import opening
from metassay.data.readers.utterances import side_by_side, utterances
from metassay.errors import InputError, Place

_LINE = re.compile(r"(?P<text>.*?)\s*\((?P<id>[^()\s]+)\)\s*")
_ALTERNATIVES = re.compile(r"\{[^{}]*/[^{}]*\}")


def sniff(path: str) -> bool:
    """Whether every line of the file's beginning ends with an utterance in parentheses."""
    lines = opening(path)[:20]
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


def read_trn(path: str) -> pl.DataFrame:
    """A table `utt_id, text, line`; lines that start with `;;` are comments.

    Alternative transcripts (`{ a / b }`) are refused: metrics compare with one text.
    """
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise InputError(
                "the line does not end with its utterance in parentheses.",
                place=Place(file=path, line=number),
                remedy="A line of a trn file is: words of the transcript (utterance).",
            )
        if _ALTERNATIVES.search(found["text"]):
            raise InputError(
                "alternative transcripts ({ a / b }) cannot be scored.",
                place=Place(file=path, line=number),
                remedy="Keep one of them.",
            )
        rows.append((found["id"], found["text"].strip(), number))
    return utterances(rows, path)


def read_trn_pairs(reference: str, outputs: Sequence[str]) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp, speaker_id` from a reference and the outputs of systems.

    The speaker is what precedes the first `-` or `_` of the utterance, as sclite's `-i rm` reads it.
    """
    references = read_trn(reference)
    speakers = references["utt_id"].str.extract(r"^([^-_]+)[-_]")
    if not speakers.has_nulls():
        references = references.with_columns(speakers.alias("speaker_id"))
    return side_by_side(references, {path: read_trn(path) for path in outputs})
