"""Names of the files in run folders, and functions that find run folders and write results to them.

Also the base class of results that are not structs, and the collection of warnings as notes.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from metassay.data.csv_export import format_csv
from metassay.data.readers.files import check_readable_path, reject_overwriting_inputs
from metassay.errors import InputError, InputLocation, format_path_for_user, is_remote_path
from metassay.options import FilePath, FilePaths
from metassay.recorded_warnings import CountedWarning
from metassay.reporting.result_display import ResultDisplay
from metassay.results.base import ResultStruct
from metassay.store.files import write_bytes
from metassay.store.layout import MANIFEST
from metassay.store.remote import convert_to_local_path, download_run_if_remote, download_runs_if_remote
from metassay.store.run_folder import RunFolder

if TYPE_CHECKING:
    from metassay.reporting.pages import Page


RESULT = "results/assay.json"
EXAMPLES = "results/examples.json"
# The functions behind the charts of system dependence.
CURVES = "results/curves.json"
REPORT = "report.html"
# Value of `out` for a folder named after data and settings, so that the same run finds it again.
AUTOMATIC_FOLDER = "metassay-run-<hash>"
# The verdicts of judges on the pairs, in every order of the outputs; `metassay judge RUN` reads them.
VERDICTS = "results/verdicts.parquet"


def find_run_folders(named_paths: Sequence[FilePaths]) -> list[Path]:
    """Return the run folders that a user named, singly or in lists, in the given order. A single folder that
    is not a run stands for all runs in it, sorted by name.
    """
    paths: list[FilePath] = []
    for part in named_paths:
        paths += part if isinstance(part, Sequence) and not isinstance(part, str) else [part]
    open_folder = download_runs_if_remote if len(paths) == 1 else download_run_if_remote
    folders = [open_folder(run) for run in paths]
    for folder in folders:
        check_readable_path(str(folder))
    if len(folders) == 1 and not (folders[0] / MANIFEST).is_file() and folders[0].is_dir():
        return sorted(path.parent for path in folders[0].glob(f"*/{MANIFEST}"))
    return folders


def get_run_command(run_folder: RunFolder) -> str:
    """Return the name of the command that wrote a run, such as `assay` or `rank`."""
    return str(run_folder.identity.get("command", ""))


def load_assay_run(path: str | Path) -> RunFolder:
    """Open the run folder of an assay. Raises an error if the run is of another command."""
    run = RunFolder.open_for_reading(path)
    if get_run_command(run) != "assay":
        where = ""
        if (run.path / REPORT).is_file():
            where = f"Its page is {format_path_for_user(run.path / REPORT)}. "
        elif (run.path / "results").is_dir():
            where = f"Its results are in {format_path_for_user(run.path / 'results')}. "
        raise InputError(
            f"this is a run of `metassay {get_run_command(run)}`, not of an assay.",
            location=InputLocation(file=str(path)),
            remedy=f"{where}An assay is made with: metassay assay DATA --out FOLDER",
        )
    return run


def make_run_folder_name(data_and_settings: Mapping[str, Any]) -> str:
    """Make a name for a run folder from the data and settings of the run, so that the same run gets the same
    name.
    """
    text = json.dumps(data_and_settings, sort_keys=True)
    return AUTOMATIC_FOLDER.replace("<hash>", hashlib.blake2b(text.encode(), digest_size=4).hexdigest())


def write_table_file(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a table to a Parquet, CSV or JSON lines file, depending on the ending of the file name."""
    content = io.BytesIO()
    _WRITERS[Path(path).suffix.lower()](frame, content)
    write_bytes(convert_to_local_path(path), content.getvalue())


_WRITERS: dict[str, Callable[[pl.DataFrame, io.BytesIO], Any]] = {
    ".parquet": lambda frame, file: frame.write_parquet(file),
    ".csv": lambda frame, file: file.write(format_csv(frame).encode()),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
}


def check_output_file_is_writable(path: str | Path, input_paths: Sequence[str]) -> None:
    """Raise an error if a file cannot be written, or if it is one of the inputs. This is checked before a
    long computation.
    """
    location = InputLocation(file=str(path))
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InputError(
            f"cannot tell the format from the ending {ending!r}.",
            location=location,
            remedy=f"Use one of: {', '.join(_WRITERS)}.",
        )
    try:
        if not is_remote_path(path) and not Path(path).parent.is_dir():
            raise InputError("there is no such folder to write to.", location=location)
        if Path(path).is_dir():
            raise InputError("this is a folder; name a file in it.", location=location)
        reject_overwriting_inputs(path, input_paths)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror}).", location=location) from None


class WritableResult(Protocol):
    """Interface of results that can be written to a run folder."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as the JSON object that the command prints."""

    def to_frame(self) -> pl.DataFrame:
        """Return the main table of the result."""

    def build_page(self) -> Page:
        """Build the report page of the result."""


def write_result_to_run_folder(
    run_folder: RunFolder,
    command: str,
    result: WritableResult,
    further_files: Mapping[str, Any] | None = None,
) -> None:
    """Write a result to its run folder as JSON, as a table and as a report page, together with further
    files.
    """
    from metassay.reporting.pages import render_page

    files = {
        f"results/{command}.json": result.to_dict(),
        f"results/{command}.csv": result.to_frame(),
        **(further_files or {}),
        REPORT: render_page(result.build_page()),
    }
    run_folder.write_result_files(files)


class Result(ResultDisplay, ABC):
    """Base class of results that store all numbers and sentences in a further object, the `content`."""

    @property
    @abstractmethod
    def content(self) -> ResultStruct:
        """The result as typed objects."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as the JSON object that the command prints."""
        return self.content.to_dict()

    def to_json(self) -> str:
        """Return the result as JSON text, in the form that the command prints."""
        return self.content.to_json()

    def build_page(self) -> Page:
        """Build a report page with the tables of the result."""
        from metassay.reporting.pages import build_page_of_tables

        return build_page_of_tables(type(self).__name__, self.to_dict())


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Context manager that yields an empty list. At the end of the block, each warning issued in it is added
    to the list once.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes.extend(
        sorted(_merge_equal_warnings(w.message for w in caught if issubclass(w.category, UserWarning)))
    )


def _merge_equal_warnings(messages: Iterable[Warning | str]) -> set[str]:
    """Return the texts of warnings without repetition. Warnings that count the same thing are merged, and
    their counts added up.
    """
    plain: set[str] = set()
    counts: dict[str, int] = {}
    for message in messages:
        if isinstance(message, CountedWarning):
            counts[message.text] = counts.get(message.text, 0) + message.count
        else:
            plain.add(str(message))
    return plain | {str(CountedWarning(count, kind)) for kind, count in counts.items()}
