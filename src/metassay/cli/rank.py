"""`metassay rank`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from metassay.cli.options import DataOptions, OutputOptions, assignments, comma_list
from metassay.cli.printing import note, print_table, say


def run_rank(
    data: DataOptions,
    output: OutputOptions,
    *,
    human: Annotated[str | None, typer.Option(help="The column of human scores.")] = None,
    meta: Annotated[
        str,
        typer.Option(help="Any of spa, pa, pearson, spearman, kendall, kendall_c, acc_eq; :segment, :item."),
    ] = "spa",
    significance: Annotated[
        str,
        typer.Option(
            help="perm-inputs, perm-systems, perm-both, cells, bootstrap, williams (Pearson) or none."
        ),
    ] = "perm-inputs",
    context: Annotated[
        list[str], typer.Option(help="Also rank within each value of this column.", metavar="COLUMN")
    ] = [],  # noqa: B006
    method: Annotated[str, typer.Option(help="p-values inside SPA: normal, permutation or mtme.")] = "normal",
    permutations: Annotated[int, typer.Option(help="For the last two methods.")] = 1000,
    draws: Annotated[int, typer.Option(help="Draws of the tests and intervals.")] = 1000,
    cluster: Annotated[
        str | None, typer.Option(help="Permute and resample these (doc_id) instead of segments.")
    ] = None,
    metrics: Annotated[str | None, typer.Option(help="Only these, comma-separated.")] = None,
    lower_is_better: Annotated[
        str | None, typer.Option(help="Columns to turn around, comma-separated.")
    ] = None,
    holm: Annotated[bool, typer.Option("--holm", help="Holm's correction over all comparisons.")] = False,
    missing: Annotated[
        str, typer.Option(help="complete segments only, or pairwise: what both systems of a pair have.")
    ] = "complete",
    analysis: Annotated[
        str | None, typer.Option(help="Any of stability, discrimination, ceiling, thresholds, power, corpus.")
    ] = None,
    keep_references: Annotated[
        bool, typer.Option("--keep-references", help="Keep systems that are the reference itself.")
    ] = False,
) -> None:
    """Which metric agrees best with people? Ranks metrics against human scores, with tests between them."""
    from metassay.workflows.rank import rank

    result = rank(
        data.data,
        human=human,
        meta=meta,
        significance=significance,
        context=context,
        method=method,
        permutations=permutations,
        draws=draws,
        seed=output.seed,
        cluster=cluster,
        metrics=metrics,
        lower_is_better=comma_list(lower_is_better) or (),
        holm=holm,
        missing=missing,
        analysis=comma_list(analysis) or (),
        join=data.join or None,
        columns=assignments(data.column, "--column"),
        where=_accepted(data.where),
        systems=comma_list(data.systems),
        exclude_systems=comma_list(data.exclude_systems),
        reference=data.reference,
        keep_references=keep_references,
        quoting=data.quoting,
        workers=output.workers,
        out=output.out,
    )
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict())


def _accepted(texts: Sequence[str]) -> dict[str, list[str]]:
    """`["domain=news", "domain=social"]` as the accepted values of each column."""
    found: dict[str, list[str]] = {}
    for text in texts:
        for name, value in assignments([text], "--where").items():
            found.setdefault(name, []).append(value)
    return found


def _show(found: dict[str, Any]) -> None:
    for one in found["results"]:
        where = "" if one["context"] == "global" else f", {one['context']}"
        title = f"{one['meta']} with {found['human']}, {one['dataset']}{where}"
        dropped = f" ({one['dropped_segments']} dropped)" if one["dropped_segments"] else ""
        say(f"{title}: {one['systems']} systems, {one['segments']} segments{dropped}.")
        print_table([_row(row) for row in one["metrics"]])
        if one["comparisons"]:
            significant = sum(pair["p"] <= 0.05 for pair in one["comparisons"])
            say(
                f"{significant} of {len(one['comparisons'])} comparisons are significant (one-sided p ≤ .05)."
            )
    for mean in found["average"]:
        say(f"Average of {mean['meta']} over {', '.join(mean['datasets'])}.")
        print_table(mean["metrics"])
    for name, rows in found.get("analysis", {}).items():
        print_table(rows, title=name)
    note(found["notes"])


def _row(row: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row.items() if name != "baseline"}
    return shown | {"metric": f"{row['metric']} (baseline)" if row["baseline"] else row["metric"]}
