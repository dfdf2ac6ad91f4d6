"""`report`: the page of a finished run, or of several runs of one data set, and its figures and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from metassay.errors import InputError, Place, display_path
from metassay.reporting.aggregate_page import build_aggregate_page
from metassay.reporting.depend_page import build_depend_page
from metassay.reporting.depend_view import CurvesByDataset
from metassay.reporting.estimate_page import build_estimate_page
from metassay.reporting.html import rendered_assay
from metassay.reporting.joined_page import QUESTIONS, joined_page
from metassay.reporting.judge_page import build_judge_page
from metassay.reporting.pages import Page, Rendered, paper_files, rendered
from metassay.reporting.rank_page import build_rank_page
from metassay.reporting.score_page import build_score_page
from metassay.results.aggregate import AggregateContent
from metassay.results.assay import AssayContent
from metassay.results.depend import DependContent, MetricCurves
from metassay.results.estimate import EstimateContent
from metassay.results.judge import JudgeContent
from metassay.results.rank import RankContent
from metassay.results.score import ScoreContent
from metassay.store.files import write_bytes
from metassay.store.remote import local_path, open_run
from metassay.store.run_folder import RunFolder, read_manifest
from metassay.workflows.run_files import (
    CURVES,
    EXAMPLES,
    REPORT,
    RESULT,
    assay_run,
    command_of,
    report_content,
)

_MOST_BYTES_BEFORE_TITLE = 2**16
_PAGE_START = b"<!doctype html>"
_TITLE_END = b"metassay</title>"


def _build_rank_page(run: RunFolder) -> Page:
    return build_rank_page(read_rank_result(run))


def _build_depend_page(run: RunFolder) -> Page:
    return build_depend_page(read_depend_result(run), read_curves(run))


def _build_aggregate_page(run: RunFolder) -> Page:
    return build_aggregate_page(read_aggregate_result(run))


def _build_score_page(run: RunFolder) -> Page:
    return build_score_page(run.read_result("results/score.json", ScoreContent))


def _build_estimate_page(run: RunFolder) -> Page:
    return build_estimate_page(run.read_result("results/estimate.json", EstimateContent))


def _build_judge_page(run: RunFolder) -> Page:
    return build_judge_page(run.read_result("results/judge.json", JudgeContent))


PAGE_BUILDERS: Mapping[str, Callable[[RunFolder], Page]] = {
    "rank": _build_rank_page,
    "depend": _build_depend_page,
    "aggregate": _build_aggregate_page,
    "score": _build_score_page,
    "judge": _build_judge_page,
    "estimate": _build_estimate_page,
}
"""How the page of a stored run is built, by verb; that of `assay` is built differently."""


def report(
    *runs: str | Path,
    out: str | Path | None = None,
    figures: str | None = None,
    tables: str | None = None,
) -> Path:
    """Write the page of a finished run anew, or one page for several runs of one data set; return its path.

    `out` is where to write the page: needed for several runs (of assay, rank, depend and aggregate, one of
    each), else `report.html` of the run. `figures` (`svg`, `pdf`, `png`) and `tables` (`latex`, `markdown`,
    `csv`) leave every chart, in the sizes of one and two columns, and every table in folders beside the page.

    >>> import tempfile
    >>> from metassay.workflows.assay import assay, read_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "rouge1,rougel", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_sample("text"), resamples=20, permutations=19, out=run, **few)
    >>> report(run).name
    'report.html'
    """
    if not runs or (len(runs) > 1 and out is None):
        raise InputError("no place for the page was named.", remedy="Name one: --out page.html")
    folders = [open_run(run) for run in runs]
    target = folders[0] / REPORT if out is None else local_path(out)
    if out is not None:
        _refuse_replacing_other_file(target)
    found = _joined(folders) if len(runs) > 1 else _single(folders[0])
    files = paper_files(found.charts, found.grids, figures, tables) | {target.name: found.html.encode()}
    try:
        for name, content in files.items():
            write_bytes(target.parent / name, content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be written ({reason}).", place=Place(file=str(target))) from None
    if out is None:
        RunFolder.load(folders[0]).update_checksum(REPORT)
    return target


def _refuse_replacing_other_file(target: Path) -> None:
    """Raise an error if the page would replace a file that is not a page of ours, such as the data."""
    try:
        if not target.exists():
            return
        with target.open("rb") as file:
            beginning = file.read(_MOST_BYTES_BEFORE_TITLE)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be written ({reason}).", place=Place(file=str(target))) from None
    if beginning and not (beginning.startswith(_PAGE_START) and _TITLE_END in beginning):
        raise InputError(
            "this file exists and is not a report.",
            place=Place(file=str(target)),
            remedy="Name another --out.",
        )


def _single(run: str | Path) -> Rendered:
    """The page of one run."""
    folder = RunFolder.load(run)
    command = command_of(folder)
    if command not in PAGE_BUILDERS:
        folder = assay_run(run)
    with folder.explain_errors():
        if command not in PAGE_BUILDERS:
            return rendered_assay(run_content(folder))
        return rendered(PAGE_BUILDERS[command](folder))


def read_rank_result(folder: RunFolder) -> RankContent:
    """Read the result of a run of `rank`."""
    return folder.read_result("results/rank.json", RankContent)


def read_depend_result(folder: RunFolder) -> DependContent:
    """Read the result of a run of `depend`."""
    return folder.read_result("results/depend.json", DependContent)


def read_aggregate_result(folder: RunFolder) -> AggregateContent:
    """Read the result of a run of `aggregate`."""
    return folder.read_result("results/aggregate.json", AggregateContent)


def read_curves(folder: RunFolder) -> CurvesByDataset:
    """Read the fitted functions of a run of `depend`."""
    return folder.read_result(CURVES, dict[str, dict[str, MetricCurves]])


def _joined(runs: Sequence[str | Path]) -> Rendered:
    """The page of several runs, each of another verb, all of the same data."""
    folders: dict[str, RunFolder] = {}
    for run in runs:
        folder = RunFolder.load(run)
        command, place = command_of(folder), Place(file=str(run))
        if command not in QUESTIONS:
            what = f"this is a run of `metassay {command}`, which has a page of its own."
            raise InputError(
                what, place=place, remedy=f"Runs that are joined are of: {', '.join(QUESTIONS)}."
            )
        if command in folders:
            what = (
                f"this is a second run of `metassay {command}`, beside {display_path(folders[command].path)}."
            )
            raise InputError(what, place=place, remedy="Name one run of each verb.")
        folders[command] = folder
    _check_one_data_set(list(folders.values()))
    with folder.explain_errors():
        assay_content = None
        if "assay" in folders:
            assay_content = folders["assay"].read_result(RESULT, AssayContent).to_dict()
        ranking = None
        if "rank" in folders:
            ranking = read_rank_result(folders["rank"])
        dependence = None
        curves: CurvesByDataset = {}
        if "depend" in folders:
            dependence = read_depend_result(folders["depend"])
            curves = read_curves(folders["depend"])
        aggregation = None
        if "aggregate" in folders:
            aggregation = read_aggregate_result(folders["aggregate"])
        return rendered(joined_page(assay_content, ranking, dependence, aggregation, curves))


def _check_one_data_set(folders: Sequence[RunFolder]) -> None:
    """Runs are of one data set where a human score of both is the same, else where items and systems are."""
    first, *others = [(folder, _marks(folder)) for folder in folders]
    for other in others:
        (one, mine), (two, theirs) = first, other
        common = sorted(set(mine["human"]) & set(theirs["human"]))
        if any(mine["human"][name] == theirs["human"][name] for name in common):
            continue
        if not common and mine["keys"] == theirs["keys"]:
            continue
        counts = [f"{each['items']} items of {each['systems']} systems" for each in (mine, theirs)]
        scores = (
            f"their human scores ({', '.join(common)}) differ" if common else "their items or systems differ"
        )
        raise InputError(
            f"this is of other data than {display_path(one.path)}: {scores} "
            f"({counts[1]} here, {counts[0]} there).",
            place=Place(file=str(two.path)),
            remedy="Join runs on the same rows: the same files, --where, --systems and --human.",
        )


def _marks(folder: RunFolder) -> dict[str, Any]:
    """What tells the data of a run from other data."""
    found = read_manifest(folder.path).get("data")
    if not isinstance(found, dict) or not {"items", "systems", "keys", "human"} <= set(found):
        raise InputError(
            "its manifest does not say of which data the run is.",
            place=Place(file=str(folder.path)),
            remedy="Make the run again, in another folder.",
        )
    if not isinstance(found["human"], dict):
        raise InputError("its manifest was edited.", place=Place(file=str(folder.path)))
    return found


def run_content(folder: RunFolder) -> dict[str, Any]:
    """Everything that a finished assay says."""
    return report_content(
        folder.read_result(RESULT, AssayContent).to_dict(),
        folder.read_json(EXAMPLES),
        read_manifest(folder.path),
    )
