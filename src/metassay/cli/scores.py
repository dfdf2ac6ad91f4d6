"""`metassay rank`, `depend` and `aggregate`: what takes scores beside those of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.options import Settings
from metassay.workflows.options import AggregateSettings, DependSettings, RankSettings, ScoreReadOptions


def _of_scores(
    verb: Callable[..., Any],
    data: DataOptions,
    output: OutputOptions,
    settings: Settings,
    reading: ScoreReadOptions,
) -> Any:
    """The result of a verb that reads scores; with --json it is printed."""
    with progress(output) as show:
        result = verb(
            data.data,
            **settings.to_dict(),
            **reading.to_dict(),
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=show,
        )
    if output.json:
        print(result.to_json())
    return result


def _say_where(output: OutputOptions) -> None:
    if output.out:
        say(f"Report: {output.out}/report.html")


def run_rank(
    data: DataOptions,
    output: OutputOptions,
    settings: RankSettings,
    reading: ScoreReadOptions,
) -> None:
    """Which metric agrees best with people? Ranks metrics against human scores, with tests between them."""
    from metassay.workflows.rank import rank

    result = _of_scores(rank, data, output, settings, reading)
    if not output.json:
        _show_ranking(result.to_dict())
        _say_where(output)


def _show_ranking(found: dict[str, Any]) -> None:
    from metassay.reporting.ranking_page import best_sentence, significance_sentence
    from metassay.reporting.wording import in_labels

    found = in_labels(found)
    whole = [one for one in found["results"] if one["context"] == "global"] or found["results"]
    say(*(best_sentence(one, found["human"]) for one in whole))
    for one in found["results"]:
        where = "" if one["context"] == "global" else f", {one['context']}"
        title = f"{one['meta']} with {found['human']}, {one['dataset']}{where}"
        dropped = f" ({one['dropped_segments']} dropped)" if one["dropped_segments"] else ""
        say(f"{title}: {one['systems']} systems, {one['segments']} segments{dropped}.")
        print_table([_ranking_row(row) for row in one["metrics"]], first=("metric", "rank", "value"))
        if one["comparisons"]:
            say(significance_sentence(one))
    for mean in found["average"]:
        say(f"Average of {mean['meta']} over {', '.join(mean['datasets'])}.")
        print_table(mean["metrics"])
    for name, rows in found.get("analysis", {}).items():
        print_table(rows, title=name)
    note(found["notes"])


def _ranking_row(row: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row.items() if name != "baseline"}
    return shown | {"metric": row["metric"] + (" (baseline)" if row["baseline"] else "")}


DEPENDENCE = """\
SysDep is how much further one system is flattered than another, in points of the human score. A metric that
knows nothing has the value under constant; what noise alone does not explain is under residual.
p equal: every system has the same expected human score given the metric. p fair: the metric is the human
score plus noise that prefers nobody. p equal supposes that residuals spread alike in all systems (with one
three times as noisy it rejects in 12 % instead of 5), p fair that noise has one size (a metric that sees
large errors only fails it more often, however evenly it does so)."""
PANEL_EXPLANATION = """\
SysDep is how much further one system is flattered than another, in standard deviations of the other metrics,
whose mean stands where people have not rated. A preference that all metrics share does not show.
p equal: every system has the same expected mean of the others given the metric. p fair: the metric is that
mean plus noise that prefers nobody."""


def run_depend(
    data: DataOptions,
    output: OutputOptions,
    settings: DependSettings,
    reading: ScoreReadOptions,
) -> None:
    """Whom does each metric flatter? SysDep and expected deviations, and what part of them is mere noise."""
    from metassay.workflows.depend import depend

    result = _of_scores(depend, data, output, settings, reading)
    if not output.json:
        _show_dependence(result.to_dict(), panel=settings.panel)
        _say_where(output)


def _show_dependence(found: dict[str, Any], *, panel: bool) -> None:
    from metassay.reporting.dependence_page import correction_sentences
    from metassay.reporting.wording import in_labels

    found = in_labels(found)
    for dataset in dict.fromkeys(entry["dataset"] for entry in found["metrics"]):
        entries = [entry for entry in found["metrics"] if entry["dataset"] == dataset]
        print_table(
            [_dependence_row(entry) for entry in entries],
            title=f"Dependence on {found['by']}, {dataset}, against {found['human']} (least first)",
            first=(
                "metric",
                "sysdep",
                "low",
                "high",
                "p_equal",
                "p_fair",
                "flattered",
                "wronged",
                "residual",
            ),
        )
        print_table([row for entry in entries for row in _local_rows(entry)], title="Within contexts")
        print_table(
            [{"metric": entry["metric"]} | row for entry in entries for row in entry["sensitivity"]],
            title="How SysDep reacts to what is not the metric",
        )
        tried = [row for row in found.get("corrections", []) if row["dataset"] == dataset]
        if tried:
            shown = ("metric", "mapping", "spa", "spa_gain", "spa_low", "spa_high", "pa", "pa_gain")
            print_table(
                [{name: row[name] for name in (*shown, "kendall_item", "tied", "sysdep")} for row in tried],
                title="Read as human scores, tried on segments that were not fitted to",
            )
            say(*correction_sentences(tried, found["human"]))
    say(PANEL_EXPLANATION if panel else DEPENDENCE)
    note(found["notes"])


def _dependence_row(entry: dict[str, Any]) -> dict[str, Any]:
    residual, pairs = entry["residual"], entry["inversions"]
    shown = ("metric", "sysdep", "low", "high", "constant", "ratio")
    return {name: entry[name] for name in shown} | {
        "residual": entry["residual_range"],
        "p_equal": entry["p_equal"],
        "p_fair": entry["p_fair"],
        "flattered": max(residual, key=residual.__getitem__),
        "wronged": min(residual, key=residual.__getitem__),
        "inverted": len(pairs),
        "worst": f"{pairs[0]['better']} > {pairs[0]['worse']}" if pairs else None,
    }


def _local_rows(entry: dict[str, Any]) -> list[dict[str, Any]]:
    shown = ("context", "outputs", "sysdep", "low", "high", "constant", "residual_range")
    return [{"metric": entry["metric"]} | {name: row[name] for name in shown} for row in entry["local"]]


AGGREGATION = """\
corpus: one score from the summed statistics. segment (m-): the mean of the segment scores. bootstrap (x-):
the mean of corpus scores over resamples. After ±, the standard error over resampled segments."""


def run_aggregate(data: DataOptions, output: OutputOptions, settings: AggregateSettings) -> None:
    """Corpus scores or means of segments? Three aggregations of every system, compared, also with people."""
    from metassay.workflows.aggregate import aggregate

    dataset = data.read()
    with progress(output) as show:
        result = aggregate(
            dataset,
            **settings.to_dict(),
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    _show_aggregation(result.to_dict())
    _say_where(output)


def _show_aggregation(found: dict[str, Any]) -> None:
    from metassay.reporting.score_pages import aggregation_sentences
    from metassay.reporting.wording import in_labels

    found = in_labels(found)
    say(*aggregation_sentences(found))
    print_table([_with_errors(row) for row in found["systems"]], title="System scores")
    print_table(found["between"], title="Pearson between aggregations, over all systems")
    print_table(found["downsampled"], title="Pearson after keeping few segments")
    means = [row for row in found["human"] if row["group"] == "mean"]
    print_table(means or found["human"], title="Pearson of system scores with people, mean over test sets")
    say(AGGREGATION)
    note(found["notes"])


def _with_errors(row: dict[str, Any]) -> dict[str, Any]:
    errors = row["standard_errors"]
    shown = {name: value for name, value in row.items() if name != "standard_errors"}
    return shown | {
        name: f"{row[name]:.3f} ± {error:.3f}"
        for name, error in errors.items()
        if row[name] is not None and error is not None
    }
