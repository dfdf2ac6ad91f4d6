"""`rank`: metrics ranked by how well they agree with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from metassay.data.columns import TEST_SET_COLUMNS, find_reference_columns
from metassay.data.readers.error_spans import read_spans
from metassay.data.readers.mt_metrics_eval import has_test_sets, read_marked_errors
from metassay.data.readers.registry import fetch_paths
from metassay.data.reference_systems import mark_reference_rows
from metassay.data.score_cube import UNNAMED_DATASET
from metassay.data.score_files import Scores
from metassay.errors import InputError, UnknownName
from metassay.meta.people.meta_metrics import Procedure
from metassay.meta.people.meta_metrics.base import TESTS
from metassay.meta.people.ranking import Compared, Ranking, compare_metrics
from metassay.meta.people.ranking_data import prepare_ranking_data
from metassay.meta.people.span_ranking import SPANS, SpanRanking, SpanRatings, rank_spans, span_ratings
from metassay.metrics.labels import find_metric_labels
from metassay.options import accept_options, split_names
from metassay.reporting.pages import Page
from metassay.reporting.ranking_page import ranking_files, ranking_page
from metassay.specs import split_specs
from metassay.store.run_folder import RunFolder
from metassay.workflows.options import RankOptions, ScoreReadOptions
from metassay.workflows.rank_analyses import ANALYSES, analyse
from metassay.workflows.read import Source, read_scores
from metassay.workflows.run_files import SCHEMA_VERSION, Result

MISSING = ("complete", "pairwise")
MARKED = "marked errors"
"""What stands for the human score where there are error spans alone."""
PEOPLE = "human"
"""The name under which `spans` gives those of people."""
_CAUTIOUS = "The bootstrap test is cautious: at a level of 5 % it tells equally good metrics apart in 1 %."


@dataclass(frozen=True, repr=False)
class RankResult(Result):
    """Rankings of metrics, one per data set, meta-metric and context; their averages; further analyses."""

    human: str
    rankings: tuple[Ranking | SpanRanking, ...]
    averages: Sequence[Mapping[str, Any]] = ()
    analyses: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay rank`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "human": self.human,
            "results": [ranking.to_dict() for ranking in self.rankings],
            "average": list(self.averages),
            **({"analysis": dict(self.analyses)} if self.analyses else {}),
            "notes": list(self.notes),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row per data set, meta-metric, context and metric."""
        rows = [
            {name: found[name] for name in ("dataset", "meta", "context")} | row
            for found in (ranking.to_dict() for ranking in self.rankings)
            for row in found["metrics"]
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def page(self) -> Page:
        """What the page of the run shows."""
        return ranking_page(self.to_dict())


@accept_options(RankOptions)
def rank(data: Source, options: RankOptions) -> RankResult:
    """Rank metrics against human scores.

    `data` is a table with a row per output and a column per metric (or files of such tables, a folder in the
    layout of mt-metrics-eval, a data set); `join`, `columns`, `where`, `systems`, `exclude_systems`,
    `reference`, `keep_references` and `quoting` say how it is read. `human` names the column of human scores,
    needed where there are several; further names declare more columns that people gave, which are no metrics.
    Of `metrics` those that are ours and no column are computed from the texts. Our metrics of which lower is
    better are turned around under their own names, and so are those that `lower_is_better` names;
    `higher_is_better` keeps some as they are. `context` adds a ranking per value of a column that has
    `minimum_segments` at least, all on equal numbers of segments; `cluster` makes its values (documents) the
    units that are permuted and resampled instead of segments. With `missing="pairwise"` each pair of systems
    is compared on the segments that both have (spa and pa; tests still use complete segments). With the
    meta-metric `spans` metrics are ranked by the errors they mark: `data` holds those of people (a folder of
    mt-metrics-eval, or a file of spans), and `spans` names a file for each metric, and one for people
    (`human`) where `data` has scores alone. `out` is a folder for the result with its charts.

    >>> rows = [
    ...     {"seg_id": n, "system": system, "mqm": gap + n % 3, "M": gap + 7 * n % 5, "N": 3 * n % 4 - gap}
    ...     for n in range(30)
    ...     for system, gap in (("a", 0.0), ("b", -1.0), ("c", -3.0))
    ... ]
    >>> first = rank(rows, human="mqm", significance="none").to_dict()["results"][0]["metrics"][0]
    >>> first["metric"], first["value"] > 0.9
    ('M', True)
    """
    wanted = _checked(split_names(options.analysis), ANALYSES, "analysis")
    _checked([options.missing], MISSING, "rule for missing scores")
    _checked([options.significance], TESTS, "test")
    metas = list(split_names(options.meta))
    scored = [name for name in metas if name.strip().lower() != SPANS]
    scores = (
        read_scores(data, options)
        if scored
        else Scores((), next(iter(split_names(options.human)), MARKED), ())
    )
    if wanted and not scored:
        raise InputError(
            "analyses are of scores.", remedy="Name a meta-metric beside spans: --meta spa,spans."
        )
    marked = _marked(data, options) if len(scored) < len(metas) else []
    chosen: dict[str, Any] = {"human": scores.human, "metrics": list(scores.metrics) or None}
    selection = chosen | {"cluster": options.cluster, "pairwise": options.missing == "pairwise"}
    rankings_of: dict[str, Any] = {
        "contexts": list(split_names(options.context)),
        "holm": options.holm,
        "minimum_segments": options.minimum_segments,
    }
    named = (
        selection
        | {"meta": metas}
        | rankings_of
        | {"lower_is_better": list(split_names(options.lower_is_better)), "analysis": wanted}
    )
    drawing: dict[str, Any] = {
        "test": options.significance,
        "method": options.method,
        "draws": options.draws,
        "permutations": options.permutations,
        "seed": options.seed,
    }
    datasets = [prepare_ranking_data(cube, **selection, seed=options.seed) for cube in scores.cubes]
    spotted = {f"{SPANS} {own.dataset}": own.content_hash for own in marked} if marked else {}
    identity = {"command": "rank", "configuration": named | drawing, "inputs": dict(scores.hashes) | spotted}
    run = None if options.out is None else RunFolder.open(options.out, identity, data=scores.marks)
    procedure = Procedure(**drawing, workers=options.workers)
    told = options.progress or _silent
    compared = Compared((), [])
    if scored or not metas:
        compared = compare_metrics(
            datasets,
            meta=scored,
            procedure=procedure,
            progress=told,
            **rankings_of,
        )
    of_spans = [
        ranking
        for own in marked
        for ranking in rank_spans(own, procedure, cluster=options.cluster, **rankings_of)
    ]
    analyses = {}
    for done, name in enumerate(wanted, start=1):
        analyses[name] = analyse(
            name, data, scores.cubes, datasets, human=scores.human, meta=scored, procedure=procedure
        )
        told("analysing", done, len(wanted))
    cautious = [_CAUTIOUS] if options.significance == "bootstrap" else []
    notes = [
        *scores.notes,
        *cautious,
        *(note for ranking in compared.rankings for note in ranking.data.cube.notes),
        *(note for own in marked for note in own.notes),
    ]
    rankings: tuple[Ranking | SpanRanking, ...] = (*compared.rankings, *of_spans)
    result = RankResult(scores.human, rankings, compared.averages, analyses, tuple(dict.fromkeys(notes)))
    if run is not None:
        found = result.to_dict()
        run.finish(ranking_files(found, result.to_frame(), find_metric_labels(found)))
    return result


def _marked(data: Source, options: RankOptions) -> list[SpanRatings]:
    """What people and metrics marked, one object per data set, from folders of mt-metrics-eval and files."""
    given = dict(options.spans or {})
    human = next(iter(split_names(options.human)), None)
    people: list[tuple[pl.DataFrame, dict[str, pl.DataFrame]]] = []
    if PEOPLE in given:
        people = [(read_spans(str(given.pop(PEOPLE))), {})]
    else:
        for path in fetch_paths(data):
            trees = has_test_sets(path)
            people += (
                read_marked_errors(path, human, reference=options.reference)
                if trees
                else [(read_spans(path), {})]
            )
    files = {name: read_spans(str(file)) for name, file in given.items()}
    found = []
    for frame, own in people:
        rated = _selected(frame, options)
        keys = [name for name in TEST_SET_COLUMNS if name in rated.columns]
        groups = rated.group_by(keys, maintain_order=True) if keys else [((), rated)]
        for key, part in sorted(groups, key=lambda pair: str(pair[0])):
            dataset = "/".join(map(str, key)) or UNNAMED_DATASET
            marks = {
                name: own[name] for name in own if not options.metrics or name in split_specs(options.metrics)
            }
            found.append(span_ratings(part.sort("seg_id", "system"), marks | files, dataset=dataset))
    if not found:
        raise InputError("nobody marked errors here.", remedy="Name people's spans with --spans human=FILE.")
    return found


def _selected(frame: pl.DataFrame, reading: ScoreReadOptions) -> pl.DataFrame:
    """The rows that are asked for, without systems that are the reference itself."""
    wanted = {name: [own] if isinstance(own, str) else own for name, own in (reading.where or {}).items()}
    if reading.systems:
        wanted["system"] = list(reading.systems)
    for name, values in wanted.items():
        if name not in frame.columns:
            raise UnknownName("column", name, frame.columns)
        frame = frame.filter(pl.col(name).cast(pl.String).is_in(list(values)))
    frame = frame.filter(~pl.col("system").is_in(list(reading.exclude_systems or ())))
    references = find_reference_columns(frame.columns)
    if references and "hyp" in frame.columns and not reading.keep_references:
        frame = frame.filter(~mark_reference_rows(frame, "hyp", references, by=["system"]))
    if frame.is_empty():
        raise InputError("no row is left after --where, --systems and --exclude-systems.")
    return frame


def _silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""


def _checked(names: Sequence[str], known: Iterable[str], kind: str) -> list[str]:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known)
    return list(names)
