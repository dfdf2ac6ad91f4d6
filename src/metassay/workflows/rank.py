"""`rank`: metrics ranked by how well they agree with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from metassay.data.scores import ScoreTable
from metassay.engine.local import Progress
from metassay.errors import UnknownName
from metassay.meta.people.averages import averages
from metassay.meta.people.ranking import FEW_SEGMENTS, Ranking, rank_tables
from metassay.meta.people.significance import Procedure
from metassay.store.run import RunFolder
from metassay.workflows.rank_analyses import ANALYSES, analyse
from metassay.workflows.rank_files import write_results
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.score_runs import open_score_run
from metassay.workflows.score_tables import Reading, Source, only_human, read_score_tables

Named = str | Sequence[str]
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


def rank(
    data: Source,
    *,
    human: str | None = None,
    meta: Named = ("spa",),
    significance: str = "perm-inputs",
    context: Named | None = None,
    method: str = "normal",
    permutations: int = 1000,
    draws: int = 1000,
    seed: int = 0,
    cluster: str | None = None,
    metrics: Named | None = None,
    lower_is_better: Named = (),
    holm: bool = False,
    missing: str = "complete",
    minimum_segments: int = FEW_SEGMENTS,
    analysis: Named = (),
    workers: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **reading: Unpack[Reading],
) -> RankResult:
    """Rank metrics against human scores.

    `data` is a table with a row per output and a column per metric (or files of such tables, a folder in the
    layout of mt-metrics-eval, a data set); `join`, `columns`, `where`, `systems`, `exclude_systems`,
    `reference`, `keep_references` and `quoting` say how it is read. `human` names the column of human scores,
    needed where there are several. `context` adds a ranking per value of a column that has `minimum_segments`
    at least, all on equal numbers of segments; `cluster` makes its values (documents) the units that are
    permuted and resampled instead of segments. With `missing="pairwise"` each pair of systems is compared on
    the segments that both have (spa and pa; tests still use complete segments). `out` is a folder for the
    result as JSON and CSV with charts.
    """
    wanted = _checked(_names(analysis), ANALYSES, "analysis")
    _checked([missing], MISSING, "rule for missing scores")
    procedure = Procedure(significance, method, draws, permutations, seed, workers)
    tables, notes = read_score_tables(data, human=human, **reading)
    options: dict[str, Any] = {
        "human": only_human(tables, human),
        "metrics": _names(metrics) or None,
        "lower_is_better": _names(lower_is_better),
        "cluster": cluster,
        "pairwise": missing == "pairwise",
    }
    asked: dict[str, Any] = {
        "meta": _names(meta),
        "contexts": _names(context),
        "holm": holm,
        "minimum_segments": minimum_segments,
    }
    run = None if out is None else _open(out, tables, options | asked | {"analysis": wanted}, procedure)
    told = progress or _silent
    rankings = rank_tables(
        tables,
        procedure=procedure,
        progress=lambda done, total: told("ranking", done, total),
        **asked,
        **options,
    )
    analyses = {}
    for done, name in enumerate(wanted, start=1):
        analyses[name] = analyse(name, data, tables, meta=meta, procedure=procedure, **options)
        told("analysing", done, len(wanted))
    if significance == "bootstrap":
        notes.append(_CAUTIOUS)
    notes += [note for ranking in rankings for note in ranking.data.notes]
    result = RankResult(options["human"], tuple(rankings), analyses, tuple(dict.fromkeys(notes)))
    if run is not None:
        write_results(run, result.to_dict(), result.to_frame())
    return result


def _silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""


def _open(
    out: str | Path, tables: Sequence[ScoreTable], configuration: dict[str, Any], procedure: Procedure
) -> RunFolder:
    """The run folder; neither the number of threads nor the streams derived from names identify a run."""
    drawing = {name: value for name, value in asdict(procedure).items() if name not in {"workers", "stream"}}
    return open_score_run(out, "rank", tables, configuration | drawing)


def _checked(names: list[str], known: Iterable[str], kind: str) -> list[str]:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known)
    return names


def _names(texts: Named | None) -> list[str]:
    if texts is None:
        return []
    parts = texts.split(",") if isinstance(texts, str) else texts
    return [part.strip() for part in parts if part.strip()]
