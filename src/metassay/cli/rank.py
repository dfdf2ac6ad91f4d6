"""`metassay rank`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say

TESTS, SCORES = "Tests", "Scores"


def _option(text: str, panel: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


@dataclass(frozen=True)
class DrawOptions:
    """How metrics are tested against each other."""

    significance: Annotated[
        str,
        _option("perm-inputs, perm-systems, perm-both, cells, bootstrap, williams (Pearson) or none.", TESTS),
    ] = "perm-inputs"
    method: Annotated[str, _option("p-values inside SPA: normal, permutation or mtme.", TESTS)] = "normal"
    permutations: Annotated[int, _option("For the last two methods.", TESTS)] = 1000
    draws: Annotated[int, _option("Draws of the tests and intervals.", TESTS)] = 1000
    cluster: Annotated[
        str | None, _option("Permute and resample these (doc_id) instead of segments.", TESTS)
    ] = None
    minimum_segments: Annotated[
        int, _option("Contexts with fewer segments are set aside.", TESTS, "--min-segments")
    ] = 20
    holm: Annotated[bool, _option("Holm's correction over all comparisons.", TESTS, "--holm")] = False


@dataclass(frozen=True)
class ScoreOptions:
    """Which scores are compared."""

    human: Annotated[str | None, _option("The column of human scores.", SCORES)] = None
    metrics: Annotated[str | None, _option("Only these, comma-separated.", SCORES)] = None
    lower_is_better: Annotated[str, _option("Columns to turn around, comma-separated.", SCORES)] = ""
    missing: Annotated[
        str, _option("complete segments only, or pairwise: what both systems of a pair have.", SCORES)
    ] = "complete"


def run_rank(
    data: DataOptions,
    output: OutputOptions,
    scores: ScoreOptions,
    testing: DrawOptions,
    *,
    meta: Annotated[
        str,
        typer.Option(
            help="Any of spa, pa, acc_eq, pearson, spearman, kendall, kendall_c; the last four also with"
            " :segment, :item or :per_system."
        ),
    ] = "spa",
    context: Annotated[
        list[str], typer.Option(help="Also rank within each value of this column.", metavar="COLUMN")
    ] = [],  # noqa: B006
    analysis: Annotated[
        str, typer.Option(help="Any of stability, discrimination, ceiling, thresholds, power, corpus.")
    ] = "",
    keep_references: Annotated[
        bool, typer.Option("--keep-references", help="Keep systems that are the reference itself.")
    ] = False,
) -> None:
    """Which metric agrees best with people? Ranks metrics against human scores, with tests between them."""
    from metassay.workflows.rank import rank

    with progress(output) as show:
        result = rank(
            data.data,
            meta=meta,
            context=context,
            analysis=analysis,
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            keep_references=keep_references,
            progress=show,
            **asdict(scores),
            **asdict(testing),
            **data.score_reading(),
        )
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict())


def _show(found: dict[str, Any]) -> None:
    for one in found["results"]:
        where = "" if one["context"] == "global" else f", {one['context']}"
        title = f"{one['meta']} with {found['human']}, {one['dataset']}{where}"
        dropped = f" ({one['dropped_segments']} dropped)" if one["dropped_segments"] else ""
        say(f"{title}: {one['systems']} systems, {one['segments']} segments{dropped}.")
        print_table([_row(row) for row in one["metrics"]])
        if one["comparisons"]:
            say(_significant(one))
    for mean in found["average"]:
        say(f"Average of {mean['meta']} over {', '.join(mean['datasets'])}.")
        print_table(mean["metrics"])
    for name, rows in found.get("analysis", {}).items():
        print_table(rows, title=name)
    note(found["notes"])


def _significant(one: dict[str, Any]) -> str:
    """How many comparisons are significant, for whom; for both kinds of systems where both were tested."""
    rows = one["comparisons"]

    def count(key: str) -> int:
        return sum(row[key] is not None and row[key] <= 0.05 for row in rows)

    if "p_systems" not in rows[0]:
        whom = f" for {one['answers_for']}" if one["answers_for"] else ""
        return f"{count('p')} of {len(rows)} comparisons are significant{whom} (one-sided p ≤ .05)."
    return (
        f"{count('p_inputs')} of {len(rows)} comparisons are significant for these systems, "
        f"{count('p_systems')} for systems like these (one-sided p ≤ .05)."
    )


def _row(row: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row.items() if name != "baseline"}
    return shown | {"metric": f"{row['metric']} (baseline)" if row["baseline"] else row["metric"]}
