"""The runs that the dashboard shows: summaries, and what changed between runs. They are computed again only
if files changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import msgspec

from metassay.errors import InputError, InputLocation, MetassayError, UnknownName, format_path_for_user
from metassay.results.assay import AssayContent
from metassay.results.overview import OverallAccuracy, OverviewContent, RunChange, RunSummary
from metassay.results.verdict import Claim
from metassay.store.layout import MANIFEST
from metassay.store.remote import download_run_if_remote, download_runs_if_remote
from metassay.store.run_folder import RunFolder, read_manifest
from metassay.workflows.changed_options import read_configuration
from metassay.workflows.compare import compare_run_folders
from metassay.workflows.pair_table import EXPLORER_FILE, PAIRS_FILE
from metassay.workflows.run_files import REPORT, RESULT, find_run_folders, get_run_command

# Runs that the overview shows on one page: as many as are read and compared in a second or two.
RUNS_PER_PAGE = 50
# Inode, size and time of a file; None where it does not exist.
FileState = tuple[int, int, int] | None
# A run folder, and the state of the files that its summary depends on.
RunState = tuple[Path, tuple[FileState, ...]]


class RunCollection:
    """The runs in the folders that a user named. New runs may appear in the folders, and runs may
    disappear.
    """

    def __init__(self, runs: Sequence[str | Path]) -> None:
        # Only a single folder can stand for all runs in it.
        open_folder = download_runs_if_remote if len(runs) == 1 else download_run_if_remote
        self._paths = tuple(open_folder(run) for run in runs)
        for folder in self.list_run_folders().values():
            if not (folder / MANIFEST).is_file():
                read_manifest(folder)  # raises an error: a mistyped name is not a broken run
        self._summaries: dict[RunState, RunSummary] = {}
        self._changes: dict[tuple[RunState, RunState], RunChange] = {}
        self._latest: tuple[object, OverviewContent] | None = None
        """The overview that was made last, and all that it depends on."""

    def list_run_folders(self) -> dict[str, Path]:
        """Return the folder of each run by name. If two folders have the same name, a number is added to the
        second.
        """
        folder_by_name: dict[str, Path] = {}
        for folder in find_run_folders(self._paths):
            # Only names such as `.` need resolving, which takes long for thousands of folders.
            last_part = folder.resolve().name if folder.name in {"", ".."} else folder.name
            # File names on Linux may have bytes that are no UTF-8, and names go into addresses and JSON.
            name = last_part.encode(errors="backslashreplace").decode() or "run"
            if name in folder_by_name:
                same = [known for known in folder_by_name if known == name or known.startswith(f"{name}~")]
                name = f"{name}~{len(same) + 1}"
            folder_by_name[name] = folder
        if not folder_by_name:
            raise InputError(
                "there is no run in this folder.", location=InputLocation(file=str(self._paths[0]))
            )
        return folder_by_name

    def open_run(self, run_name: str) -> RunFolder | None:
        """Open the run with this name. Returns None if there is none."""
        folder = self.list_run_folders().get(run_name)
        return None if folder is None else _open_run_with_symlink_check(folder)

    def summarize_run(self, run_name: str) -> RunSummary:
        """Summarise one run without reading the other runs."""
        folder = self.list_run_folders()[run_name]
        summary = self._summaries.get(_read_file_times_and_sizes(folder)) or _summarize_run(folder)
        return msgspec.structs.replace(summary, name=run_name)

    def list_runs_with_searchable_pairs(self) -> list[str]:
        """List the names of the runs that contain pairs, which users can search."""
        return [name for name, folder in self.list_run_folders().items() if (folder / PAIRS_FILE).is_file()]

    def read_file_times_and_sizes(self, run_name: str) -> RunState:
        """Return the modification times and sizes of the files of a run. They show whether the run has
        changed.
        """
        return _read_file_times_and_sizes(self.list_run_folders()[run_name])

    def summarize_runs_on_page(self, page: int | None = None) -> OverviewContent:
        """Summarise the runs on one page of the list of runs. By default it is the last page.

        Raises `UnknownName` for a page that does not exist.
        """
        folder_by_name = self.list_run_folders()
        pages = math.ceil(len(folder_by_name) / RUNS_PER_PAGE)
        page = pages if page is None else page
        if not 1 <= page <= pages:
            raise UnknownName("page", str(page), [str(number) for number in range(1, pages + 1)])
        first = (page - 1) * RUNS_PER_PAGE
        names = list(folder_by_name)[first : first + RUNS_PER_PAGE]
        state_by_name = {name: _read_file_times_and_sizes(folder_by_name[name]) for name in names}
        states = (tuple(state_by_name.items()), page, len(folder_by_name))
        if self._latest is not None and self._latest[0] == states:
            return self._latest[1]
        # Runs that were deleted, or are on another page, are dropped from the cache.
        self._summaries = {
            state: self._summaries.get(state) or _summarize_run(folder=state[0])
            for state in state_by_name.values()
        }
        summaries = [
            msgspec.structs.replace(self._summaries[state], name=name)
            for name, state in state_by_name.items()
        ]
        overview = OverviewContent(
            runs=summaries,
            comparisons=self._compare_each_run_with_previous(summaries, state_by_name),
            page=page,
            pages=pages,
            total=len(folder_by_name),
        )
        self._latest = (states, overview)
        return overview

    def _compare_each_run_with_previous(
        self, run_summaries: Sequence[RunSummary], file_state_by_run: Mapping[str, RunState]
    ) -> list[RunChange]:
        """Compare each assay in the list with the previous one of the same task and the same kind
        of pairs.
        """
        comparable: dict[tuple[str, str], list[RunSummary]] = {}
        for summary in run_summaries:
            if summary.task:
                comparable.setdefault(summary.comparison_group, []).append(summary)
        changes: dict[tuple[RunState, RunState], RunChange] = {}
        named_changes: list[RunChange] = []
        for _, group in sorted(comparable.items()):
            for before, after in pairwise(group):
                key = (file_state_by_run[before.name], file_state_by_run[after.name])
                changes[key] = self._changes.get(key) or _compare_assay_runs(*key)
                named_changes.append(
                    msgspec.structs.replace(changes[key], before=before.name, after=after.name)
                )
        self._changes = changes
        return named_changes


def read_report(run_folder: RunFolder) -> bytes | None:
    """Read the HTML report page of a run. Returns None if it has none."""
    file = run_folder.find_intact_file(REPORT)
    return None if file is None else file.read_bytes()


def _read_file_times_and_sizes(folder: Path) -> RunState:
    """Return the modification times and sizes of the files of a run. They show whether the run
    has changed.
    """
    files = [folder / name for name in (MANIFEST, RESULT, REPORT, EXPLORER_FILE, PAIRS_FILE)]
    # A link in its place is a change, even if it leads to the same files.
    results_folder = _read_file_time_and_size(folder / "results", follow_links=False)
    return folder, (results_folder, *(_read_file_time_and_size(file) for file in files))


def _read_file_time_and_size(file: Path, *, follow_links: bool = True) -> FileState:
    """Return the inode, size and modification time of a file, or None if it does not exist."""
    try:
        status = file.stat(follow_symlinks=follow_links)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _open_run_with_symlink_check(folder: Path) -> RunFolder:
    """Open a run folder. Raises an error if its files are links to files outside the folder."""
    for name in (MANIFEST, RESULT):
        # Raises an error for a link out of the folder, before anything is read.
        RunFolder(folder, {}).find_file(name)
    return RunFolder.open_for_reading(folder)


def _summarize_run(folder: Path) -> RunSummary:
    """Summarise a run for the list of runs. The summary of a run that cannot be read has an error message."""
    summary = RunSummary(name="", folder=format_path_for_user(folder))
    try:
        run = _open_run_with_symlink_check(folder)
        summary = msgspec.structs.replace(
            summary,
            command=get_run_command(run),
            state=str(read_manifest(folder).get("state", "")),
            pairs_from=str(read_configuration(run).get("pairs", "")),
        )
        with run.report_unreadable_results():
            return _add_results_of_run_to_summary(summary, run)
    except (MetassayError, OSError) as error:
        return msgspec.structs.replace(summary, error=str(error))


def _add_results_of_run_to_summary(summary: RunSummary, run_folder: RunFolder) -> RunSummary:
    """Add the main conclusion of a finished run to its summary, and for an assay also the accuracy of each
    metric.
    """
    summary = msgspec.structs.replace(
        summary,
        has_report=run_folder.find_file(REPORT) is not None,
        has_pairs=run_folder.find_file(PAIRS_FILE) is not None,
    )
    if run_folder.find_file(RESULT) is None:
        return msgspec.structs.replace(summary, answer=_read_first_conclusion(run_folder, summary.command))
    result = run_folder.read_result(RESULT, AssayContent)
    metrics = [
        OverallAccuracy(metric=row.metric, accuracy=row.accuracy, low=row.low, high=row.high)
        for row in result.overall
    ]
    return msgspec.structs.replace(
        summary,
        task=result.task,
        items=result.items,
        outputs=result.outputs,
        pairs=result.pairs,
        answer=result.verdict[0].sentence if result.verdict else None,
        metrics=metrics,
    )


class _StoredVerdict(msgspec.Struct):
    """The concluding sentences of a stored result. Its other fields are not read."""

    verdict: list[Claim] = msgspec.field(default_factory=list)


def _read_first_conclusion(run_folder: RunFolder, command: str) -> str | None:
    """Read the first sentence of the verdict in the results of a run. Returns None if it has no verdict."""
    if not command.isalpha():  # the manifest may come from anywhere
        return None
    name = f"results/{command}.json"
    if run_folder.find_file(name) is None:
        return None
    verdict = run_folder.read_result(name, _StoredVerdict).verdict
    return verdict[0].sentence if verdict else None


# Successive runs are compared, so the later result of one comparison is the earlier of the next.
@lru_cache(maxsize=2)
def _read_assay_result_of_run(run_state: RunState) -> AssayContent:
    """Read the result of an assay. It is cached until the files of the run change."""
    return _open_run_with_symlink_check(run_state[0]).read_result(RESULT, AssayContent)


def _compare_assay_runs(earlier_run: RunState, later_run: RunState) -> RunChange:
    """Describe what changed from one assay run to another, or why they cannot be compared."""
    try:
        comparison = compare_run_folders(
            _open_run_with_symlink_check(earlier_run[0]),
            _open_run_with_symlink_check(later_run[0]),
            _read_assay_result_of_run(earlier_run),
            _read_assay_result_of_run(later_run),
        )
    except (MetassayError, OSError) as error:
        return RunChange(before="", after="", changed=False, sentences=[], error=str(error))
    return RunChange(before="", after="", changed=comparison.changed, sentences=comparison.sentences)
