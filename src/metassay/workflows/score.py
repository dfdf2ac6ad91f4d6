"""`score`: metrics per segment and per system; `align`: outputs beside their references, word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from metassay.data.cells import sorted_ids
from metassay.data.dataset import Dataset
from metassay.data.normalisation import choose_normalisation
from metassay.data.preparation import prepare_dataset
from metassay.data.reference_systems import find_reference_systems
from metassay.data.score_cube import ScoreCube
from metassay.engine.batches import OutputRows
from metassay.engine.scoring import score_rows
from metassay.engine.workers import Progress, count_workers
from metassay.errors import InputError, UnknownName
from metassay.meta.aggregation.system_scores import (
    Resampling,
    bootstrap_means,
    corpus_scores,
    score_intervals,
)
from metassay.metrics.alignment import Alignment, align_with_fewest_edits
from metassay.metrics.base import Metric, Scores, StatisticsMetric
from metassay.metrics.selection import choose_metrics
from metassay.options import accept_options
from metassay.reporting.pages import Page
from metassay.reporting.score_pages import score_files, score_page
from metassay.reporting.tables import to_text
from metassay.reporting.wording import in_labels
from metassay.store.run_folder import RunFolder
from metassay.workflows.aggregate import TESTS, comparisons, cubes_of, row_statistics, score_statistics
from metassay.workflows.options import ScoreOptions, ScoreSettings
from metassay.workflows.read import Source, build_scoring_rows, ensure_dataset
from metassay.workflows.run_files import (
    SCHEMA_VERSION,
    Result,
    check_target,
    warnings_as_notes,
    write_table,
)

AGGREGATES = ("corpus", "segment", "bootstrap")


@dataclass(frozen=True, repr=False)
class ScoreResult(Result):
    """Scores of every output (`segments`) and of every system (`systems`)."""

    segments: pl.DataFrame
    systems: list[dict[str, Any]]
    comparisons: list[dict[str, Any]]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay score`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "systems": self.systems,
            "comparisons": self.comparisons,
            "notes": list(self.notes),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row per system and metric."""
        rows = [{name: value for name, value in row.items() if name != "official"} for row in self.systems]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_text(self, form: str) -> str:
        """The systems, then the comparisons if there are any, as `csv`, `latex` or `markdown`.

        >>> rows = [{"seg_id": 1, "system": "a", "hyp": "a red fox", "ref": "the red fox"}]
        >>> score(rows, metrics="wer").to_text("csv").splitlines()[0]
        'system,metric,signature,corpus,segment,bootstrap,low,high'
        """
        if form == "csv":
            systems, compared = self.to_frame().to_dicts(), self.comparisons
        else:
            systems, compared = in_labels([[_without_signature(r) for r in self.systems], self.comparisons])
        return "\n".join(to_text(table, form) for table in (systems, compared) if table or table is systems)

    def page(self) -> Page:
        """What a page shows of the scores and their comparisons."""
        return score_page(self.to_dict())


