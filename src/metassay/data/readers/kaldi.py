"""Kaldi's files `text`, in which each line is `utterance words …`, and its data folders, which also have
`utt2spk` and `spk2gender`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metassay.data.readers.files import is_pipe, read_first_lines_without_comments, read_text
from metassay.data.readers.utterances import GENDERS, build_utterance_table, join_system_outputs
from metassay.errors import InputError, InputLocation

# An id has a digit and a letter, `-` or `_`, as in `1089-134686-0000`. Numbers in lists (`1.`) are no ids.
_UTTERANCE_ID = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z_-])[\w.-]*\w")


def is_kaldi_folder(path: str) -> bool:
    """Return whether a folder is a data folder of the speech recognition toolkit Kaldi, with the files `text`
    and `utt2spk`.
    """
    return (Path(path) / "text").is_file() and (Path(path) / "utt2spk").is_file()


def are_kaldi_texts(reference: str, outputs: Sequence[str]) -> bool:
    """Return whether each line of some files begins with the id of an utterance, as in Kaldi's files `text`.

    The ids are distinct in the reference, and the outputs have no others.
    """
    # A pipe can be read only once.
    if not outputs or any(is_pipe(path) or not Path(path).is_file() for path in (reference, *outputs)):
        return False
    # Most files are recognised as something else by their beginning, without reading all of them.
    first_words = _list_first_words(read_first_lines_without_comments(reference))
    if not first_words or not all(map(_UTTERANCE_ID.fullmatch, first_words)):
        return False
    reference_ids = _list_first_words(read_text(reference).split("\n"))
    known_ids = set(reference_ids)
    if len(known_ids) < max(len(reference_ids), 2) or not all(map(_UTTERANCE_ID.fullmatch, known_ids)):
        return False
    return all(known_ids.issuperset(_list_first_words(read_text(path).split("\n"))) for path in outputs)


def _list_first_words(lines: Sequence[str]) -> list[str]:
    """List the first word of each line that is not blank."""
    return [line.split(maxsplit=1)[0] for line in lines if line.strip()]


def read_kaldi_transcripts(reference: str, outputs: Sequence[str]) -> pl.DataFrame:
    """Read transcripts of references and systems in the format of Kaldi into a table `utt_id, system, ref,
    hyp`, with `speaker_id` and `gender` if these are known.

    The reference and each output is a file in the format of `text`, or a folder with such a file; the name of
    an output is the system.
    """
    read_references = _read_kaldi_folder if is_kaldi_folder(reference) else read_kaldi_text
    references = read_references(reference)
    tables = {}
    for path in outputs:
        file = str(Path(path) / "text") if Path(path).is_dir() else path
        tables[path] = read_kaldi_text(file)
    return join_system_outputs(references, tables)


def _read_kaldi_folder(folder: str) -> pl.DataFrame:
    """Read the references in a data folder into a table `utt_id, text, line, speaker_id, gender`."""
    references = read_kaldi_text(str(Path(folder) / "text"))
    references = references.with_columns(_read_speakers(folder, references["utt_id"]))
    gender_file = Path(folder) / "spk2gender"
    if gender_file.is_file():
        codes = _read_key_value_lines(gender_file)
        genders = {speaker: GENDERS.get(code.lower(), code) for speaker, code in codes.items()}
        column = [genders.get(speaker) for speaker in references["speaker_id"]]
        references = references.with_columns(pl.Series("gender", column, dtype=pl.String))
    return references


def read_kaldi_text(path: str) -> pl.DataFrame:
    """Read a Kaldi file, which has an utterance id and its words on each line, into a table `utt_id, text,
    line`.
    """
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            utterance, *words = line.split(maxsplit=1)
            rows.append((utterance, words[0].strip() if words else "", number))
    return build_utterance_table(rows, path)


def _read_speakers(folder: str, utterance_ids: pl.Series) -> pl.Series:
    """Return the speaker of each utterance. An utterance without a speaker is an error, as in Kaldi's own
    tools.
    """
    path = Path(folder) / "utt2spk"
    speakers = _read_key_value_lines(path)
    for utterance in utterance_ids:
        if utterance not in speakers:
            raise InputError(f"utterance {utterance} has no speaker.", location=InputLocation(file=str(path)))
    return pl.Series("speaker_id", [speakers[utterance] for utterance in utterance_ids], dtype=pl.String)


def _read_key_value_lines(path: Path) -> dict[str, str]:
    """Read a file in which each line has a key and its value into a dictionary."""
    mapping: dict[str, str] = {}
    for number, line in enumerate(read_text(str(path)).split("\n"), start=1):
        words = line.split()
        if not words:
            continue
        location = InputLocation(file=str(path), line=number)
        if words[0] in mapping:
            raise InputError(f"{words[0]} is there twice.", location=location)
        if len(words) != 2:
            raise InputError("two words were expected.", location=location)
        mapping[words[0]] = words[1]
    return mapping
