"""The folders that users of mt-metrics-eval have on disk, as one table of scores per language pair.

    TESTSET/documents/LP.docs                     domain and document of each segment
    TESTSET/human-scores/LP.NAME.seg.score        system and score, `None` where unrated
    TESTSET/human-scores/LP.mqm*.seg.rating       system and marked errors, used where there is no mqm score
    TESTSET/metric-scores/LP/METRIC-REF.seg.score the same for a metric; REF is the reference used, or `src`
    TESTSET/references, system-outputs            the texts

A score file lists the segments of one system after those of another; line n of a system is segment n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from metassay.data import cells
from metassay.data.readers.files import read_text
from metassay.data.readers.mqm_ratings import check_lengths, read_rating_file
from metassay.errors import InputError, Place, UnknownName

STANDARD_REFERENCES = {
    ("wmt21.news", "en-de"): "refC",
    ("wmt21.news", "zh-en"): "refB",
    ("wmt23", "he-en"): "refB",
}
"""The shared tasks' standard reference where it is not `refA`."""
SOURCE_ONLY = "src"
HUMAN_NAMES = {"da-sqm": "da_sqm", "wmt-z": "da"}


@dataclass(frozen=True)
class ScoreTree:
    """The scores of one language pair: a row per system and segment, and what could not be used."""

    frame: pl.DataFrame
    notes: tuple[str, ...]


def is_score_tree(folder: str | Path) -> bool:
    """Whether a folder is a test set in this layout, or holds some."""
    return bool(_test_sets(Path(folder)))


def read_score_trees(folder: str | Path, *, reference: Sequence[str] = ()) -> list[ScoreTree]:
    """All language pairs that have human and metric scores; `reference` names references to use instead."""
    found = []
    test_sets = _test_sets(Path(folder))
    for test_set in test_sets:
        for scores in sorted(path for path in (test_set / "metric-scores").iterdir() if path.is_dir()):
            if list((test_set / "human-scores").glob(f"{scores.name}.*.seg.[sr]*")):
                tree = _read_pair(test_set, scores.name, reference)
                if len(test_sets) > 1:
                    tree = ScoreTree(tree.frame.with_columns(testset=pl.lit(test_set.name)), tree.notes)
                found.append(tree)
    if not found:
        raise InputError(
            "no language pair has human and metric scores per segment.", place=Place(str(folder))
        )
    return found


