"""What the verbs leave in a run folder, under which names, and the folders that a person names.

What every verb returns: a dict, a table, a picture in a notebook, and notes on what was warned of.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from metassay.data.csv_export import to_csv
from metassay.data.dataset import Dataset
from metassay.data.memory import is_large_table
from metassay.data.readers.files import check_path, refuse_overwriting
from metassay.errors import InputError, Place, display_path, is_remote
from metassay.metrics.labels import find_metric_labels
from metassay.metrics.precomputed_scores import PrecomputedScores
from metassay.metrics.sentinels import SENTINELS
from metassay.perturbations.text_store import identify
from metassay.recorded_warnings import CountedWarning
from metassay.reporting.result_display import ResultDisplay
from metassay.results.assay import LabelErrorRate
from metassay.store.files import write_bytes
from metassay.store.layout import MANIFEST, TIMINGS
from metassay.store.metric_cache import hash_dependencies
from metassay.store.parts import hash_bytes
from metassay.store.remote import local_path, open_run, open_runs
from metassay.store.run_folder import RunFolder
from metassay.workflows.credit_files import CREDITS_FILE, build_credit_table
from metassay.workflows.pair_files import explorer_frame, judgements_frame
from metassay.workflows.pair_table import EXPLORER_FILE, OUTCOMES_FILE, OUTPUTS_FILE, PAIRS_FILE

if TYPE_CHECKING:
    from metassay.meta.contexts.pair_analysis import PairAnalysis
    from metassay.perturbations.label_errors import LabelError
    from metassay.perturbations.pairs import Pairs
    from metassay.reporting.pages import Page
    from metassay.workflows.assay_plan import Plan
    from metassay.workflows.assay_result import AssayResult
    from metassay.workflows.pair_scoring import JudgedPairs


RESULT = "results/assay.json"
EXAMPLES = "results/examples.json"
CURVES = "results/curves.json"
"""The functions behind the charts of system dependence."""
REPORT = "report.html"
AUTOMATIC = "metassay-run-<hash>"
"""As `out`: a folder named after what the run is, so that the same run finds it again."""
VERDICTS = "results/verdicts.parquet"
"""What judges said of the pairs, in every order that they were asked in: `metassay judge RUN` reads it."""


def run_folders(runs: Sequence[str | Path]) -> list[Path]:
    """The run folders, in the order given; one folder that is no run stands for all runs in it, by name."""
    open_folder = open_runs if len(runs) == 1 else open_run
    folders = [open_folder(run) for run in runs]
    for folder in folders:
        check_path(str(folder))
    if len(folders) == 1 and not (folders[0] / MANIFEST).is_file() and folders[0].is_dir():
        return sorted(path.parent for path in folders[0].glob(f"*/{MANIFEST}"))
    return folders


def command_of(run: RunFolder) -> str:
    """The verb that made a run."""
    return str(run.identity.get("command") or "assay")


def assay_run(path: str | Path) -> RunFolder:
    """A run folder that an assay left; of any other run it is said what it is."""
    run = RunFolder.load(path)
    if command_of(run) != "assay":
        page, results = run.path / REPORT, display_path(run.path / "results")
        seen = f"Its page is {display_path(page)}." if page.is_file() else f"Its results are in {results}."
        raise InputError(
            f"this is a run of `metassay {command_of(run)}`, not of an assay.",
            place=Place(file=str(path)),
            remedy=f"{seen} An assay is made with: metassay assay DATA --out FOLDER",
        )
    return run


def run_name(identity: Mapping[str, Any]) -> str:
    """The folder that a run leaves when none was named: the same for the same data and settings."""
    text = json.dumps(identity, sort_keys=True)
    return AUTOMATIC.replace("<hash>", hashlib.blake2b(text.encode(), digest_size=4).hexdigest())


@dataclass(frozen=True)
class Found:
    """What carrying out a plan leaves."""

    pairs: Pairs
    judged: JudgedPairs
    analysis: PairAnalysis
    prices: Mapping[str, Sequence[float]]
    """What requests cost, of metrics that are paid for."""
    labels: Mapping[tuple[str, str | None], LabelError | None]
    """What readings of pairs say of each method in each language; None where none were read."""

    def label_rows(self) -> list[LabelErrorRate]:
        """How often labels are wrong: a row for each method and language of which pairs were read."""
        return [
            LabelErrorRate(
                perturbation=method,
                language=language,
                read=found.pairs_read,
                not_worse=found.not_worse,
                rate=found.rate,
                low=found.low,
                high=found.high,
            )
            for (method, language), found in self.labels.items()
            if found
        ]


def also_deciding(data: Dataset, plan: Plan) -> list[Any]:
    """What decides a run and is neither in its settings nor in the content of its data.

    Contexts and perturbations may be code of the user; and what was said and left out as the data was read.
    """
    return [
        [part if isinstance(part, str) else identify(part) for part in plan.perturbations or ()],
        [(c.name, c.values, c.notes, hash_bytes(c.codes.tobytes())) for c in plan.contexts],
        [dict(data.left_out), data.reference_systems, data.notes, data.rows_are_pairs],
        []
        if data.custom_task is None
        else [str(value) for value in vars(data.custom_task).values() if not callable(value)],
    ]


def is_done(run: RunFolder, data: Dataset, plan: Plan, known: Mapping[str, Any]) -> bool:
    """Whether the run was finished before, and all that decides it is known and as it was."""
    for metric in plan.metrics:
        if not metric.is_cacheable and not isinstance(metric, (PrecomputedScores, *SENTINELS)):
            return False
    return run.is_finished(hash_dependencies(known, plan.metrics, [*also_deciding(data, plan), run.data]))


def write_run(run: RunFolder, result: AssayResult, known: Mapping[str, Any]) -> None:
    """Outputs, pairs, results and report; the manifest last, since it says that all the rest is there.

    `known` is what the run was made with.
    """
    from metassay.reporting.html import render

    beside = [*also_deciding(result.dataset, result.plan), run.data]
    content, examples = result.to_dict(), result.examples()
    manifest = result.manifest()
    tables, outputs = _tables(result), result.dataset.outputs
    files: dict[str, Any] = {
        OUTPUTS_FILE: [outputs] if is_large_table(outputs.height) else outputs,
        PAIRS_FILE: tables[PAIRS_FILE],
        EXPLORER_FILE: tables[EXPLORER_FILE],
        "resources.json": dict(result.pairs.resources),
        RESULT: content,
        EXAMPLES: examples,
        "results/local_accuracy.parquet": result.to_frame(),
        OUTCOMES_FILE: tables[OUTCOMES_FILE],
        CREDITS_FILE: build_credit_table(
            result.dataset,
            result.judged,
            result.plan.contexts,
            len(result.metrics),
            result.plan.asked.ties,
        ),
    }
    if result.judged.verdicts is not None:
        files[VERDICTS] = result.judged.verdicts
    shown = report_content(content, examples, run.build_manifest(manifest))
    files[TIMINGS] = {"seconds": result.judged.seconds, "seconds_per_1000_outputs": result.cost()}
    files[REPORT] = render(shown, find_metric_labels(shown))
    run.finish(files, **manifest, basis=hash_dependencies(known, result.metrics, beside))


def report_content(content: dict[str, Any], examples: Any, manifest: dict[str, Any]) -> dict[str, Any]:
    """Everything a report shows; sums of files are known only once its own page is written."""
    told = {key: value for key, value in manifest.items() if key not in {"basis", "files"}}
    return {**content, "examples": examples, "manifest": told}


def _tables(result: AssayResult) -> Mapping[str, pl.DataFrame | list[pl.DataFrame]]:
    """The tables of pairs: as they are, or from the files that they were put into."""
    judged = result.judged
    if judged.aside is not None:
        return judged.aside.tables()
    about = result.pairs, judged, result.plan.contexts, result.metrics
    return {
        PAIRS_FILE: result.pairs.frame,
        EXPLORER_FILE: explorer_frame(result.dataset, *about),
        OUTCOMES_FILE: judgements_frame(judged),
    }


def write_table(frame: pl.DataFrame, path: str | Path) -> None:
    """A table as Parquet, CSV or JSON lines, by the name's ending, whole or not at all."""
    content = io.BytesIO()
    _WRITERS[Path(path).suffix.lower()](frame, content)
    write_bytes(local_path(path), content.getvalue())


