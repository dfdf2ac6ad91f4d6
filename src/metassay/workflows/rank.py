"""`rank`: metrics ranked by how well they agree with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.rated import rated_parts
from metassay.engine.local import Progress
from metassay.errors import UnknownName
from metassay.meta.people.meta_metrics import Procedure
from metassay.meta.people.meta_metrics.base import TESTS
from metassay.meta.people.ranking import Ranking, compare_metrics
from metassay.metrics.registry import labels_in
from metassay.reporting.score_pages import ranking_files
from metassay.settings import names_of, takes
from metassay.store.run import RunFolder
from metassay.workflows.cubes import Source, read_scores
from metassay.workflows.rank_analyses import ANALYSES, analyse
from metassay.workflows.run_files import SCHEMA_VERSION, Result
from metassay.workflows.settings import RankSettings, ScoreReading

MISSING = ("complete", "pairwise")
_CAUTIOUS = "The bootstrap test is cautious: at a level of 5 % it tells equally good metrics apart in 1 %."


@dataclass(frozen=True)
class RankResult(Result):
    """Rankings of metrics, one per data set, meta-metric and context; their averages; further analyses."""

    human: str
    rankings: tuple[Ranking, ...]
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


@takes(RankSettings, ScoreReading)
def rank(
    data: Source,
    asked: RankSettings,
    reading: ScoreReading,
    *,
    seed: int = 0,
    workers: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> RankResult:
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
    is compared on the segments that both have (spa and pa; tests still use complete segments). `out` is a
    folder for the result with its charts.
    """
    wanted = _checked(names_of(asked.analysis), ANALYSES, "analysis")
    _checked([asked.missing], MISSING, "rule for missing scores")
    _checked([asked.significance], TESTS, "test")
    scores = read_scores(data, asked, reading)
    chosen: dict[str, Any] = {"human": scores.human, "metrics": list(scores.metrics) or None}
    options = chosen | {"cluster": asked.cluster, "pairwise": asked.missing == "pairwise"}
    rankings_of: dict[str, Any] = {
        "meta": list(names_of(asked.meta)),
        "contexts": list(names_of(asked.context)),
        "holm": asked.holm,
        "minimum_segments": asked.minimum_segments,
    }
    named = (
        options | rankings_of | {"lower_is_better": list(names_of(asked.lower_is_better)), "analysis": wanted}
    )
    drawing: dict[str, Any] = {
        "test": asked.significance,
        "method": asked.method,
        "draws": asked.draws,
        "permutations": asked.permutations,
        "seed": seed,
    }
    parts = rated_parts(scores.cubes, scores.human, chosen["metrics"], pairwise=options["pairwise"])
    identity = {"command": "rank", "configuration": named | drawing, "inputs": dict(scores.hashes)}
    run = None if out is None else RunFolder.open(out, identity)
    procedure = Procedure(**drawing, workers=workers)
    told = progress or _silent
    compared = compare_metrics(
        parts,
        human=scores.human,
        cluster=asked.cluster,
        pairwise=options["pairwise"],
        procedure=procedure,
        progress=told,
        **rankings_of,
    )
    analyses = {}
    for done, name in enumerate(wanted, start=1):
        analyses[name] = analyse(name, data, scores.cubes, meta=asked.meta, procedure=procedure, **options)
        told("analysing", done, len(wanted))
    cautious = [_CAUTIOUS] if asked.significance == "bootstrap" else []
    notes = [
        *scores.notes,
        *cautious,
        *(note for ranking in compared.rankings for note in ranking.data.cube.notes),
    ]
    result = RankResult(
        options["human"], compared.rankings, compared.averages, analyses, tuple(dict.fromkeys(notes))
    )
    if run is not None:
        found = result.to_dict()
        run.finish(ranking_files(found, result.to_frame(), labels_in(found)))
    return result


def _silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""


def _checked(names: Sequence[str], known: Iterable[str], kind: str) -> list[str]:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known)
    return list(names)
