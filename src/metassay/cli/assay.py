"""`metassay assay`, and `metassay demo`, an assay of the samples."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from metassay.cli.options import OUTPUT, DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.sample import DEFAULT
from metassay.workflows.settings import PERTURBED, AssaySettings, names_a_source


def run_assay(
    data: DataOptions,
    output: OutputOptions,
    model: LlmOptions,
    settings: AssaySettings,
    *,
    metric_file: Annotated[
        list[str], typer.Option(help="Your own metric: FILE.py:NAME or a program.", metavar="FILE")
    ] = [],  # noqa: B006
    cache: Annotated[
        str | None,
        typer.Option(
            help="Scores that runs share: a folder, or off; default METASSAY_CACHE, else off.",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Perturb, score and judge: local accuracy per context, both hypotheses, a recommendation, a report."""
    from metassay.workflows.assay import AUTOMATIC, assay
    from metassay.workflows.read import named_metrics

    brought = settings.pairs if names_a_source(settings.pairs) else None
    dataset = data.read(pairs=brought)
    with progress(output) as show:
        llm = model.settings()
        asked = settings.to_dict() | {"metrics": named_metrics(settings.metrics, metric_file)}
        result = assay(
            dataset,
            **asked | ({} if brought is None else {"pairs": PERTURBED}),
            seed=output.seed,
            workers=output.workers,
            out=output.out or (None if output.json else AUTOMATIC),
            llm=llm,
            cache=cache,
            progress=show,
        )
    if output.json:
        print(result.to_json())
    else:
        show_assay(result.to_dict(), result.folder)


def show_assay(found: dict[str, Any], folder: Any) -> None:
    """The answer first, then the tables it rests on, then where to read more."""
    from metassay.reporting.answer import answer
    from metassay.reporting.caveats import caveats, remarks
    from metassay.reporting.findings import find

    findings = find(found)
    found = dict(findings.result)
    say("", *map(str, answer(findings)))
    doubts = [*map(str, caveats(findings)), *dict.fromkeys(found["warnings"])]
    if doubts:
        say("", "Before you rely on this:", *(f"- {doubt}" for doubt in doubts))
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
    note(remarks(findings))
    if folder is not None:
        say(f"Report: {folder / 'report.html'}")


def run_demo(
    output: OutputOptions, *, task: Annotated[str, typer.Option(help="Which sample.")] = DEFAULT
) -> None:
    """The main job on the bundled sample, offline, in seconds; leaves a folder with report.html."""
    from metassay.workflows.assay import demo

    with progress(output) as show:
        folder = output.out or (None if output.json else "demo")
        result = demo(task=task, out=folder, seed=output.seed, workers=output.workers, progress=show)
    if output.json:
        print(result.to_json())
    else:
        show_assay(result.to_dict(), result.folder)