@accept_options(ScoreOptions)
def score(dataset: Dataset | Source, options: ScoreOptions) -> ScoreResult:
    """Score every output and every system.

    `aggregate` names any of corpus, segment and bootstrap; `test` (bootstrap or randomization) compares all
    pairs of systems; `per_segment` writes the long table of segment scores. Intervals are those of the first
    aggregation, over `resamples` resamples of segments. `out` is a folder for all of it.

    >>> rows = [{"seg_id": 1, "system": "a", "hyp": "the red fox ran off", "ref": "the red fox ran away"}]
    >>> [row["corpus"] for row in score(rows, metrics="ter").to_dict()["systems"]]
    [20.0]
    """
    for name in options.aggregate:
        if name not in AGGREGATES:
            raise UnknownName("aggregation", name, AGGREGATES)
    if options.test is not None and options.test not in TESTS:
        raise UnknownName("test", options.test, TESTS)
    data = prepare_dataset(
        ensure_dataset(dataset), normalize=options.normalize, keep_references=options.keep_references
    )
    if options.per_segment is not None:
        check_target(options.per_segment, data.input_files)
    chosen = choose_metrics(data, options.metrics, choose_normalisation(data, options.normalize))
    run = None if options.out is None else _open(options.out, data, options, chosen, options.seed)
    with warnings_as_notes() as notes:
        statistics, scores = _scored(chosen, build_scoring_rows(data), options.workers, options.progress)
    segments = _long_table(data, chosen, scores)
    if options.per_segment is not None:
        write_table(segments, options.per_segment)
    cubes = cubes_of(data, statistics, scores)
    several = len(cubes) > 1
    systems = [
        ({"group": cube.dataset} if several else {}) | row
        for metric in chosen
        for cube in cubes
        for row in _systems(cube, metric, options, options.seed, data)
    ]
    found = (
        comparisons(cubes, chosen, options.test, draws=options.draws, seed=options.seed, several=several)
        if options.test is not None
        else []
    )
    result = ScoreResult(segments, systems, found, (*data.notes, *_doubts(data), *notes))
    if run is not None:
        run.finish(score_files(result.to_dict(), result.to_frame(), segments))
    return result


def _open(
    out: str | Path, data: Dataset, asked: ScoreSettings, metrics: Sequence[Metric], seed: int
) -> RunFolder:
    """The run folder of these settings on this data; another run's is refused."""
    chosen = {"metrics": [metric.signature for metric in metrics], "seed": seed}
    configuration = {
        name: value for name, value in asked.to_dict(ScoreSettings).items() if name != "per_segment"
    } | chosen
    identity = {"command": "score", "configuration": configuration, "input": data.content_hash}
    return RunFolder.open(out, identity, data=data.fingerprint)


def _doubts(data: Dataset) -> list[str]:
    """A word on systems that are the reference itself."""
    own = find_reference_systems(data)
    said = "Scored as systems, though their outputs are the reference itself"
    return [f"{said}: {', '.join(own)}. Leave them out with --drop-references."] if own else []


def _scored(
    metrics: Sequence[Metric], rows: OutputRows, workers: int | None, progress: Progress | None
) -> tuple[dict[str, Scores], dict[str, Scores]]:
    """Statistics of the metrics that have them, and segment scores of all."""
    with_statistics = [metric for metric in metrics if isinstance(metric, StatisticsMetric)]
    others = [metric for metric in metrics if not isinstance(metric, StatisticsMetric)]
    statistics, scores = row_statistics(with_statistics, rows, workers=workers, progress=progress)
    if others:
        scored = score_rows(others, rows, workers=count_workers(workers), progress=progress)
        scores |= scored.scores
    return statistics, scores


def _long_table(data: Dataset, metrics: Sequence[Metric], scores: Mapping[str, Scores]) -> pl.DataFrame:
    """One row per output and metric, null where a score is undefined."""
    keys = data.outputs.select("item", "system")
    return pl.concat(
        keys.with_columns(
            pl.lit(metric.spec).alias("metric"), pl.Series("score", scores[metric.spec]).fill_nan(None)
        )
        for metric in metrics
    )


def _systems(
    cube: ScoreCube, metric: Metric, asked: ScoreSettings, seed: int, data: Dataset
) -> list[dict[str, Any]]:
    """The scores of each system of a test set, with the interval of the first aggregation asked for."""
    aggregate, resampling = asked.aggregate, Resampling(asked.resamples, seed=seed)
    corpora, bootstraps = [np.nan] * len(cube.systems), [np.nan] * len(cube.systems)
    if isinstance(metric, StatisticsMetric):
        corpora = corpus_scores(cube, metric).tolist()
        if "bootstrap" in aggregate:
            bootstraps = bootstrap_means(cube, metric, Resampling(seed=seed)).tolist()
    statistics, from_statistics = score_statistics(cube, metric, means=next(iter(aggregate), "") == "segment")
    low, high = score_intervals(statistics, from_statistics, cube.dataset, resampling)
    rows = []
    for k, system in enumerate(cube.systems):
        segment = _mean(cube.metric_scores[metric.spec][k])
        # of rankings, the mean over judged topics is what trec_eval prints as `all`
        corpus = segment if data.task_definition.is_ranking else _plain(corpora[k])
        found = {"corpus": corpus, "segment": segment, "bootstrap": _plain(bootstraps[k])}
        wanted = {name: value if name in aggregate else None for name, value in found.items()}
        rows.append({
            "system": system,
            "metric": metric.spec,
            "signature": metric.signature,
            **wanted,
            "low": _plain(low[k]),
            "high": _plain(high[k]),
            "official": _official(cube, metric, k, data),
        })  # fmt: skip
    return rows


