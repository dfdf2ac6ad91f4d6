"""`rank`: metrics ranked by how well they agree with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.cube import Cube
from metassay.engine.local import Progress
from metassay.errors import UnknownName
from metassay.meta.people.averages import averages
from metassay.meta.people.meta_metrics import Procedure
from metassay.meta.people.ranking import Ranking, rank_cubes
from metassay.settings import names_of, takes
from metassay.store.run import RunFolder
from metassay.workflows.cubes import Source, read_scores
from metassay.workflows.rank_analyses import ANALYSES, analyse
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.run_files import open_score_run, write_ranking
from metassay.workflows.settings import RankSettings, ScoreReading

MISSING = ("complete", "pairwise")
_CAUTIOUS = "The bootstrap test is cautious: at a level of 5 % it tells equally good metrics apart in 1 %."


@dataclass(frozen=True)
class RankResult(Result):
    """Rankings of metrics, one per data set, meta-metric and context; their averages; further analyses."""

    human: str
    rankings: tuple[Ranking, ...]
    analyses: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay rank`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "human": self.human,
            "results": [ranking.to_dict() for ranking in self.rankings],
            "average": averages(self.rankings),
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
    procedure = Procedure(asked.significance, asked.method, asked.draws, asked.permutations, seed, workers)
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
    run = None if out is None else _open(out, scores.cubes, named, procedure)
    told = progress or _silent
    rankings = rank_cubes(
        scores.cubes,
        procedure=procedure,
        progress=lambda done, total: told("comparing", done, total),
        **rankings_of,
        **options,
    )
    analyses = {}
    for done, name in enumerate(wanted, start=1):
        analyses[name] = analyse(name, data, scores.cubes, meta=asked.meta, procedure=procedure, **options)
        told("analysing", done, len(wanted))
    cautious = [_CAUTIOUS] if asked.significance == "bootstrap" else []
    notes = [*scores.notes, *cautious, *(note for ranking in rankings for note in ranking.data.cube.notes)]
    result = RankResult(options["human"], tuple(rankings), analyses, tuple(dict.fromkeys(notes)))
    if run is not None:
        write_ranking(run, result.to_dict(), result.to_frame())
    return result


def _silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""


def _open(
    out: str | Path, cubes: Sequence[Cube], configuration: dict[str, Any], procedure: Procedure
) -> RunFolder:
    """The run folder; neither the number of threads nor the streams derived from names identify a run."""
    drawing = {name: value for name, value in asdict(procedure).items() if name not in {"workers", "stream"}}
    return open_score_run(out, "rank", cubes, configuration | drawing)


def _checked(names: Sequence[str], known: Iterable[str], kind: str) -> list[str]:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known)
    return list(names)
