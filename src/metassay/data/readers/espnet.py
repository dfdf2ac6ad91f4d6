"""Reader of ESPnet's results: folders `SYSTEM/TESTSET/score_wer` with `ref.trn` and `hyp.trn`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metassay.data.readers.base import Reader
from metassay.data.readers.trn import read_trn_transcripts
from metassay.errors import InputError, InputLocation
from metassay.tasks import asr

# Holds transcripts split into words; `score_cer` and `score_ter` hold the same ones split otherwise.
SCORE_FOLDER = "score_wer"
# Results lie in SYSTEM/TESTSET/score_wer; a folder around several systems may be given, too.
_MAXIMUM_DEPTH = 4


class EspnetReader(Reader):
    """Reader of the results of ESPnet, a toolkit for speech recognition."""

    name = "espnet"
    files = "a folder"
    summary = "results: SYSTEM/TESTSET/score_wer/{ref,hyp}.trn"
    task = asr.TASK.name

    def sniff(self, path: str) -> bool:
        """Return whether a folder, or a folder up to four levels below it, has a result of ESPnet."""
        return Path(path).is_dir() and bool(_find_result_folders(Path(path)))

    def read(self, path: str) -> pl.DataFrame:
        """Read every result in a folder into one table `utt_id, system, ref, hyp, testset, speaker_id`.

        ESPnet writes utterances as `(speaker-utterance)`, so the speaker is split off.
        """
        results = _find_result_folders(Path(path))
        if not results:
            raise InputError(
                f"there is no {SCORE_FOLDER}/hyp.trn in this folder.", location=InputLocation(file=path)
            )
        tables = []
        for result in results:
            test_set = result.parent.name
            system = result.parent.parent.name or test_set
            table = read_trn_transcripts(str(result / "ref.trn"), [str(result / "hyp.trn")])
            tables.append(table.with_columns(system=pl.lit(system), testset=pl.lit(test_set)))
        return pl.concat(tables, how="diagonal_relaxed")


def _find_result_folders(folder: Path) -> list[Path]:
    """Find all folders inside a folder that contain both reference and output transcripts, sorted."""
    candidates: set[Path] = set()
    for depth in range(_MAXIMUM_DEPTH):
        candidates.update(folder.glob(f"{'*/' * depth}{SCORE_FOLDER}"))
    if folder.name == SCORE_FOLDER:
        candidates.add(folder)
    return sorted(
        path for path in candidates if (path / "ref.trn").is_file() and (path / "hyp.trn").is_file()
    )
