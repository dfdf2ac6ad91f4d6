"""The folders that users of mt-metrics-eval have on disk, as one table of scores per language pair.

    TESTSET/documents/LP.docs                     domain and document of each segment
    TESTSET/human-scores/LP.NAME.seg.score        system and score, `None` where unrated; any number of NAMEs
    TESTSET/human-scores/LP.NAME.doc.score        the same by document, used where nobody scored segments
    TESTSET/human-scores/LP.mqm*.seg.rating       system and marked errors, used where there is no mqm score
    TESTSET/metric-scores/LP/METRIC-REF.seg.score the same for a metric; REF is the reference used, or `src`
    TESTSET/references, sources, system-outputs   the texts: `.txt`, or as of WMT25 `.jsonl`
    TESTSET/metadata/LP/SYSTEM.jsonl              an object per segment: what else is known of each output

A score file lists the segments of one system after those of another; line n of a system is segment n. What
lies in human-scores was given by people, whatever its name; nothing in metadata is a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from metassay.data import cells
from metassay.data.readers.error_spans import read_spans
from metassay.data.readers.mqm_ratings import check_lengths, read_rating_file
from metassay.data.readers.mt_metrics_eval_texts import KEY, lines_of, with_metadata, with_texts
from metassay.errors import InputError, Place, UnknownName, join_names

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
    """The scores of one language pair: a row per system and segment, and what could not be used.

    `human` names the columns that people gave, `described` those that tell something and measure nothing.
    """

    frame: pl.DataFrame
    notes: tuple[str, ...]
    human: tuple[str, ...] = ()
    described: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Pair:
    """One language pair of one test set, and the segments it has."""

    test_set: Path
    lp: str
    base: pl.DataFrame

    @property
    def segments(self) -> int:
        return self.base.height

    @property
    def documents(self) -> pl.DataFrame:
        """A row per document, in their order: `doc_id` and its number."""
        return self.base.select(pl.col("doc_id").unique(maintain_order=True)).with_row_index("_doc", offset=1)

    def human(self, level: str) -> dict[str, Path]:
        """The files of human scores of a level, by the name of the score."""
        return {
            HUMAN_NAMES.get(name, name): path
            for path in sorted((self.test_set / "human-scores").glob(f"{self.lp}.*.{level}.score"))
            for name in [path.name.removeprefix(f"{self.lp}.").removesuffix(f".{level}.score")]
        }

    def metrics(self, level: str) -> dict[str, Path]:
        """The files of metric scores of a level, by METRIC-REF."""
        files = sorted((self.test_set / "metric-scores" / self.lp).glob(f"*.{level}.score"))
        return {path.name.removesuffix(f".{level}.score"): path for path in files}


def is_score_tree(folder: str | Path) -> bool:
    """Whether a folder is a test set in this layout, or holds some."""
    return bool(_test_sets(Path(folder)))


def read_score_trees(folder: str | Path, *, reference: Sequence[str] = ()) -> list[ScoreTree]:
    """All language pairs that have human and metric scores; `reference` names references to use instead."""
    found = []
    test_sets = _test_sets(Path(folder))
    for test_set in test_sets:
        for scores in sorted(path for path in (test_set / "metric-scores").iterdir() if path.is_dir()):
            rated = (test_set / "human-scores").glob(f"{scores.name}.*")
            if any(path.name.endswith((".seg.score", ".doc.score", ".seg.rating")) for path in rated):
                tree = _read_pair(test_set, scores.name, reference)
                if len(test_sets) > 1:
                    tree = replace(tree, frame=tree.frame.with_columns(testset=pl.lit(test_set.name)))
                found.append(tree)
    if not found:
        raise InputError(
            "no language pair has human and metric scores per segment.", place=Place(str(folder))
        )
    return found


def read_marked_trees(
    folder: str | Path, human: str | None = None, *, reference: Sequence[str] = ()
) -> list[tuple[pl.DataFrame, dict[str, pl.DataFrame]]]:
    """Of each language pair the errors that people marked, with texts, and by metric those that metrics did.

    Of several rating files of people that of `human` is read, else the first.
    """
    found, test_sets = [], _test_sets(Path(folder))
    for test_set in test_sets:
        for scores in sorted(path for path in (test_set / "metric-scores").iterdir() if path.is_dir()):
            lp = scores.name
            files = sorted((test_set / "human-scores").glob(f"{lp}.*.seg.rating"))
            named = [path for path in files if human and path.name.startswith(f"{lp}.{human}.")]
            if files:
                pair = _Pair(test_set, lp, _segments(test_set / "documents" / f"{lp}.docs", lp))
                people = _marked(pair, [*named, *files][0], _references(pair, reference))
                if len(test_sets) > 1:
                    people = people.with_columns(testset=pl.lit(test_set.name))
                marks = sorted(scores.glob("*.seg.rating"))
                own = {path.name.removesuffix(".seg.rating"): read_spans(str(path)) for path in marks}
                found.append((people, own))
    return found


def _marked(pair: _Pair, path: Path, chosen: Sequence[str]) -> pl.DataFrame:
    """A row per rated output: its spans, document, domain and texts."""
    spans = read_spans(str(path)).with_columns(pl.col("seg_id").cast(pl.Int64))
    frame = spans.join(pair.base, on="seg_id", how="left", maintain_order="left")
    frame = with_texts(frame, pair.test_set, pair.lp, chosen, pair.segments)
    return frame.with_columns(pl.col("seg_id").cast(pl.String))


def _test_sets(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    candidates = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    return [
        path for path in candidates if (path / "metric-scores").is_dir() and (path / "human-scores").is_dir()
    ]


def _read_pair(test_set: Path, lp: str, wanted: Sequence[str]) -> ScoreTree:
    pair = _Pair(test_set, lp, _segments(test_set / "documents" / f"{lp}.docs", lp))
    chosen = _references(pair, wanted)
    people, notes = _human_scores(pair)
    if not people:
        return _by_document(pair, chosen)
    frame = _joined([*people.values(), *_metric_scores(pair, chosen)])
    frame = pair.base.join(frame.sort(KEY), on="seg_id").sort(KEY)
    frame, described = with_metadata(
        with_texts(frame, pair.test_set, pair.lp, chosen, pair.segments),
        pair.test_set,
        pair.lp,
        pair.segments,
    )
    return ScoreTree(frame, (*_metric_notes(pair, chosen), *notes), tuple(people), described)


def _segments(path: Path, lp: str) -> pl.DataFrame:
    """Segment, domain and document, from the `.docs` file."""
    parts = [line.split("\t") if "\t" in line else line.split() for line in lines_of(path)]
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


def _human_scores(pair: _Pair) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """A frame per human score, and a note on those by document alone.

    MQM that is there as marked errors alone is computed from them.
    """
    found = {name: _scores(path, name, pair.segments) for name, path in pair.human("seg").items()}
    for path in sorted((pair.test_set / "human-scores").glob(f"{pair.lp}.mqm*.seg.rating")):
        found.setdefault("mqm", read_rating_file(path, pair.segments))
    coarse = [name for name in pair.human("doc") if name not in found]
    beside = f"{pair.lp}: passed over, since people gave them by document only: {', '.join(coarse)}."
    return found, [beside] if coarse and found else []


def _metric_scores(pair: _Pair, chosen: Sequence[str]) -> list[pl.DataFrame]:
    used = {*chosen, SOURCE_ONLY}
    return [
        _scores(path, name, pair.segments)
        for name, path in pair.metrics("seg").items()
        if name.rpartition("-")[2] in used
    ]


def _metric_notes(pair: _Pair, chosen: Sequence[str]) -> list[str]:
    notes = [f"{pair.lp}: metrics that use {', '.join(chosen) or 'no reference'} or the source alone."]
    kept = {*chosen, SOURCE_ONLY}
    alone = [n for n in pair.metrics("sys") if n not in pair.metrics("seg") and n.rpartition("-")[2] in kept]
    if alone:
        listing = ", ".join(alone)
        notes.append(f"{pair.lp}: not rankable by segment, since they have system scores only: {listing}.")
    return notes


def _by_document(pair: _Pair, chosen: Sequence[str]) -> ScoreTree:
    """A row per system and document, where people scored documents: `seg_id` is the document's number.

    A metric without document scores has the mean of its segments' scores; texts are joined by line breaks.
    """
    documents, used = pair.documents, {*chosen, SOURCE_ONLY}
    people = {name: _scores(path, name, len(documents)) for name, path in pair.human("doc").items()}
    given = {n: path for n, path in pair.metrics("doc").items() if n.rpartition("-")[2] in used}
    frames = [_scores(path, name, len(documents)) for name, path in given.items()]
    number = pair.base.join(documents, on="doc_id", maintain_order="left").select("seg_id", "_doc")
    averaged = []
    for scores in _metric_scores(pair, chosen):
        (name,) = (column for column in scores.columns if column not in KEY)
        if name not in given:
            mean = (
                scores.join(number, on="seg_id")
                .group_by("system", "_doc", maintain_order=True)
                .agg(pl.col(name).mean())
            )
            frames.append(mean.rename({"_doc": "seg_id"}).with_columns(pl.col("seg_id").cast(pl.Int64)))
            averaged.append(name)
    frame = _joined([*people.values(), *frames])
    outputs = pair.base.join(frame.select("system").unique(), how="cross")
    text = with_texts(outputs, pair.test_set, pair.lp, chosen, pair.segments)
    written = [name for name in text.columns if name not in {*pair.base.columns, "system"}]
    whole = text.sort("system", "seg_id").group_by("system", "doc_id", maintain_order=True)
    parts = whole.agg(
        pl.col("lp", "domain").first(),
        *(pl.when(pl.col(n).is_not_null().all()).then(pl.col(n).str.join("\n")).first() for n in written),
    )
    places = documents.select("doc_id", seg_id=pl.col("_doc").cast(pl.Int64))
    frame = parts.join(places, on="doc_id").join(frame, on=KEY).sort(KEY)
    notes = [f"{pair.lp}: people scored documents, so that a row is a document, not a segment."]
    if averaged:
        listing = join_names(averaged)
        notes.append(f"{pair.lp}: documents have the mean of their segments' scores in {listing}.")
    return ScoreTree(frame, (*_metric_notes(pair, chosen), *notes), tuple(people))


def _joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    frame = frames[0]
    for other in frames[1:]:
        frame = frame.join(other, on=KEY, how="full", coalesce=True)
    return frame


def _scores(path: Path, name: str, units: int) -> pl.DataFrame:
    """`system, seg_id` and the scores under `name`."""
    systems, values = [], []
    for number, line in enumerate(lines_of(path), start=1):
        system, tab, value = line.partition("\t")
        if not tab:
            raise InputError(
                "a system, a tab and a score were expected.", place=Place(str(path), line=number)
            )
        systems.append(system)
        values.append(value)
    frame = pl.DataFrame({"system": systems, name: cells.scores(pl.Series(name, values), str(path))})
    check_lengths(systems, units, path, "scores")
    return frame.with_columns(seg_id=pl.int_range(1, pl.len() + 1).over("system"))


def _references(pair: _Pair, wanted: Sequence[str]) -> list[str]:
    """The references to use: those asked for, else the standard one of those that there are."""
    used = {name.rpartition("-")[2] for name in pair.metrics("seg")} - {SOURCE_ONLY}
    files = (pair.test_set / "references").glob(f"{pair.lp}.*.*")
    known = sorted(used | {path.name.removeprefix(f"{pair.lp}.").rpartition(".")[0] for path in files})
    for name in wanted:
        if name not in known:
            raise UnknownName("reference", name, known)
    if wanted or not known:
        return list(wanted)
    standard = STANDARD_REFERENCES.get((pair.test_set.name, pair.lp), "refA")
    return [standard if standard in known else known[0]]
