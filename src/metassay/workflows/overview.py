"""`overview`: many runs at a glance, for `metassay serve`; read again only where their folders changed.

`report`: the report of a run, made again from what the run left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, MetassayError, Place
from metassay.meta.contexts.drift import compare
from metassay.reporting.answer import answer
from metassay.reporting.findings import find
from metassay.reporting.html import render
from metassay.reporting.reasons import with_sentences
from metassay.reporting.score_pages import render_aggregation, render_ranking
from metassay.store.run import MANIFEST, RunFolder, read_manifest
from metassay.workflows.pair_table import EXPLORER, PAIRS
from metassay.workflows.run_files import (
    EXAMPLES,
    REPORT,
    RESULT,
    SCHEMA_VERSION,
    Result,
    assay_run,
    command_of,
    report_content,
    run_folders,
)

PAGES = {"rank": render_ranking, "aggregate": render_aggregation}

NOTES = "notes.txt"
LONGEST_NOTES = 20_000
State = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of each file that decides what is shown of a run; None where it is not there."""


@dataclass(frozen=True)
class OverviewResult(Result):
    """Every run, and each assay against the one before it of the same task and kind of pairs."""

    runs: list[dict[str, Any]]
    comparisons: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that `metassay serve` answers with."""
        return {"schema_version": SCHEMA_VERSION, "runs": self.runs, "comparisons": self.comparisons}

    def to_frame(self) -> pl.DataFrame:
        """Accuracy over all contexts: one row per run and metric."""
        rows = [{"run": run["name"], **row} for run in self.runs for row in run["metrics"]]
        return pl.DataFrame(rows, infer_schema_length=None)


def overview(*runs: str | Path) -> OverviewResult:
    """Look at runs in the order given; a folder of runs stands for all in it, by name.

    A run that cannot be made sense of is there too, with its `error`.
    """
    return Shelf(runs).overview()


class Shelf:
    """The runs that a person named, by names that stay the same while runs come and go."""

    def __init__(self, runs: Sequence[str | Path]) -> None:
        self.named = tuple(runs)
        for folder in self.folders().values():
            if not (folder / MANIFEST).is_file():
                read_manifest(folder)  # says what it is not: a name that was mistyped is no broken run
        self._entries: dict[tuple[Path, State], dict[str, Any]] = {}
        self._changes: dict[tuple[tuple[Path, State], tuple[Path, State]], dict[str, Any]] = {}
        self._latest: tuple[tuple[tuple[Path, State], ...], OverviewResult] | None = None

    def folders(self) -> dict[str, Path]:
        """The run folders by the names they go by: that of the folder, with a number where it is taken."""
        found: dict[str, Path] = {}
        for folder in run_folders(self.named):
            name = folder.resolve().name.encode(errors="backslashreplace").decode() or "run"
            number = sum(known == name or known.startswith(f"{name}~") for known in found)
            found[f"{name}~{number + 1}" if name in found else name] = folder
        if not found:
            raise InputError("there is no run in this folder.", place=Place(file=str(self.named[0])))
        return found

    def entry(self, name: str) -> dict[str, Any]:
        """What there is to say of one run, without looking at the others."""
        folder = self.folders()[name]
        return self._entries.get((folder, _state(folder))) or _entry(folder)

    def explorable(self) -> list[str]:
        """The names of the runs that left pairs."""
        return [name for name, folder in self.folders().items() if (folder / PAIRS).is_file()]

    def state(self) -> tuple[tuple[Path, State], ...]:
        """What the overview depends on: the same state, the same overview."""
        return tuple((folder, _state(folder)) for folder in self.folders().values())

    def overview(self) -> OverviewResult:
        """Every run as it is now."""
        folders = self.folders()
        keys = {name: (folder, _state(folder)) for name, folder in folders.items()}
        now = tuple(keys.values())
        if self._latest is not None and self._latest[0] == now:
            return self._latest[1]
        self._entries = {key: self._entries.get(key) or _entry(key[0]) for key in now}
        entries = [{"name": name, **self._entries[key]} for name, key in keys.items()]
        result = OverviewResult(entries, self._comparisons(entries, keys))
        self._latest = (now, result)
        return result

    def run(self, name: str) -> RunFolder | None:
        """The run that goes by a name."""
        folder = self.folders().get(name)
        return None if folder is None else _run(folder)

    def _comparisons(
        self, entries: list[dict[str, Any]], keys: Mapping[str, tuple[Path, State]]
    ) -> list[dict[str, Any]]:
        """Each assay against the one before it of the same task, with pairs of the same kind."""
        found, kept = [], {}
        for kind in sorted({_kind(entry) for entry in entries if entry["task"]}):
            for before, after in pairwise(entry for entry in entries if _kind(entry) == kind):
                key = (keys[before["name"]], keys[after["name"]])
                kept[key] = self._changes.get(key) or _change(key[0][0], key[1][0])
                found.append({"before": before["name"], "after": after["name"], **kept[key]})
        self._changes = kept
        return found


def read_report(run: RunFolder) -> bytes | None:
    """The report of a run; None where it left none."""
    file = run.file(REPORT)
    return None if file is None else file.read_bytes()


def read_notes(run: RunFolder) -> str:
    """What people wrote about a run."""
    file = run.file(NOTES)
    return "" if file is None else file.read_bytes()[: 4 * LONGEST_NOTES].decode(errors="replace")


def write_notes(run: RunFolder, text: str, *, before: str) -> None:
    """Keep what people write about a run, unless somebody else wrote since they read `before`."""
    place = Place(file=str(run.path / NOTES))
    if len(text) > LONGEST_NOTES:
        raise InputError(f"notes of more than {LONGEST_NOTES:,} characters are not kept.", place=place)
    if read_notes(run) != before:
        raise InputError(
            "somebody else wrote notes in the meantime.", place=place, remedy="Look at those first."
        )
    try:
        if text:
            run.write_text(NOTES, text)
        else:
            (run.path / NOTES).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"notes cannot be written ({error.strerror}).", place=place) from None


def _kind(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Runs of one kind can be compared: one task, and pairs that people chose are not those made by rule."""
    return str(entry["task"] or ""), str(entry["pairs_from"] or "")


