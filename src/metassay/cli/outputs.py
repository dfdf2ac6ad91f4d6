"""`metassay check`, `score` and `perturb`: what takes outputs and leaves no report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.workflows.settings import CheckSettings, PerturbSettings, ScoreSettings


def run_check(data: DataOptions, output: OutputOptions, settings: CheckSettings) -> None:
    """What was recognised, left out and missing, and what an assay would cost. The first thing to run."""
    from metassay.workflows.read import check

    result = check(data.read(), **settings.to_dict(), workers=output.workers)
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict())


def _show(found: dict[str, Any]) -> None:
    from metassay.reporting.wording import in_labels

    systems = len(found["systems"])
    say(f"Task {found['task']}: {found['outputs']} outputs of {systems} systems for {found['items']} items.")
    print_table(found["systems"])
    rows = [
        ("languages", ", ".join(f"{name} ({n})" for name, n in found["languages"].items())),
        (
            "references per output",
            ", ".join(f"{n} ({count})" for n, count in found["references"].items()) or "none",
        ),
        ("human scores", ", ".join(f"{name} ({n} rated)" for name, n in found["human"].items()) or "none"),
        ("possible contexts", ", ".join(f"{name} ({n})" for name, n in found["contexts"].items())),
        ("missing values", ", ".join(f"{name} ({n})" for name, n in found["missing"].items()) or "none"),
        ("empty outputs", str(found["empty_outputs"])),
        ("left out", ", ".join(f"{why} ({n})" for why, n in found["left_out"].items()) or "nothing"),
        ("their own reference", ", ".join(found["own_references"]) or "none"),
        ("text normalisation", found["normalize"]),
        ("metrics", ", ".join(row["metric"] for row in in_labels(found["metrics"]))),
    ]
    print_table([{"what": name, "found": value} for name, value in rows])
    if found["perturbations"]:
        print_table([_foretold(row) for row in found["perturbations"]])
    estimate = found["estimate"]
    if estimate["seconds"] is not None:
        say(
            f"An assay would score {estimate['rows']} texts per metric: about {estimate['seconds']:g} s here."
        )
    note(found["notes"])


def _foretold(row: dict[str, Any]) -> dict[str, str]:
    """One line: to how many outputs a perturbation will apply, or why to none."""
    outputs = f"{row['outputs']} of {row['tried']}"
    return {"perturbation": row["perturbation"], "applies to": outputs, "why not to others": row["why"] or ""}


NULL_HYPOTHESES = {
    "bootstrap": "p: if the true difference between the two systems were 0, a difference as large as this or "
    "larger would be found this often (paired bootstrap over segments, two-sided).",
    "randomization": "p: if it did not matter which of the two systems made which output, a difference as "
    "large as this or larger would be found this often (approximate randomisation, two-sided).",
}


def run_score(
    data: DataOptions,
    output: OutputOptions,
    settings: ScoreSettings,
    *,
    metric_file: Annotated[
        list[str], typer.Option(help="Your own metric: FILE.py:NAME or a program.", metavar="FILE")
    ] = [],  # noqa: B006
    form: Annotated[
        str, typer.Option("--format", help="table, csv, latex or markdown.", metavar="FORMAT")
    ] = "table",
) -> None:
    """Metrics per segment and per system, and tests between systems."""
    from metassay.reporting.wording import in_labels
    from metassay.workflows.read import named_metrics
    from metassay.workflows.score import score

    dataset = data.read()
    with progress(output) as show:
        result = score(
            dataset,
            **settings.to_dict() | {"metrics": named_metrics(settings.metrics, metric_file)},
            seed=output.seed,
            workers=output.workers,
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    if form != "table":
        print(result.to_text(form), end="")
        return
    systems, compared = in_labels([result.systems, result.comparisons])
    print_table([{k: v for k, v in row.items() if k != "signature"} for row in systems])
    print_table(compared, title="Differences between systems")
    if settings.test is not None:
        say(NULL_HYPOTHESES[settings.test])
    say(*dict.fromkeys(row["signature"] for row in result.systems))
    note(result.notes)


def run_perturb(
    data: DataOptions, output: OutputOptions, model: LlmOptions, settings: PerturbSettings
) -> None:
    """Make every output worse in several ways; leaves pairs.parquet and texts.jsonl in the run folder."""
    from metassay.workflows.perturb import TEXTS, perturb

    dataset = data.read()
    with progress(output) as show:
        result = perturb(
            dataset,
            **settings.to_dict(),
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            llm=model.settings(),
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    found = result.to_dict()
    print_table(found["perturbations"], title=f"{found['pairs']} pairs from {found['outputs']} outputs")
    note(found["notes"])
    if result.folder is None:
        say("Keep the pairs with --out FOLDER.")
        return
    say(f"Pairs: {result.folder / 'pairs.parquet'}")
    if (texts := result.folder / TEXTS).is_file():
        say(f"To score elsewhere, for assay --scores: {texts}")
