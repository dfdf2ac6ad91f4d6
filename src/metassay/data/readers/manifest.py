"""Speech manifests: JSON lines with the recording, its transcript and what a recogniser made of it."""

from __future__ import annotations

import json
from pathlib import PurePath

import polars as pl

from metassay.data.readers.files import opening, plain_name, read_text
from metassay.data.readers.jsonlines import parse_json_lines
from metassay.errors import InputError, Place

RECORDING = ("audio_filepath", "audio_file", "audio", "wav", "path")
ID = ("utt_id", "utterance", "id", "key")
REFERENCE = ("text", "reference", "ref", "transcript", "sentence")
OUTPUT = ("pred_text", "prediction", "hypothesis", "hyp", "output")
SPEAKER = ("speaker_id", "speaker", "spk")


def sniff(path: str) -> bool:
    """Whether the file is JSON lines whose objects name a recording, a transcript and an output."""
    lines = opening(path)[:1]
    if not lines or not lines[0].lstrip().startswith("{"):
        return False
    try:
        keys = set(json.loads(lines[0]))
    except (ValueError, RecursionError):
        return False
    return all(keys & set(names) for names in (RECORDING, REFERENCE, OUTPUT))


def read_manifest(path: str) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp` and whatever else the manifest says.

    Knows the names that NeMo and others use (`audio_filepath`, `text`, `pred_text` …). Without an id the
    recording's file name is the utterance; without a system the manifest's own name.
    """
    table = parse_json_lines(read_text(path), file=path)
    names = {role: _first(table, choices) for role, choices in (("ref", REFERENCE), ("hyp", OUTPUT))}
    for role, name in names.items():
        if name is None:
            choices = ", ".join(REFERENCE if role == "ref" else OUTPUT)
            raise InputError(f"no key holds the {role} (looked for {choices}).", place=Place(file=path))
    own_id, recording = _first(table, ID), _first(table, RECORDING)
    if own_id is None and recording is None:
        raise InputError("the objects have neither an id nor a recording.", place=Place(file=path))
    ids = (
        table[own_id] if own_id else pl.Series([PurePath(str(file)).stem for file in table[recording or ""]])
    )
    made = {
        "utt_id": ids.cast(pl.String),
        "system": table["system"] if "system" in table.columns else _constant(plain_name(path), table.height),
        "ref": table[str(names["ref"])],
        "hyp": table[str(names["hyp"])],
    }
    speaker = _first(table, SPEAKER)
    if speaker is not None:
        made["speaker_id"] = table[speaker].cast(pl.String)
    taken = {own_id, recording, speaker, "system", *names.values()}
    rest = [name for name in table.columns if name not in taken and name not in made]
    return pl.DataFrame([series.alias(name) for name, series in made.items()]).hstack(table.select(rest))


def _first(table: pl.DataFrame, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in table.columns), None)


def _constant(value: str, size: int) -> pl.Series:
    return pl.Series([value]).new_from_index(0, size)
