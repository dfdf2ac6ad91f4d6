"""Read references and outputs of speech recognition that stand in separate files."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import check_readable_path
from metassay.data.readers.kaldi import are_kaldi_texts, is_kaldi_folder, read_kaldi_transcripts
from metassay.data.readers.nist_transcripts import is_stm_file, read_stm_and_ctm_transcripts
from metassay.data.readers.trn import is_trn_file, read_trn_transcripts
from metassay.errors import format_path_for_user


def read_transcripts(reference: str, outputs: Sequence[str]) -> tuple[pl.DataFrame, list[str]] | None:
    """Read transcripts of a reference and of systems, written in the format of NIST (`stm`, `trn`) or Kaldi,
    into a table `utt_id, system, ref, hyp`.

    The format follows from the reference: a Kaldi folder, a Kaldi `text` file, an `stm` file (with outputs in
    `ctm`) or a `trn` file. Returns None if it is none of these.
    """
    for path in (reference, *outputs):
        check_readable_path(path)
    if is_kaldi_folder(reference):
        return read_kaldi_transcripts(reference, outputs), []
    if are_kaldi_texts(reference, outputs):
        note = f"{format_path_for_user(reference)}: the first word of each line was read as its utterance id."
        return read_kaldi_transcripts(reference, outputs), [note]
    if is_stm_file(reference):
        return read_stm_and_ctm_transcripts(reference, outputs)
    if is_trn_file(reference):
        return read_trn_transcripts(reference, outputs), []
    return None
