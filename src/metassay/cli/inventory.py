"""`metassay list`, `models` and `cache`: what is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.printing import print_table, say


def run_list(
    kind: Annotated[
        str, typer.Argument(help="metrics, perturbations, readers or resources.", metavar="KIND")
    ],
    *,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Which metrics, perturbations, readers and resources there are."""
    from metassay.workflows.listing import listing

    result = listing(kind)
    if json:
        print(result.to_json())
    else:
        print_table(result.rows, first=(next(iter(result.rows[0])), "what", "task", "better", "default"))


def run_models(
    folder: Annotated[
        list[str] | None, typer.Argument(help="Folders to look at beside the hub's cache.", metavar="FOLDER")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Which neural models are on this machine: size, hash, languages, licence."""
    from metassay.workflows.listing import models

    result = models(*(folder or []))
    if json:
        print(result.to_json())
        return
    if not result.rows:
        say(f"No model was found in {' or '.join(result.searched)}.")
    shown = ("model", "metrics", "megabytes", "weights", "licence")
    for row in result.rows:
        row["licence"] = (
            f"{row['licence']} (non-commercial)" if row["commercial_use"] is False else row["licence"]
        )
    print_table(
        [
            {name: row[name] for name in shown}
            | {"languages": _languages(row["languages"]), "note": row["note"]}
            for row in result.rows
        ]
    )
    say(*(f"{row['model']}: {row['folder']}" for row in result.rows))


def _languages(codes: list[str] | None) -> str | None:
    if codes is None:
        return None
    return ", ".join(codes) if len(codes) <= 4 else f"{len(codes)}: {', '.join(codes[:3])} …"


def run_cache(
    action: Annotated[str, typer.Argument(help="info, prune or verify.", metavar="ACTION")],
    *,
    cache: Annotated[
        str | None, typer.Option(help="The folder; default METASSAY_CACHE.", metavar="FOLDER")
    ] = None,
    most: Annotated[
        float, typer.Option(help="prune: so many gigabytes may stay, what was of use last.", min=0)
    ] = 10.0,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Scores that runs share: what is there (info), less of it (prune), is it whole (verify)."""
    from metassay.workflows.listing import score_cache

    result = score_cache(action, cache, most=most)
    if json:
        print(result.to_json())
    else:
        print_table(result.rows)
        done = {"info": "", "prune": f"Parts removed: {result.removed}. ", "verify": "All are whole. "}
        lost = f"Broken and set aside: {len(result.broken)}. " if result.broken else done[action]
        say(f"{lost}{result.folder} holds {result.parts} parts, {result.bytes / 1e6:,.1f} MB.")
    if result.broken:
        raise typer.Exit(2)


def completions(option: str, incomplete: str) -> list[str]:
    """What may stand for an option, of a list after its last comma; contexts and systems from the data."""
    head, comma, last = incomplete.rpartition(",")
    try:
        found = _values(option)
    except Exception:  # noqa: BLE001 - the shell is asked nothing; it offers nothing
        return []
    return [f"{head}{comma}{name}" for name in found if name.lower().startswith(last.lower())]


def _values(option: str) -> list[str]:
    from metassay.tasks.registry import known_tasks
    from metassay.workflows.listing import listing
    from metassay.workflows.read import read

    if option in {"metrics", "perturbations"}:
        names = [str(next(iter(row.values()))) for row in listing(option).rows]
        shown = [f"{name.removesuffix('_k')}_10" if name.endswith("_k") else name for name in names]
        return [*shown, "chrf++"] if option == "metrics" else shown
    if option == "task":
        return list(known_tasks())
    typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    found = read([word for word in typed.split()[2:] if Path(word).exists()])
    columns = {"human": found.human, "systems": found.systems}
    return list(columns.get(option, ("system", *found.metadata, *found.human)))
