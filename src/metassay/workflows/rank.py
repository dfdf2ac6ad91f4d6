"""`rank`: metrics ranked by how well they agree with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.scores import ScoreTable
from metassay.errors import InputError, UnknownName
from metassay.meta.averages import averages
from metassay.meta.ranking_of_metrics import Ranking, rank_tables
from metassay.meta.significance import Procedure
from metassay.workflows.rank_analyses import ANALYSES, analyse
from metassay.workflows.rank_files import open_run, write_results
from metassay.workflows.read import Paths
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.score_tables import read_score_tables

Named = str | Sequence[str]
MISSING = ("complete", "pairwise")


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
    data: Dataset | pl.DataFrame | ScoreTable | Sequence[ScoreTable] | Paths,
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
    analysis: Named = (),
    join: Paths | None = None,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    systems: Sequence[str] | None = None,
    exclude_systems: Sequence[str] | None = None,
    reference: Sequence[str] = (),
    keep_references: bool = False,
    quoting: str = "minimal",
    workers: int | None = None,
    out: str | Path | None = None,
) -> RankResult:
    """Rank metrics against human scores.

    `data` is a table with a row per output and a column per metric (or files of such tables, a folder in the
    layout of mt-metrics-eval, a data set). `human` names the column of human scores, needed where there are
    several. `context` adds a ranking per value of a column, all on equal numbers of segments; `cluster` makes
    its values (documents) the units that are permuted and resampled instead of segments. With
    `missing="pairwise"` each pair of systems is compared on the segments that both have (spa and pa; tests
    still use complete segments). `out` is a folder for the result as JSON and CSV with charts.
    """
    wanted = _names(analysis)
    for name in wanted:
        if name not in ANALYSES:
            raise InputError(f"unknown analysis {name!r}.", remedy=f"Known: {', '.join(ANALYSES)}.")
    if missing not in MISSING:
        raise UnknownName("rule for missing scores", missing, MISSING)
    procedure = Procedure(significance, method, draws, permutations, seed, workers)
    tables, notes = read_score_tables(
        data,
        human=human,
        join=join,
        columns=columns,
        where=where,
        systems=systems,
        exclude_systems=exclude_systems,
        reference=reference,
        keep_references=keep_references,
        quoting=quoting,
    )
    chosen = _human(tables, human)
    options: dict[str, Any] = {
        "human": chosen,
        "metrics": _names(metrics) or None,
        "lower_is_better": _names(lower_is_better),
        "cluster": cluster,
        "pairwise": missing == "pairwise",
    }
    contexts = _names(context)
    asked = {"meta": _names(meta), "contexts": contexts, "holm": holm, "analysis": wanted}
    drawing = {name: value for name, value in asdict(procedure).items() if name not in {"workers", "stream"}}
    run = None if out is None else open_run(out, tables, options | asked | drawing)
    rankings = rank_tables(tables, meta=meta, procedure=procedure, contexts=contexts, holm=holm, **options)
    analyses = {
        name: analyse(name, data, tables, meta=meta, procedure=procedure, **options) for name in wanted
    }
    seen = [note for ranking in rankings for note in ranking.data.notes]
    result = RankResult(chosen, tuple(rankings), analyses, tuple(dict.fromkeys([*notes, *seen])))
    if run is not None:
        write_results(run, result.to_dict(), result.to_frame())
    return result


def _human(tables: Sequence[ScoreTable], human: str | None) -> str:
    """The human score asked for, or the only one there is."""
    if human is not None:
        return human
    found = list(dict.fromkeys(name for table in tables for name in table.human if ":" not in name))
    if not found:
        raise InputError("there is no column of human scores.", remedy="Name one with --human COLUMN.")
    if len(found) > 1:
        raise InputError(
            f"there are several human scores: {', '.join(found)}.", remedy="Choose one with --human COLUMN."
        )
    return found[0]


def _names(texts: Named | None) -> list[str]:
    if texts is None:
        return []
    parts = texts.split(",") if isinstance(texts, str) else texts
    return [part.strip() for part in parts if part.strip()]