def _official(cube: ScoreCube, metric: Metric, system: int, data: Dataset) -> dict[str, Any] | None:
    """What the official program prints beside the corpus score of a system."""
    if not isinstance(metric, StatisticsMetric) or "references" not in data.outputs.columns:
        return None
    counts = data.outputs["references"].list.len().unique()
    sums = np.nansum(cube.statistics[metric.spec][system], axis=0)
    official = metric.describe_official_score(sums, int(counts[0]) if len(counts) == 1 else -1)
    return None if official is None else msgspec.to_builtins(official)


def _without_signature(row: Mapping[str, Any]) -> dict[str, Any]:
    """Signatures are too wide for a page."""
    return {name: value for name, value in row.items() if name not in {"signature", "official"}}


def _mean(scores: Scores) -> float | None:
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if len(defined) else None


def _plain(score: float) -> float | None:
    return None if np.isnan(score) else float(score)


@dataclass(frozen=True, repr=False)
class AlignResult(Result):
    """Of each system, its items in their order, each with the words of both sides beside each other."""

    systems: Mapping[str, Mapping[str, Alignment]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay align`."""
        return {"schema_version": SCHEMA_VERSION, "alignments": self.to_frame().to_dicts()}

    def to_frame(self) -> pl.DataFrame:
        """`system, item, kind, reference, output`, a row for each word."""
        rows = [
            (system, item, step.kind, step.reference, step.output)
            for system, items in self.systems.items()
            for item, alignment in items.items()
            for step in alignment.steps
        ]
        names = ("system", "item", "kind", "reference", "output")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def align(
    dataset: Dataset | Source,
    *,
    characters: bool = False,
    normalize: str | None = None,
    out: str | Path | None = None,
) -> AlignResult:
    """Align each output with its reference, word by word (or character by character), by the fewest edits.

    Of several references the one with the fewest edits counts. `out` is a folder for the table and the JSON.

    >>> rows = [{"seg_id": 1, "system": "a", "hyp": "the fox ran off", "ref": "the red fox ran away"}]
    >>> align(rows).to_frame()["kind"].to_list()
    ['hit', 'deletion', 'hit', 'hit', 'substitution']
    """
    data = prepare_dataset(ensure_dataset(dataset), normalize=normalize, keep_references=True)
    if "references" not in data.outputs.columns or data.task_definition.is_ranking:
        raise InputError("to align outputs takes references.")
    asked = {"characters": characters, "normalize": normalize}
    identity = {"command": "align", "configuration": asked, "input": data.content_hash}
    run = None if out is None else RunFolder.open(out, identity, data=data.fingerprint)
    found: dict[str, dict[str, Alignment]] = {system: {} for system in data.systems}
    texts = data.outputs.select("item", "system", "output", "references")
    place = {item: number for number, item in enumerate(sorted_ids(data.items))}
    for item, system, output, references in sorted(texts.iter_rows(), key=lambda row: place[row[0]]):
        sides = [_tokens(text, characters=characters) for text in (output, *references)]
        found[system][item] = min(
            (align_with_fewest_edits(side, sides[0]) for side in sides[1:]), key=lambda each: each.edits
        )
    result = AlignResult(found)
    if run is not None:
        run.finish(
            {"results/align.json": result.to_dict(), "results/align.csv": result.to_frame().write_csv()}
        )
    return result


def _tokens(text: str, *, characters: bool) -> list[str]:
    return list(text.strip()) if characters else text.split()
