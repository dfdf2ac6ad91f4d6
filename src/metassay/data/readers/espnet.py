"""ESPnet result folders: `…/SYSTEM/TESTSET/score_wer/{ref.trn,hyp.trn}`, one pair per system and test set."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metassay.data.readers.utterances import read_trn_pairs
from metassay.errors import InputError, Place

SCORED = "score_wer"
"""The folder with transcripts in words; `score_cer` and `score_ter` hold the same split otherwise."""


def sniff(path: str) -> bool:
    """Whether a result of ESPnet lies in this folder, at most four levels down."""
    return Path(path).is_dir() and bool(_results(Path(path)))


def read_espnet(folder: str) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp, testset, speaker_id` of every result under a folder.

    The test set is the folder that holds `score_wer`, the system the one above it. ESPnet writes
    `(speaker-utterance)`: the speaker is split off the utterance.
    """
    results = _results(Path(folder))
    if not results:
        raise InputError(f"there is no {SCORED}/hyp.trn in this folder.", place=Place(file=folder))
    parts = []
    for result in results:
        testset = result.parent.name
        system = result.parent.parent.name or testset
        table = read_trn_pairs(str(result / "ref.trn"), [str(result / "hyp.trn")])
        parts.append(table.with_columns(system=pl.lit(system), testset=pl.lit(testset)))
    return pl.concat(parts, how="diagonal_relaxed")


def _results(folder: Path) -> list[Path]:
    """The scored folders, sorted."""
    patterns = [f"{'*/' * depth}{SCORED}" for depth in range(4)]
    found = {path for pattern in patterns for path in folder.glob(pattern)}
    if folder.name == SCORED:
        found.add(folder)
    return sorted(path for path in found if (path / "ref.trn").is_file() and (path / "hyp.trn").is_file())
