"""References and outputs of speech recognisers in separate files, in whatever format the reference is."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from metassay.data.readers import ctm, kaldi, stm, trn


def read_transcripts(reference: str, outputs: Sequence[str]) -> tuple[pl.DataFrame, list[str]] | None:
    """A table `utt_id, system, ref, hyp` with what is known of speakers, and notes; None for plain text.

    A Kaldi data folder goes with files in the format of its `text`, an `stm` with `ctm`, a `trn` with `trn`.
    """
    if kaldi.sniff(reference):
        return kaldi.read_kaldi(reference, outputs), []
    if stm.sniff(reference):
        return ctm.read_ctm_pairs(reference, outputs)
    if trn.sniff(reference):
        return trn.read_trn_pairs(reference, outputs), []
    return None
