"""Kaldi data folders: `text` (`utterance words …`), with `utt2spk` and `spk2gender` where they are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metassay.data.readers.files import read_text
from metassay.data.readers.utterances import side_by_side, utterances
from metassay.errors import InputError, Place

_GENDERS = {"m": "male", "f": "female", "male": "male", "female": "female"}


def sniff(path: str) -> bool:
    """Whether this is a folder with `text` and `utt2spk`."""
    return (Path(path) / "text").is_file() and (Path(path) / "utt2spk").is_file()


def read_kaldi_text(path: str) -> pl.DataFrame:
    """A table `utt_id, text, line` from a file of `utterance words …`; no words is an empty transcript."""
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            utterance, *words = line.split(maxsplit=1)
            rows.append((utterance, words[0].strip() if words else "", number))
    return utterances(rows, path)


def read_kaldi(folder: str, outputs: Sequence[str]) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp, speaker_id, gender` from a data folder and files of outputs.

    An output is a file in the format of `text`, or a folder that holds one (its name is then the system).
    """
    references = read_kaldi_text(str(Path(folder) / "text"))
    references = references.with_columns(_speakers(folder, references["utt_id"]))
    genders = Path(folder) / "spk2gender"
    if genders.is_file():
        table = {name: _GENDERS.get(value.lower(), value) for name, value in _mapping(genders).items()}
        column = [table.get(speaker) for speaker in references["speaker_id"]]
        references = references.with_columns(pl.Series("gender", column, dtype=pl.String))
    tables = {}
    for path in outputs:
        file = str(Path(path) / "text") if Path(path).is_dir() else path
        tables[path] = read_kaldi_text(file)
    return side_by_side(references, tables)


def _speakers(folder: str, ids: pl.Series) -> pl.Series:
    """The speaker of each utterance; one without is an error, since Kaldi's own tools refuse it too."""
    path = Path(folder) / "utt2spk"
    table = _mapping(path)
    for utterance in ids:
        if utterance not in table:
            raise InputError(f"utterance {utterance} has no speaker.", place=Place(file=str(path)))
    return pl.Series("speaker_id", [table[utterance] for utterance in ids], dtype=pl.String)


def _mapping(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(str(path)).split("\n"), start=1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or words[0] in found:
            what = f"{words[0]} is there twice" if words[0] in found else "two words were expected"
            raise InputError(f"{what}.", place=Place(file=str(path), line=number))
        found[words[0]] = words[1]
    return found
