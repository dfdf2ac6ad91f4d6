"""Transcripts in sclite's `trn` format: lines of a transcript and its utterance in parentheses."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import read_first_lines_without_comments, read_text
from metassay.data.readers.utterances import build_utterance_table, join_system_outputs
from metassay.errors import InputError, InputLocation

_UTTERANCE_ID = re.compile(r"([^()\s]+)\)")
_ALTERNATIVES = re.compile(r"\{[^{}]*/[^{}]*\}")


def is_trn_file(path: str) -> bool:
    """Return whether lines of a file end with an utterance id in parentheses, as in NIST's `trn` format for
    transcripts.
    """
    lines = read_first_lines_without_comments(path)[:20]
    return bool(lines) and all(_split_id_from_transcript(line) for line in lines)


def read_trn_file(path: str) -> pl.DataFrame:
    """Read a file of transcripts in NIST's `trn` format into a table `utt_id, text, line`.

    Alternative transcripts (`{ a / b }`) are refused, because metrics compare with one text.
    """
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        location = InputLocation(file=path, line=number)
        utterance_and_text = _split_id_from_transcript(line)
        if utterance_and_text is None:
            raise InputError(
                "the line does not end with its utterance in parentheses.",
                location=location,
                remedy="A line of a trn file is: words of the transcript (utterance).",
            )
        utterance, text = utterance_and_text
        if _ALTERNATIVES.search(text):
            raise InputError(
                "alternative transcripts ({ a / b }) cannot be scored.",
                location=location,
                remedy="Keep one of them.",
            )
        rows.append((utterance, text, number))
    return build_utterance_table(rows, path)


def read_trn_transcripts(reference: str, outputs: Sequence[str]) -> pl.DataFrame:
    """Read the transcripts of a reference and of systems from `trn` files into a table `utt_id, system, ref,
    hyp, speaker_id`.

    The speaker is the part of the utterance before the first `-` or `_`, as in sclite's `-i rm`.
    """
    references = read_trn_file(reference)
    speakers = references["utt_id"].str.extract(r"^([^-_]+)[-_]")
    if not speakers.has_nulls():
        references = references.with_columns(speakers.alias("speaker_id"))
    return join_system_outputs(references, {path: read_trn_file(path) for path in outputs})


def _split_id_from_transcript(trn_line: str) -> tuple[str, str] | None:
    """Split a line into utterance id and transcript. Returns None if the line does not end with an id in
    parentheses.
    """
    if "(" not in trn_line:
        return None
    text, _, remainder = trn_line.rstrip().rpartition("(")
    match = _UTTERANCE_ID.fullmatch(remainder)
    return None if match is None else (match[1], text.strip())
