"""`report`: write the report page of a finished run, or of several runs on the same data, with figures and
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from metassay.errors import InputError, InputLocation, format_path_for_user
from metassay.reporting.aggregate_page import build_aggregate_page
from metassay.reporting.annotate_page import build_annotate_page
from metassay.reporting.assay_page import build_assay_page
from metassay.reporting.depend_page import build_system_dependence_page
from metassay.reporting.depend_report import CurvesByDataset
from metassay.reporting.estimate_page import build_estimate_page
from metassay.reporting.joined_page import QUESTIONS, build_joined_page
from metassay.reporting.judge_page import build_judge_page
from metassay.reporting.pages import Page, render_page, render_paper_files
from metassay.reporting.rank_page import build_rank_page
from metassay.reporting.score_page import build_score_page
from metassay.results.aggregate import AggregateContent
from metassay.results.annotate import AnnotateContent
from metassay.results.assay import AssayContent
from metassay.results.base import ResultT
from metassay.results.depend import DependContent
from metassay.results.estimate import EstimateContent
from metassay.results.judge import JudgeContent
from metassay.results.rank import RankContent
from metassay.results.score import ScoreContent
from metassay.results.wrong_pairs import WrongPairs
from metassay.store.files import write_bytes
from metassay.store.remote import convert_to_local_path, download_run_if_remote
from metassay.store.run_folder import RunFolder, read_manifest
from metassay.workflows.assay_run_files import select_manifest_entries_for_report
from metassay.workflows.run_files import (
    CURVES,
    EXAMPLES,
    REPORT,
    get_run_command,
    load_assay_run,
)

# The type of the result and the page of each command whose page needs nothing else.
PAGES: dict[str, tuple[Any, Callable[[Any], Page]]] = {
    "aggregate": (AggregateContent, build_aggregate_page),
    "annotate": (AnnotateContent, build_annotate_page),
    "estimate": (EstimateContent, build_estimate_page),
    "judge": (JudgeContent, build_judge_page),
    "rank": (RankContent, build_rank_page),
    "score": (ScoreContent, build_score_page),
}
_MOST_BYTES_BEFORE_TITLE = 2**16
_PAGE_START = b"<!doctype html>"
_TITLE_END = b"metassay</title>"


def report(
    *runs: str | Path,
    out: str | Path | None = None,
    figures: str | None = None,
    tables: str | None = None,
) -> Path:
    """Write the report page of a finished run again, or one page for several runs on the same data.

    `runs` are run folders. One page can show one run each of `assay`, `rank`, `depend` and `aggregate`.

    - `out` is the file to write. It is needed for several runs. For one run it is `report.html` in the run
      folder by default.
    - `figures` is `"svg"`, `"pdf"` or `"png"`, and writes every chart to a folder beside the page, once as
      wide as one column of a paper and once as wide as two.
    - `tables` is `"latex"`, `"markdown"` or `"csv"`, and writes every table to a folder beside the page.

    >>> import tempfile
    >>> from metassay.workflows.assay import assay, read_bundled_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "rouge1,rougel", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_bundled_sample("text"), resamples=20, permutations=19, out=run, **few)
    >>> report(run).name
    'report.html'
    """
    if not runs or (len(runs) > 1 and out is None):
        raise InputError("no file for the page was named.", remedy="Name one: --out page.html")
    folders = [download_run_if_remote(run) for run in runs]
    target = folders[0] / REPORT if out is None else convert_to_local_path(out)
    if out is not None:
        _refuse_to_overwrite_non_report(target)
    page = _build_joint_report_of_runs(folders) if len(runs) > 1 else _build_report_of_run(folders[0])
    files = render_paper_files(page, figures, tables)
    files[target.name] = render_page(page).encode()
    try:
        for name, content in files.items():
            write_bytes(target.parent / name, content)
    except (OSError, ValueError) as error:
        raise _build_write_error(error, target) from None
    if out is None:
        # Otherwise the rewritten page would count as changed by hand.
        RunFolder.open_for_reading(folders[0]).update_checksum_in_manifest(REPORT)
    return target


def _refuse_to_overwrite_non_report(report_file: Path) -> None:
    """Raise an error if the page would replace a file that is not a report page."""
    try:
        if not report_file.exists():
            return
        with report_file.open("rb") as file:
            beginning = file.read(_MOST_BYTES_BEFORE_TITLE)
    except (OSError, ValueError) as error:
        raise _build_write_error(error, report_file) from None
    # An empty file may be replaced.
    if beginning and not (beginning.startswith(_PAGE_START) and _TITLE_END in beginning):
        raise InputError(
            "this file exists and is not a report.",
            location=InputLocation(file=str(report_file)),
            remedy="Name another --out.",
        )


def _build_write_error(error: OSError | ValueError, file: Path) -> InputError:
    """Build the error message for a file that cannot be written."""
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"cannot be written ({reason}).", location=InputLocation(file=str(file)))


def _build_report_of_run(run_path: str | Path) -> Page:
    """Build the report page of one run from the results in its folder."""
    folder = RunFolder.open_for_reading(run_path)
    command = get_run_command(folder)
    with folder.report_unreadable_results():
        if command == "depend":
            result = _read_result_of_run(folder, DependContent)
            return build_system_dependence_page(result, folder.read_result(CURVES, CurvesByDataset))
        if command in PAGES:
            result_type, build_page = PAGES[command]
            return build_page(_read_result_of_run(folder, result_type))
        load_assay_run(run_path)  # raises an error that says what the run is, unless it is an assay
        return build_assay_page(
            _read_result_of_run(folder, AssayContent),
            wrong_pairs=folder.read_result(EXAMPLES, WrongPairs),
            manifest=select_manifest_entries_for_report(read_manifest(folder.path)),
        )


def _read_result_of_run(run_folder: RunFolder, result_type: type[ResultT]) -> ResultT:
    """Read the result of a run from its folder."""
    return run_folder.read_result(f"results/{get_run_command(run_folder)}.json", result_type)


def _build_joint_report_of_runs(runs: Sequence[str | Path]) -> Page:
    """Build one report page for runs of different commands on the same data."""
    folders = _open_one_run_of_each_command(runs)
    _check_runs_have_same_data(list(folders.values()))
    first_folder = next(iter(folders.values()))
    with first_folder.report_unreadable_results():
        curves: CurvesByDataset = {}
        if "depend" in folders:
            curves = folders["depend"].read_result(CURVES, CurvesByDataset)
        return build_joined_page(
            _read_result_of_command(folders, "assay", AssayContent),
            _read_result_of_command(folders, "rank", RankContent),
            _read_result_of_command(folders, "depend", DependContent),
            _read_result_of_command(folders, "aggregate", AggregateContent),
            curves,
        )


def _read_result_of_command(
    run_folders: Mapping[str, RunFolder], command: str, result_type: type[ResultT]
) -> ResultT | None:
    """Read the result of the run that a command wrote. Returns None if there is no such run."""
    return _read_result_of_run(run_folders[command], result_type) if command in run_folders else None


def _open_one_run_of_each_command(run_paths: Sequence[str | Path]) -> dict[str, RunFolder]:
    """Open runs and return them by the command that wrote them. Raises an error if two runs are of the same
    command.
    """
    folders: dict[str, RunFolder] = {}
    for run in run_paths:
        folder = RunFolder.open_for_reading(run)
        command = get_run_command(folder)
        if command not in QUESTIONS:
            raise InputError(
                f"this is a run of `metassay {command}`, which has a page of its own.",
                location=InputLocation(file=str(run)),
                remedy=f"Only runs of these commands can be joined: {', '.join(QUESTIONS)}.",
            )
        if command in folders:
            first = format_path_for_user(folders[command].path)
            raise InputError(
                f"this is a second run of `metassay {command}`, in addition to {first}.",
                location=InputLocation(file=str(run)),
                remedy="Name one run of each command.",
            )
        folders[command] = folder
    return folders


def _check_runs_have_same_data(run_folders: Sequence[RunFolder]) -> None:
    """Raise an error unless all runs have the same data: the same human scores or, without common human
    scores, the same items and systems.
    """
    first = run_folders[0]
    expected = _read_data_hashes(first)
    for folder in run_folders[1:]:
        fingerprint = _read_data_hashes(folder)
        common = sorted(set(expected["human"]) & set(fingerprint["human"]))
        if any(expected["human"][name] == fingerprint["human"][name] for name in common):
            continue
        # Runs without a common human score are compared by items and systems.
        if not common and expected["keys"] == fingerprint["keys"]:
            continue
        difference = "their items or systems differ"
        if common:
            difference = f"their human scores ({', '.join(common)}) differ"
        raise InputError(
            f"this is of other data than {format_path_for_user(first.path)}: {difference}"
            f" ({fingerprint['items']} items of {fingerprint['systems']} systems here,"
            f" {expected['items']} items of {expected['systems']} systems there).",
            location=InputLocation(file=str(folder.path)),
            remedy="Join runs on the same rows: the same files, --where, --systems and --human.",
        )


def _read_data_hashes(run_folder: RunFolder) -> dict[str, Any]:
    """Read the hashes that identify the data of a run from its manifest, which records the run."""
    fingerprint = read_manifest(run_folder.path).get("data")
    if not isinstance(fingerprint, dict) or not {"items", "systems", "keys", "human"} <= set(fingerprint):
        raise InputError(
            "its manifest does not name the data of the run.",
            location=InputLocation(file=str(run_folder.path)),
            remedy="Repeat the run in another folder.",
        )
    if not isinstance(fingerprint["human"], dict):
        raise InputError("its manifest was edited.", location=InputLocation(file=str(run_folder.path)))
    return fingerprint
