"""`metassay assay`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say


def run_assay(
    data: DataOptions,
    output: OutputOptions,
    model: LlmOptions,
    *,
    metrics: Annotated[str | None, typer.Option(help="Comma-separated; default those of the task.")] = None,
    metric_file: Annotated[list[str], typer.Option(help="Your own metric.", metavar="FILE.py:NAME")] = [],  # noqa: B006
    context: Annotated[
        list[str],
        typer.Option(help="A column, a crossing a+b, buckets mqm:250; repeatable.", metavar="CONTEXT"),
    ] = [],  # noqa: B006
    perturbations: Annotated[
        str | None, typer.Option(help="Comma-separated; default those of the task.")
    ] = None,
    per_output: Annotated[int, typer.Option(help="Perturbations per output.")] = 4,
    cluster: Annotated[
        str | None,
        typer.Option(help="Column of the independent unit; default document, chapter, speaker or the item."),
    ] = None,
    ties: Annotated[str, typer.Option(help="A tie is wrong (strict) or half right (half).")] = "strict",
    agreement: Annotated[str, typer.Option(help="tau_ap_b, weighted_tau or kendall.")] = "tau_ap_b",
    normalize: Annotated[str | None, typer.Option(help="Speech text: english, whisper or none.")] = None,
    preprocess: Annotated[str, typer.Option(help="none, paper or paper-asymmetric.")] = "none",
    keep_references: Annotated[
        bool, typer.Option("--keep-references", help="Keep systems that are references.")
    ] = False,
    strict_resources: Annotated[
        bool, typer.Option("--strict-resources", help="A missing dictionary is an error.")
    ] = False,
    valid_pairs: Annotated[
        bool, typer.Option("--valid-pairs", help="Rankings: drop copies that did not lose gain.")
    ] = False,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.")] = 1000,
    permutations: Annotated[int, typer.Option(help="Permutations of H1.")] = 999,
    min_items: Annotated[int, typer.Option(help="Contexts with fewer items get a warning.")] = 20,
    weights: Annotated[str | None, typer.Option(help="A column of weights, or density.")] = None,
    pairs: Annotated[str, typer.Option(help="perturbed, or human: pairs from human scores.")] = "perturbed",
    human: Annotated[str | None, typer.Option(help="The human score, where there are several.")] = None,
    min_gap: Annotated[float, typer.Option(help="Human pairs: scores differ by more than this.")] = 0.0,
) -> None:
    """Perturb, score and judge: local accuracy per context, both hypotheses, a recommendation, a report."""
    from metassay.workflows.assay import AUTOMATIC, assay
    from metassay.workflows.preparing import named_metrics

    dataset = data.read()
    with progress(output) as show:
        result = assay(
            dataset,
            metrics=named_metrics(metrics, metric_file),
            contexts=context or None,
            perturbations=perturbations,
            seed=output.seed,
            workers=output.workers,
            out=output.out or (None if output.json else AUTOMATIC),
            per_output=per_output,
            cluster=cluster,
            ties=ties,
            agreement=agreement,
            normalize=normalize,
            preprocess=preprocess,
            keep_references=keep_references,
            strict_resources=strict_resources,
            valid_pairs=valid_pairs,
            resamples=resamples,
            permutations=permutations,
            minimum_items=min_items,
            weights=weights,
            pairs=pairs,
            human=human,
            minimum_gap=min_gap,
            llm=model.settings(),
            progress=show,
        )
    if output.json:
        print(result.to_json())
    else:
        show_assay(result.to_dict(), result.folder)


def show_assay(found: dict[str, Any], folder: Any) -> None:
    """The answer first, then the tables it rests on, then where to read more."""
    from metassay.reporting.answer import answer, caveats
    from metassay.reporting.findings import find

    findings = find(found)
    say("", *map(str, answer(findings)), *map(str, caveats(findings)))
    names: tuple[str, ...] = ("metric", "accuracy", "low", "high", "ties", "pairs")
    rows = [{name: row[name] for name in names} for row in found["global"]]
    print_table(
        rows, title=f"How often each metric preferred the better output of {findings.pairs} (95 % interval)"
    )
    names = ("metric", "chi2", "dof", "p", "cramers_v", "p_cmh", "p_permutation")
    for column, part in found["contexts"].items():
        if part["h1"]:
            rows = [
                {**{name: row[name] for name in names}, "p_holm": row["p_permutation_holm"]}
                for row in part["h1"]
            ]
            print_table(rows, title=f"H1: accuracy changes between contexts of {column} (small p: it does)")
    note([*found["notes"], *found["warnings"]])
    if folder is not None:
        say(f"Report: {folder / 'report.html'}")
