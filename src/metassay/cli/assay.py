"""`metassay assay`, `metassay demo`, an assay of the samples, `metassay recommend` and `metassay judge`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from metassay.cli.options import OUTPUT, DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.errors import InputError, display_path
from metassay.options import PERTURBED_PAIRS, is_pair_source, split_names
from metassay.sample import DEFAULT
from metassay.specs import split_list
from metassay.workflows.options import AssaySettings


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
    engine: Annotated[
        str, typer.Option(help="local, or a Ray cluster: ray or ray,ADDRESS.", rich_help_panel=OUTPUT)
    ] = "local",
    parts: Annotated[
        str | None,
        typer.Option(
            help="Score these parts of the run alone (0-9, or 3) and stop; see work.",
            metavar="PARTS",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Perturb, score and judge: local accuracy per context, both hypotheses, a recommendation, a report."""
    from metassay.workflows.assay import assay
    from metassay.workflows.read import collect_metrics
    from metassay.workflows.run_files import AUTOMATIC

    only = part_numbers(parts)
    brought = settings.pairs if is_pair_source(settings.pairs) else None
    dataset = data.read(pairs=brought)
    with progress(output) as show:
        llm = model.settings()
        asked = settings.to_dict() | {"metrics": collect_metrics(settings.metrics, metric_file)}
        result = assay(
            dataset,
            **asked | ({} if brought is None else {"pairs": PERTURBED_PAIRS}),
            seed=output.seed,
            workers=output.workers,
            out=output.out or (None if output.json else AUTOMATIC),
            llm=llm,
            cache=cache,
            only=only,
            engine=engine,
            progress=show,
        )
    if output.json:
        print(result.to_json())
    else:
        show_assay(result.to_dict(), result.folder)


def part_numbers(text: str | None) -> range | None:
    """`"3"` or `"0-9"` as numbers; None where none were named."""
    if text is None:
        return None
    first, _, last = text.partition("-")
    numbers = [
        int(one) for one in (first, last or first) if one.isascii() and one.isdigit() and len(one) < 10
    ]
    if len(numbers) < 2 or numbers[0] > numbers[1]:
        raise InputError(f"--parts {text!r} is neither a number nor two such as 0-9.")
    return range(numbers[0], numbers[1] + 1)


def show_assay(found: dict[str, Any], folder: Any) -> None:
    """The answer first, then the tables it rests on, then where to read more."""
    from metassay.reporting.answer import answer
    from metassay.reporting.findings import find
    from metassay.reporting.html import caveats, remarks

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
    if findings.people is not None:
        names = ("metric", "accuracy", "low", "high", "ties", "pairs", "spa", "spa_low", "spa_high")
        rows = [{name: row[name] for name in names} for row in findings.people["metrics"]]
        print_table(
            rows,
            title="The same of pairs judged by people, and SPA, on systems (95 % interval)",
            first=("metric", "accuracy", "low", "high", "spa", "spa_low", "spa_high"),
        )
    names = ("metric", "chi2", "dof", "p", "cramers_v", "p_cmh", "p_permutation")
    for column, part in found["contexts"].items():
        if part["h1"]:
            rows = [
                {**{name: row[name] for name in names}, "p_holm": row["p_permutation_holm"]}
                for row in part["h1"]
            ]
            print_table(
                rows,
                title=f"H1: accuracy changes between contexts of {column} (small p: it does)",
                first=("metric", "p_holm", "p_permutation", "cramers_v", "chi2", "dof", "p"),
            )
    note(remarks(findings))
    if folder is not None:
        say(f"Report: {display_path(folder / 'report.html')}")