_WRITERS: dict[str, Callable[[pl.DataFrame, io.BytesIO], Any]] = {
    ".parquet": lambda frame, file: frame.write_parquet(file),
    ".csv": lambda frame, file: file.write(to_csv(frame).encode()),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
}


def check_target(path: str | Path, inputs: Sequence[str]) -> None:
    """Before hours of work: whether its result can be written there, and replaces nothing that was read."""
    place = Place(file=str(path))
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InputError(
            f"cannot tell the format from the ending {ending!r}.",
            place=place,
            remedy=f"Use one of: {', '.join(_WRITERS)}.",
        )
    try:
        if not is_remote(path) and not Path(path).parent.is_dir():
            raise InputError("there is no such folder to write to.", place=place)
        if Path(path).is_dir():
            raise InputError("this is a folder; name a file in it.", place=place)
        refuse_overwriting(path, inputs)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror}).", place=place) from None


SCHEMA_VERSION = 1


class Result(ResultDisplay, ABC):
    """A result: `to_dict()` is the JSON of the command line, `to_frame()` its main table."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, beginning with `schema_version`."""

    @abstractmethod
    def to_frame(self) -> pl.DataFrame:
        """The main table of the result."""

    def to_json(self) -> str:
        """The JSON object that the command line prints."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def page(self) -> Page:
        """What a page shows of the result; by default its tables."""
        from metassay.reporting.pages import plain_page

        return plain_page(type(self).__name__, self.to_dict())


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """A list that holds, once the block is left, what was warned of in it, each warning once, sorted."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes.extend(sorted(_summed(w.message for w in caught if issubclass(w.category, UserWarning))))


def _summed(messages: Iterable[Warning | str]) -> set[str]:
    """Each message once; counts of one kind, which parts of a run report apart, as one count."""
    plain: set[str] = set()
    counts: dict[str, int] = {}
    for message in messages:
        if isinstance(message, CountedWarning):
            counts[message.text] = counts.get(message.text, 0) + message.count
        else:
            plain.add(str(message))
    return plain | {str(CountedWarning(count, kind)) for kind, count in counts.items()}
