"""`metassay assay`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
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
) -> None:
    """Perturb, score and judge: local accuracy per context, both hypotheses, a recommendation, a report."""
    from metassay.workflows.assay import AUTOMATIC, assay
    from metassay.workflows.preparing import named_metrics

    brought = settings.pairs if names_a_source(settings.pairs) else None
    dataset = data.read(pairs=brought)
    asked = settings.to_dict() | {"metrics": named_metrics(settings.metrics, metric_file)}
    with progress(output) as show:
        result = assay(
            dataset,
            **asked | ({} if brought is None else {"pairs": PERTURBED}),
            seed=output.seed,
            workers=output.workers,
            out=output.out or (None if output.json else AUTOMATIC),
            llm=model.settings(),
            progress=show,
        )
    if output.json:
        print(result.to_json())
    else:
        show_assay(result.to_dict(), result.folder)


def show_assay(found: dict[str, Any], folder: Any) -> None:
    """The answer first, then the tables it rests on, then where to read more."""
    from metassay.reporting.labels import in_labels

    found = in_labels(found)
    for column, entries in found["recommendation"].items():
        say("", *_answer(column, entries))
    names: tuple[str, ...] = ("metric", "accuracy", "low", "high", "ties", "pairs")
    rows = [{name: row[name] for name in names} for row in found["global"]]
    print_table(rows, title="How often each metric preferred the better output (95 % interval)")
    names = ("metric", "chi2", "dof", "p", "cramers_v", "p_permutation", "p_cmh", "p_holm")
    for column, part in found["contexts"].items():
        if part["h1"]:
            rows = [{name: row[name] for name in names} for row in part["h1"]]
            print_table(
                rows, title=f"H1: accuracy is the same in every context of {column} (small p: it is not)"
            )
    note([*found["notes"], *found["warnings"]])
    if folder is not None:
        say(f"Report: {folder / 'report.html'}")


def _answer(column: str, entries: dict[str, Any]) -> list[str]:
    """What to trust over all contexts of a column, and in which contexts another metric does better."""
    overall = entries["global"]
    best = overall["metrics"][:1]
    others: dict[str, list[str]] = {}
    for context, entry in entries.items():
        if entry["metrics"] and entry["metrics"][:1] != best:
            others.setdefault(entry["metrics"][0], []).append(context)
    lines = [f"By {column}: {overall['why']}"]
    lines += [f"  {metric} comes first on {', '.join(where)}." for metric, where in others.items()]
    if not others and best:
        lines.append(f"  {best[0]} comes first in every context.")
    return lines
