"""`metassay check`."""

from __future__ import annotations

from typing import Any

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import note, print_table, say
from metassay.workflows.settings import CheckSettings


def run_check(data: DataOptions, output: OutputOptions, settings: CheckSettings) -> None:
    """What was recognised, left out and missing, and what an assay would cost. The first thing to run."""
    from metassay.workflows.check import check

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