def criteria(texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """`["licence:bleu=1,comet=0"]` as numbers per metric, one entry a criterion."""
    found: dict[str, dict[str, float]] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        numbers = dict(part.rpartition("=")[::2] for part in split_list(rest))
        try:
            found[name] = {metric.strip(): float(number) for metric, number in numbers.items()}
        except ValueError:
            colon = ""
        if not colon or not numbers or not all(numbers):
            raise InputError(f"--criterion {text!r} is not NAME:METRIC=NUMBER,….")
    return found


def run_recommend(
    run: Annotated[str, typer.Argument(help="A run folder.", metavar="RUN")],
    *,
    context: Annotated[str | None, typer.Option(help="One column of contexts; default all.")] = None,
    criterion: Annotated[
        list[str],
        typer.Option(help="Your own, higher is better; repeatable.", metavar="NAME:METRIC=NUMBER,…"),
    ] = [],  # noqa: B006
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Which metric to use in each context, and why; with --criterion by your own criteria too."""
    from metassay.reporting.answer import answer_lines
    from metassay.reporting.wording import in_labels
    from metassay.workflows.recommend import recommend

    result = recommend(run, context=context, criteria=criteria(criterion))
    if json:
        print(result.to_json())
        return
    found = in_labels(result.to_dict())
    say(*answer_lines(found))
    for column, contexts in found["recommendation"].items():
        rows = [
            {
                "context": name,
                "use": entry["choice"],
                "top group": ", ".join(entry["top_group"]),
                "why": entry["why"],
            }
            for name, entry in contexts.items()
        ]
        print_table(rows, title=f"By {column}")
        robust = found["robust_choice"][column]
        if robust is not None:
            say(f"Where the mix of {column} may change, {robust} holds up best.")
        print_table(found["robustness"][column])
    print_table(
        [
            {"metric": name, "cost": cost, "seconds per 1000 outputs": found["cost"].get(name)}
            for name, cost in found["cost_class"].items()
        ]
    )
    if found["pareto"] and len(set(found["cost_class"].values())) > 1:
        say(f"None is both more accurate and cheaper than: {', '.join(found['pareto'])}.")


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


SHOWN = (
    *("judge", "pairs", "accuracy", "low", "high", "base_rate", "both_orders_same", "position_bias"),
    *("length_bias", "repeats_same", "missing"),
)


def run_judge(
    data: DataOptions,
    output: OutputOptions,
    model: LlmOptions,
    *,
    judge: Annotated[
        str | None, typer.Option(help="Ask the model: judge(mode=direct, rubric, spans or pairwise).")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Ask the model so many times.")] = 1,
    human: Annotated[str | None, typer.Option(help="The column with what people say.")] = None,
    people: Annotated[
        str | None, typer.Option(help="Columns or judges that are single people, comma-separated.")
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="The column of model families.", metavar="COLUMN")
    ] = None,
    context: Annotated[
        list[str], typer.Option(help="Also within each value of this column.", metavar="COLUMN")
    ] = [],  # noqa: B006
    ties: Annotated[str, typer.Option(help="A verdict that flips with the order: half or strict.")] = "half",
    epsilon: Annotated[
        float, typer.Option(help="Alternative annotator test: .2 experts, .15 skilled, .1 a crowd.")
    ] = 0.2,
) -> None:
    """Can a judge be trusted here, and whom does it favour? From tables of item, judge, winner or score."""
    from metassay.workflows.judge import judge as measure

    if not data.data:
        raise InputError("no data was named.", remedy="Name a table with the columns item, judge and winner.")
    result = measure(
        data.data,
        join=data.join,
        columns=data.columns or {},
        human=human,
        people=split_names(people),
        family=family,
        context=context or None,
        ties=ties,
        epsilon=epsilon,
        seed=output.seed,
        out=output.out,
        quoting=data.quoting,
        llm=model.settings(),
        judge=judge,
        repeats=repeats,
        language=data.language,
    )
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict(), result.sentences())
    if output.out:
        say(f"Report: {output.out}/report.html")


def _show(found: dict[str, Any], sentences: list[str]) -> None:
    known = [name for name in SHOWN if any(row[name] is not None for row in found["judges"])]
    rows = [{name: row[name] for name in known} for row in found["judges"]]
    print_table(rows, title="Judges, against people and against themselves")
    for column, entries in found["contexts"].items():
        print_table(entries, title=f"Accuracy by {column}")
    tests = ("judge", "winning_rate", "advantage", "epsilon", "passes")
    print_table([{k: row[k] for k in tests} for row in found["alt_test"]], title="Alternative annotator test")
    print_table(found["self_preference"], title="Self-preference by family")
    print_table(found["drift"], title="Drift")
    say(*sentences)
    note(found["notes"])
