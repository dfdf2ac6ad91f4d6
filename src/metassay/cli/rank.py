"""`metassay rank`."""

from __future__ import annotations

from typing import Any

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.workflows.settings import RankSettings, ScoreReading


def run_rank(
    data: DataOptions,
    output: OutputOptions,
    settings: RankSettings,
    reading: ScoreReading,
) -> None:
    """Which metric agrees best with people? Ranks metrics against human scores, with tests between them."""
    from metassay.workflows.rank import rank

    with progress(output) as show:
        result = rank(
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
        return
    _show(result.to_dict())
    if output.out:
        say(f"Report: {output.out}/report.html")


def _show(found: dict[str, Any]) -> None:
    from metassay.reporting.score_pages import best_sentence, significance_sentence
    from metassay.reporting.wording import in_labels

    found = in_labels(found)
    whole = [one for one in found["results"] if one["context"] == "global"] or found["results"]
    say(*(best_sentence(one, found["human"]) for one in whole))
    for one in found["results"]:
        where = "" if one["context"] == "global" else f", {one['context']}"
        title = f"{one['meta']} with {found['human']}, {one['dataset']}{where}"
        dropped = f" ({one['dropped_segments']} dropped)" if one["dropped_segments"] else ""
        say(f"{title}: {one['systems']} systems, {one['segments']} segments{dropped}.")
        print_table([_row(row) for row in one["metrics"]])
        if one["comparisons"]:
            say(significance_sentence(one))
    for mean in found["average"]:
        say(f"Average of {mean['meta']} over {', '.join(mean['datasets'])}.")
        print_table(mean["metrics"])
    for name, rows in found.get("analysis", {}).items():
        print_table(rows, title=name)
    note(found["notes"])


def _row(row: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row.items() if name != "baseline"}
    return shown | {"metric": row["metric"] + (" (baseline)" if row["baseline"] else "")}