def _state(folder: Path) -> State:
    files = (_stamp(folder / name) for name in (MANIFEST, RESULT, REPORT, EXPLORER, PAIRS))
    return (_stamp(folder / "results", link=True), *files)


def _stamp(file: Path, *, link: bool = False) -> tuple[int, int, int] | None:
    try:
        found = file.lstat() if link else file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _entry(folder: Path) -> dict[str, Any]:
    """What there is to say of a run; of one that cannot be made sense of, why."""
    nothing = dict.fromkeys(("task", "items", "outputs", "pairs", "pairs_from", "answer"))
    entry: dict[str, Any] = {
        "folder": str(folder),
        "command": "",
        "state": "",
        **nothing,
        "metrics": [],
        "error": None,
    }
    try:
        run = _run(folder)
        entry["command"] = str(run.identity.get("command", ""))
        entry["state"] = str(read_manifest(folder).get("state", ""))
        configuration = run.identity.get("configuration")
        entry["pairs_from"] = str(configuration.get("pairs", "")) if isinstance(configuration, dict) else ""
        with run.understood():
            return entry | _of_result(run)
    except (MetassayError, OSError) as error:
        return entry | {"error": str(error)}


def _run(folder: Path) -> RunFolder:
    """The run of a folder whose manifest and result are its own, not links to other files."""
    for name in (MANIFEST, RESULT):
        RunFolder(folder, {}).file(name)
    return RunFolder.existing(folder)


def _of_result(run: RunFolder) -> dict[str, Any]:
    """What an assay found; nothing of other runs and unfinished ones."""
    links = {"report": run.file(REPORT) is not None, "explorer": run.file(PAIRS) is not None}
    if run.file(RESULT) is None:
        return links
    result = run.read_checked(RESULT, "assay")
    said = answer(find(result))
    kept = ("metric", "accuracy", "low", "high")
    return {
        **links,
        **{name: result[name] for name in ("task", "items", "outputs", "pairs")},
        "answer": str(said[0]) if said else None,
        "metrics": [{name: row[name] for name in kept} for row in result["global"]],
    }


def _change(before: Path, after: Path) -> dict[str, Any]:
    """What changed by more than chance; why that cannot be said, where it cannot."""
    try:
        run = _run(after)
        with run.understood():
            old, new = (_run(folder).read_checked(RESULT, "assay") for folder in (before, after))
            change = with_sentences(compare(old, new))
    except (MetassayError, OSError) as error:
        return {"changed": False, "sentences": [], "error": str(error)}
    return {"changed": change["changed"], "sentences": change["sentences"], "error": None}


def report(run: str | Path) -> Path:
    """Write `report.html` of a finished run of `assay`, `rank` or `aggregate` anew and return its path.

    >>> import tempfile
    >>> from metassay.workflows.assay import assay, read_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "rouge1,rougel", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_sample("text"), resamples=20, permutations=19, out=run, **few)
    >>> report(run).name
    'report.html'
    """
    folder = RunFolder.existing(run)
    with folder.understood():
        command = command_of(folder)
        if command in PAGES:
            page = PAGES[command](folder.read_json(f"results/{command}.json"))
        else:
            page = render(run_content(assay_run(run)))
    folder.write_text(REPORT, page)
    return folder.path / REPORT


def run_content(folder: RunFolder) -> dict[str, Any]:
    """Everything that a finished run says."""
    return report_content(
        folder.read_checked(RESULT, "assay"), folder.read_json(EXAMPLES), read_manifest(folder.path)
    )
