"""`overview`: many runs at a glance, for `metassay serve`; read again only where their folders changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, MetassayError, Place, display_path
from metassay.meta.contexts import run_comparison
from metassay.reporting.answer import answer
from metassay.reporting.findings import find
from metassay.reporting.reasons import with_sentences
from metassay.store.layout import MANIFEST
from metassay.store.remote import delete_file, open_run, open_runs
from metassay.store.run_folder import RunFolder, read_manifest
from metassay.workflows.pair_table import EXPLORER, PAIRS
from metassay.workflows.run_files import REPORT, RESULT, SCHEMA_VERSION, Result, assay_run, run_folders

NOTES = "notes.txt"
LONGEST_NOTES = 20_000
State = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of each file that decides what is shown of a run; None where it is not there."""


@dataclass(frozen=True, repr=False)
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


@dataclass(frozen=True, repr=False)
class CompareResult(Result):
    """Each run against the one before it."""

    runs: tuple[str, ...]
    comparisons: list[dict[str, Any]]

    @property
    def changed(self) -> bool:
        """Whether any accuracy, order or recommendation changed by more than chance."""
        return any(comparison["changed"] for comparison in self.comparisons)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay compare`."""
        pairs = zip(self.runs, self.runs[1:], self.comparisons)
        return {
            "schema_version": SCHEMA_VERSION,
            "runs": list(self.runs),
            "changed": self.changed,
            "comparisons": [{"before": before, "after": after, **found} for before, after, found in pairs],
        }

    def to_frame(self) -> pl.DataFrame:
        """Moved accuracies: one row per comparison, column, context and metric."""
        rows = [
            {"before_run": entry["before"], "after_run": entry["after"], **row}
            for entry in self.to_dict()["comparisons"]
            for row in entry["accuracies"]
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def compare(*runs: str | Path) -> CompareResult:
    """Compare finished assays in the order given; a folder of runs stands for all in it, by name.

    >>> import tempfile
    >>> from metassay.workflows.assay import assay, read_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "rouge1,rougel", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_sample("text"), resamples=20, permutations=19, out=run, **few)
    >>> compare(run, run).changed
    False
    """
    folders = run_folders(runs)
    if len(folders) < 2:
        raise InputError(
            "there is one run only.", remedy="Name two or more runs, or a folder that holds them."
        )
    opened = [assay_run(folder) for folder in folders]
    results = [run.read_checked(RESULT, "assay") for run in opened]
    tasks = sorted({result["task"] for result in results})
    if len(tasks) > 1:
        raise InputError(f"these runs are of different tasks ({', '.join(tasks)}).")
    with opened[-1].explain_errors():
        return CompareResult(
            tuple(map(display_path, folders)),
            [with_sentences(found) for found in run_comparison.compare_series(results)],
        )


def overview(*runs: str | Path) -> OverviewResult:
    """Look at runs in the order given; a folder of runs stands for all in it, by name.

    A run that cannot be made sense of is there too, with its `error`.
    """
    return Shelf(runs).overview()


class Shelf:
    """The runs that a person named, by names that stay the same while runs come and go."""

    def __init__(self, runs: Sequence[str | Path]) -> None:
        open_folder = open_runs if len(runs) == 1 else open_run
        self.named = tuple(open_folder(run) for run in runs)
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
                kept[key] = self._changes.get(key) or _change(*key)
                found.append({"before": before["name"], "after": after["name"], **kept[key]})
        self._changes = kept
        return found


def read_report(run: RunFolder) -> bytes | None:
    """The report of a run; None where it left none."""
    file = run.find_file(REPORT)
    return None if file is None else file.read_bytes()


def read_notes(run: RunFolder) -> str:
    """What people wrote about a run."""
    file = run.find_file(NOTES)
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
            delete_file(run.path / NOTES)
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
        "folder": display_path(folder),
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
        with run.explain_errors():
            return entry | _of_result(run)
    except (MetassayError, OSError) as error:
        return entry | {"error": str(error)}


def _run(folder: Path) -> RunFolder:
    """The run of a folder whose manifest and result are its own, not links to other files."""
    for name in (MANIFEST, RESULT):
        RunFolder(folder, {}).find_file(name)
    return RunFolder.load(folder)


def _of_result(run: RunFolder) -> dict[str, Any]:
    """What an assay found; nothing of other runs and unfinished ones."""
    links = {"report": run.find_file(REPORT) is not None, "explorer": run.find_file(PAIRS) is not None}
    if run.find_file(RESULT) is None:
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


@lru_cache(maxsize=2)
def _result(folder: Path, state: State) -> dict[str, Any]:  # noqa: ARG001 -- a changed folder is read again
    """What an assay found: compared with the run before it and the one after it, and read once for both."""
    return _run(folder).read_checked(RESULT, "assay")


def _change(before: tuple[Path, State], after: tuple[Path, State]) -> dict[str, Any]:
    """What changed by more than chance; why that cannot be said, where it cannot."""
    try:
        run = _run(after[0])
        with run.explain_errors():
            old, new = (_result(*each) for each in (before, after))
            change = with_sentences(run_comparison.compare(old, new))
    except (MetassayError, OSError) as error:
        return {"changed": False, "sentences": [], "error": str(error)}
    return {"changed": change["changed"], "sentences": change["sentences"], "error": None}