def _test_sets(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    candidates = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    return [
        path for path in candidates if (path / "metric-scores").is_dir() and (path / "human-scores").is_dir()
    ]


def _read_pair(test_set: Path, lp: str, wanted: Sequence[str]) -> ScoreTree:
    base = _segments(test_set / "documents" / f"{lp}.docs", lp)
    available = {path.name.removesuffix(".seg.score"): path for path in _files(test_set, lp, "seg")}
    chosen = _references(test_set, lp, available, wanted)
    used = {
        name: path for name, path in available.items() if name.rpartition("-")[2] in {*chosen, SOURCE_ONLY}
    }
    frames = _human_scores(test_set / "human-scores", lp, base.height)
    frames += [_scores(path, name, base.height) for name, path in used.items()]
    frame = frames[0]
    for other in frames[1:]:
        frame = frame.join(other, on=["system", "seg_id"], how="full", coalesce=True)
    frame = base.join(frame.sort("system", "seg_id"), on="seg_id").sort("system", "seg_id")
    notes = [f"{lp}: metrics that use {', '.join(chosen)} or the source alone."]
    if only := _system_scores_only(test_set, lp, available, chosen):
        notes.append(f"{lp}: not rankable by segment, since they have system scores only: {', '.join(only)}.")
    return ScoreTree(_with_texts(frame, test_set, lp, chosen, base.height), tuple(notes))


def _segments(path: Path, lp: str) -> pl.DataFrame:
    """Segment, domain and document, from the `.docs` file."""
    lines = _lines(path)
    parts = [line.split("\t") for line in lines]
    for number, part in enumerate(parts, start=1):
        if len(part) < 2:
            raise InputError("domain and document were expected.", place=Place(str(path), line=number))
    return pl.DataFrame(
        {
            "lp": [lp] * len(parts),
            "seg_id": list(range(1, len(parts) + 1)),
            "domain": [part[0] for part in parts],
            "doc_id": [part[1] for part in parts],
        }
    )


def _human_scores(folder: Path, lp: str, segments: int) -> list[pl.DataFrame]:
    """A frame per human score; MQM that is there as marked errors alone is computed from them."""
    found: dict[str, pl.DataFrame] = {}
    for path in sorted(folder.glob(f"{lp}.*.seg.score")):
        name = path.name.removeprefix(f"{lp}.").removesuffix(".seg.score")
        name = HUMAN_NAMES.get(name, name)
        found[name] = _scores(path, name, segments)
    for path in sorted(folder.glob(f"{lp}.mqm*.seg.rating")):
        found.setdefault("mqm", read_rating_file(path, segments))
    return list(found.values())


def _scores(path: Path, name: str, segments: int) -> pl.DataFrame:
    """`system, seg_id` and the scores under `name`."""
    systems, values = [], []
    for number, line in enumerate(_lines(path), start=1):
        system, tab, value = line.partition("\t")
        if not tab:
            raise InputError(
                "a system, a tab and a score were expected.", place=Place(str(path), line=number)
            )
        systems.append(system)
        values.append(value)
    frame = pl.DataFrame({"system": systems, name: cells.scores(pl.Series(name, values), str(path))})
    check_lengths(systems, segments, path, "scores")
    return frame.with_columns(seg_id=pl.int_range(1, pl.len() + 1).over("system"))


def _files(test_set: Path, lp: str, level: str) -> list[Path]:
    return sorted((test_set / "metric-scores" / lp).glob(f"*.{level}.score"))


def _references(test_set: Path, lp: str, available: dict[str, Path], wanted: Sequence[str]) -> list[str]:
    known = sorted({name.rpartition("-")[2] for name in available} - {SOURCE_ONLY})
    for name in wanted:
        if name not in known:
            raise UnknownName("reference", name, known)
    if wanted or not known:
        return list(wanted)
    standard = STANDARD_REFERENCES.get((test_set.name, lp), "refA")
    return [standard if standard in known else known[0]]


def _system_scores_only(
    test_set: Path, lp: str, available: dict[str, Path], chosen: Sequence[str]
) -> list[str]:
    names = [path.name.removesuffix(".sys.score") for path in _files(test_set, lp, "sys")]
    kept = {*chosen, SOURCE_ONLY}
    return [name for name in names if name not in available and name.rpartition("-")[2] in kept]


def _with_texts(
    frame: pl.DataFrame, test_set: Path, lp: str, chosen: Sequence[str], segments: int
) -> pl.DataFrame:
    """The scores with source, references and outputs, as far as the folder holds them."""
    by_segment = {"src": test_set / "sources" / f"{lp}.txt"}
    for number, name in enumerate(chosen, start=1):
        by_segment["ref" if len(chosen) == 1 else f"ref{number}"] = (
            test_set / "references" / f"{lp}.{name}.txt"
        )
    for column, path in by_segment.items():
        if path.exists():
            texts = _texts(path, segments)
            frame = frame.join(texts.rename({"text": column}), on="seg_id", how="left", maintain_order="left")
    outputs = [
        _texts(path, segments).with_columns(system=pl.lit(path.stem))
        for path in sorted((test_set / "system-outputs" / lp).glob("*.txt"))
    ]
    if not outputs:
        return frame
    texts = pl.concat(outputs).rename({"text": "hyp"})
    return frame.join(texts, on=["system", "seg_id"], how="left", maintain_order="left")


def _texts(path: Path, segments: int) -> pl.DataFrame:
    """`seg_id, text` of a file with a line per segment."""
    lines = _lines(path)
    if len(lines) != segments:
        raise InputError(
            f"there are {len(lines)} lines, but the test set has {segments} segments.", place=Place(str(path))
        )
    return pl.DataFrame({"seg_id": pl.int_range(1, segments + 1, eager=True), "text": lines})


def _lines(path: Path) -> list[str]:
    return read_text(str(path)).removesuffix("\n").split("\n")
