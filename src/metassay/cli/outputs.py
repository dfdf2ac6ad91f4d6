"""`metassay check`, `score`, `align` and `perturb`: what takes outputs and leaves no report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.errors import display_path
from metassay.workflows.options import CheckSettings, PerturbSettings, ScoreSettings

if TYPE_CHECKING:
    from metassay.metrics.alignment import Step
    from metassay.workflows.score import ScoreResult


def run_check(data: DataOptions, output: OutputOptions, settings: CheckSettings) -> None:
    """What was recognised, left out and missing, and what an assay would cost. The first thing to run."""
    from metassay.workflows.read import check

    result = check(data.read(), **settings.to_dict(), workers=output.workers, out=output.out)
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict())
    if output.out:
        say(f"Kept in {output.out}/results")


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
    bare: Annotated[
        bool,
        typer.Option(
            "--score-only", "-b", help="The bare number, of the first metric unless --metrics names some."
        ),
    ] = False,
    decimals: Annotated[
        int | None,
        typer.Option("--width", "-w", help="Digits after the point.", metavar="N", min=0, max=15),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also precisions, counts, signatures, every aggregation.")
    ] = False,
) -> None:
    """Metrics per segment and per system, and tests between systems."""
    from metassay.workflows.read import collect_metrics
    from metassay.workflows.score import score

    dataset = data.read()
    named = collect_metrics(settings.metrics, metric_file)
    first = dataset.task_definition.default_metrics[0] if bare else None
    with progress(output, quiet=bare) as show:
        result = score(
            dataset,
            **settings.to_dict() | {"metrics": named or first},
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    if form != "table":
        print(result.to_text(form), end="")
        return
    if bare:
        digits = {row["metric"]: _digits(row, decimals, usual=4) for row in result.systems}
        say(*(_number(row, settings.aggregate, digits[row["metric"]]) for row in result.systems))
        note(result.notes)
        return
    _show_scores(
        result, settings, decimals, unit="topics" if dataset.task_definition.is_ranking else "segments"
    )
    if verbose:
        _show_details(result.systems, decimals)
    else:
        say("Precisions, counts, signatures and other aggregations: --verbose")
    note(result.notes)
    if output.out:
        say(f"Report: {output.out}/report.html")


def _shown(row: Mapping[str, Any], aggregate: Sequence[str]) -> str | None:
    """The first aggregation asked for that the metric has."""
    return next((name for name in aggregate if row[name] is not None), None)


def _digits(row: Mapping[str, Any], asked: int | None, *, usual: int = 3) -> int:
    """As many decimals as were asked for; by default one for what sacrebleu gives in per cent."""
    return (1 if "equals:sacrebleu" in row["signature"] else usual) if asked is None else asked


def _number(row: Mapping[str, Any], aggregate: Sequence[str], digits: int) -> str:
    name = _shown(row, aggregate)
    return "–" if name is None else f"{row[name]:.{digits}f}"


def _show_scores(result: ScoreResult, settings: ScoreSettings, decimals: int | None, *, unit: str) -> None:
    """A row for each system, a column for each metric; then the tests."""
    from metassay.reporting.wording import in_labels

    systems, compared = in_labels([result.systems, result.comparisons])
    table: dict[tuple[str, ...], dict[str, str]] = {}
    means: dict[str, None] = {}
    for row in systems:
        keys: dict[str, str] = {name: row[name] for name in ("group", "system") if name in row}
        digits = _digits(row, decimals)
        text = _number(row, settings.aggregate, digits)
        if row["low"] is not None and row["high"] is not None:
            text += f" ± {(row['high'] - row['low']) / 2:.{digits}f}"
        table.setdefault(tuple(keys.values()), keys)[row["metric"]] = text
        if _shown(row, settings.aggregate) == "segment" and settings.aggregate[0] != "segment":
            means[row["metric"]] = None
    print_table(list(table.values()))
    if any(row["low"] is not None for row in systems):
        say(f"After ±: half the width of the 95 % interval, from {settings.resamples} resamples of {unit}.")
    if means:
        say(f"Means over {unit}, for want of a corpus score: {', '.join(means)}.")
    print_table(compared, title="Differences between systems", first=("metric", "a", "b", "difference", "p"))
    if settings.test is not None:
        say(NULL_HYPOTHESES[settings.test])


def _show_details(systems: Sequence[Mapping[str, Any]], decimals: int | None) -> None:
    """Every aggregation, then for each score the line that sacrebleu prints, and our signatures."""
    from metassay.reporting.wording import in_labels

    hidden = ("signature", "official")
    rows = [{name: value for name, value in row.items() if name not in hidden} for row in in_labels(systems)]
    print_table(rows, title="Every aggregation, and the interval of the first")
    official = [row for row in systems if row["official"] is not None and row["corpus"] is not None]
    if official:
        say("", "As sacrebleu prints it:")
    for row in official:
        about, digits = row["official"], _digits(row, decimals)
        line = f"{about['name']}|{about['signature']} = {row['corpus']:.{digits}f}"
        print(f"{row['system']}: {line}" if len({one["system"] for one in official}) > 1 else line, end="")
        print(f" {_brevity(about, digits)}" if "precisions" in about else "")
    for row in (row for row in official if "ngrams" in row["official"]):
        counts = zip(row["official"]["matches"], row["official"]["ngrams"])
        matched = ", ".join(f"{n}: {own} of {all_}" for n, (own, all_) in enumerate(counts, start=1))
        say(f"{row['system']}: n-grams found in a reference, by n: {matched}.")
    print("\n".join(["", "Signatures:", *dict.fromkeys(row["signature"] for row in systems)]))


def _brevity(about: Mapping[str, Any], digits: int) -> str:
    precisions = "/".join(f"{precision:.{digits}f}" for precision in about["precisions"])
    lengths = f"hyp_len = {about['output_length']} ref_len = {about['reference_length']}"
    penalty, ratio = about["brevity_penalty"], about["length_ratio"]
    return f"{precisions} (BP = {penalty:.3f} ratio = {ratio:.3f} {lengths})"


_LETTERS = {"hit": " ", "substitution": "S", "deletion": "D", "insertion": "I"}


def run_align(
    data: DataOptions,
    *,
    characters: Annotated[
        bool, typer.Option("--characters", "--cer", "-c", help="Characters instead of words.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Also outputs without an error.")] = False,
    normalize: Annotated[str | None, typer.Option(help="Speech text: english, whisper or none.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Folder for the table and the JSON.", metavar="FOLDER")
    ] = None,
) -> None:
    """Outputs beside their references, word by word, with the errors marked and counted, as jiwer -a."""
    from metassay.workflows.score import align

    result = align(data.read(), characters=characters, normalize=normalize, out=out)
    if json:
        print(result.to_json())
        return
    for system, items in result.systems.items():
        if len(result.systems) > 1:
            print(f"=== SYSTEM {system} ===\n")
        for item, alignment in items.items():
            if every or alignment.edits:
                lines = _side_by_side(alignment.steps, "" if characters else " ")
                print(f"=== SENTENCE {item} ===\n\n{lines}\n")
        _count([alignment.counts for alignment in items.values()], characters=characters)
    if out:
        say(f"Kept in {out}/results")


def _side_by_side(steps: Sequence[Step], between: str) -> str:
    """Three lines: reference, output, and the letter of each error; stars where one side has nothing."""
    columns = []
    for step in steps:
        size = max(len(step.reference or ""), len(step.output or ""), 1)
        sides = ("*" * size if side is None else side for side in (step.reference, step.output))
        columns.append([side.rjust(size) for side in (*sides, _LETTERS[step.kind])])
    lines = [between.join(line) for line in zip(*columns)] or [""] * 3
    return "\n".join(head + line for head, line in zip(("REF: ", "HYP: ", "     "), lines))


def _count(counts: Sequence[Mapping[Any, int]], *, characters: bool) -> None:
    """Errors of all items together, and the rates that follow from them."""
    hits, substitutions, deletions, insertions = (sum(one[kind] for one in counts) for kind in _LETTERS)
    edits = substitutions + deletions + insertions
    wanted, given = hits + substitutions + deletions, hits + substitutions + insertions
    kept = hits / wanted * hits / given if wanted and given else float(not edits)
    rate = f"{edits / wanted:.2%}" if wanted else "–"
    print(f"=== SUMMARY ===\nnumber of sentences: {len(counts)}")
    print(f"substitutions={substitutions} deletions={deletions} insertions={insertions} hits={hits}\n")
    if not characters:
        print(f"mer={edits / max(hits + edits, 1):.2%}\nwil={1 - kept:.2%}\nwip={kept:.2%}")
    print(f"{'cer' if characters else 'wer'}={rate}")


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
    say(f"Pairs: {display_path(result.folder / 'pairs.parquet')}")
    if (texts := result.folder / TEXTS).is_file():
        say(f"To score elsewhere, for assay --scores: {display_path(texts)}")
