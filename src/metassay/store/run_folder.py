"""The run folder: configuration, intermediate parts and results of one run. See `layout` for its files."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.csv_export import format_csv
from metassay.data.readers.files import check_readable_path
from metassay.errors import InputError, InputLocation, LinkOutsideFolder, MetassayError, format_path_for_user
from metassay.options import CURRENT_COMMAND, RESUMABLE_RUN
from metassay.results.base import ResultT, decode_json
from metassay.store.files import (
    delete_abandoned_temporary_files,
    get_final_file_name,
    write_bytes,
)
from metassay.store.layout import CALL, MANIFEST, SCORES_FOLDER, TEXTS_FOLDER, TIMINGS
from metassay.store.parts import has_correct_checksum, log_note_for_user
from metassay.store.remote import (
    download_run_if_remote,
    is_copy_of_remote_path,
    list_files,
    upload_growing_files,
)
from metassay.store.run_scores import RunScores
from metassay.store.run_texts import RunTexts
from metassay.store.tables import write_json, write_parquet_table
from metassay.store.versions import collect_versions

# Rows per row group in the tables of a finished run: few, so that the dashboard reads a single row fast.
ROWS_PER_GROUP = 2**14
_CHOOSE_ANOTHER_FOLDER = "Choose another --out."
_RUN_AGAIN = "Repeat the run in another folder."


class RunFolder:
    """The folder with all files of one run of a command. The same command with the same settings and data
    continues the run.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.identity = dict(identity)
        self.versions: dict[str, Any] = {}
        """Versions that the results depend on, once the folder is open for writing."""
        self.is_resumed = False
        """Whether the folder contained a run when it was opened."""
        self.data: dict[str, Any] = {}
        """Fingerprint of the data, for reports that combine several runs on the same data."""
        self.checksums: dict[str, str] = {}
        """Checksums of the files of a finished run that was opened for reading, by name."""

    @classmethod
    def open_for_writing(
        cls,
        path: str | Path,
        identity: Mapping[str, Any],
        *,
        data_fingerprint: Mapping[str, Any] | None = None,
    ) -> RunFolder:
        """Open a folder to write a run into: a new or empty folder, or one that has a run with the same
        settings and data, which is then continued.

        Any other folder raises an error.
        """
        folder = download_run_if_remote(path)
        run = cls(folder, identity)
        run.versions = collect_versions()
        run.data = dict(data_fingerprint or {})
        try:
            is_taken = folder.exists() and (not folder.is_dir() or _has_files_of_other_programs(folder))
            # The manifest is looked for last: another process may have started the same run meanwhile.
            if (folder / MANIFEST).is_file():
                _check_same_settings_and_data(folder, identity)
                run.is_resumed = True
            elif is_taken:
                raise InputError(
                    "this exists and is not a run folder.",
                    location=InputLocation(file=str(path)),
                    remedy=_CHOOSE_ANOTHER_FOLDER,
                )
            else:
                run.write_manifest({"state": "running"})
            delete_abandoned_temporary_files(folder)
        # These have a message for the user already. An InputError is also a ValueError, and the next clause
        # would replace its message.
        except MetassayError:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"cannot be written ({reason}).",
                location=InputLocation(file=str(path)),
                remedy=_CHOOSE_ANOTHER_FOLDER,
            ) from None
        RESUMABLE_RUN.set(str(path))
        command = CURRENT_COMMAND.get()
        if command is not None:
            run.write_json(CALL, {**command, "folder": str(Path.cwd())})
        return run

    @classmethod
    def open_for_reading(cls, path: str | Path) -> RunFolder:
        """Open the folder of a finished or interrupted run, to read its files."""
        folder = download_run_if_remote(path)
        manifest = read_manifest(folder)
        run = cls(folder, manifest.get("identity", {}))
        checksums = manifest.get("files", {})
        if not isinstance(checksums, dict):
            raise InputError(
                "checksums by file name were expected.", location=InputLocation(file=str(folder / MANIFEST))
            )
        run.checksums = checksums
        return run

    @property
    def scores(self) -> RunScores:
        """The metric scores that are stored in the folder."""
        return RunScores(self.path / SCORES_FOLDER)

    def open_stored_texts(self, dependencies: str) -> RunTexts:
        """Open the texts in the folder that were computed with the described versions of code and
        libraries.
        """
        return RunTexts(self.path / TEXTS_FOLDER, dependencies)

    def build_manifest(self, extra_entries: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of `manifest.json`: what identifies the run and its data, and additional
        entries.
        """
        data = {"data": self.data} if self.data else {}
        return {"schema_version": 1, "identity": self.identity, **data, **extra_entries}

    def write_manifest(self, extra_entries: Mapping[str, Any]) -> None:
        """Write `manifest.json`, after uploading files that are still growing."""
        # The manifest must come last in a remote folder: it says that all other files are complete.
        upload_growing_files()
        write_json(self.path / MANIFEST, self.build_manifest(extra_entries))

    def write_json(self, file_name: str, content: Any) -> None:
        """Write a JSON file to the run folder."""
        write_json(self.path / file_name, content)

    def write_table(self, file_name: str, table: pl.DataFrame) -> None:
        """Write a Parquet file to the run folder."""
        write_parquet_table(self.path / file_name, table)

    def write_text(self, file_name: str, content: str) -> None:
        """Write a text file to the run folder."""
        write_bytes(self.path / file_name, content.encode())

    def write_result_files(self, file_contents: Mapping[str, Any], **entries: Any) -> None:
        """Write the files of a result. Then write the manifest with their checksums, which marks the run as
        finished.

        Names ending in `.json` take JSON values, `.parquet` and `.csv` tables; others, and `.csv` too, text.
        """
        for name, content in file_contents.items():
            if name.endswith(".json"):
                self.write_json(name, content)
            elif name.endswith(".csv") and isinstance(content, pl.DataFrame):
                self.write_text(name, format_csv(content))
            elif name.endswith(".parquet"):
                write_parquet_table(self.path / name, content, rows_per_group=ROWS_PER_GROUP)
            else:
                self.write_text(name, content)
        # Timings differ between runs with equal results.
        checksums = {name: _hash_file(self.path / name) for name in file_contents if name != TIMINGS}
        self.write_manifest({"state": "finished", "versions": self.versions, **entries, "files": checksums})

    def has_finished_results(self, dependency_hash: str) -> bool:
        """Return whether the folder has complete and unchanged results that were computed with the same code,
        versions and metrics.

        `dependency_hash` is what `hash_run_dependencies` returns.
        """
        manifest = read_manifest(self.path)
        checksums = manifest.get("files")
        if (
            manifest.get("state") != "finished"
            or manifest.get("basis") != dependency_hash
            or not isinstance(checksums, dict)
        ):
            return False
        changed = [name for name, checksum in checksums.items() if _hash_file(self.path / name) != checksum]
        for name in changed:
            log_note_for_user(
                f"{format_path_for_user(self.path / name)} was changed after the run, so it is written again."
            )
        if changed:
            return False
        for folder in (SCORES_FOLDER, TEXTS_FOLDER):
            if not all(has_correct_checksum(path) for path in list_files(self.path / folder, "*.parquet")):
                return False
        return True

    def find_file(self, file_name: str) -> Path | None:
        """Return the path of a file in the folder; None if there is no such file. A link that leads out of
        the folder raises an error.
        """
        path = self.path / file_name
        # A run folder may come from somebody else, and a link in it could point to any file of the reader.
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.path)):
            raise LinkOutsideFolder(location=InputLocation(file=str(path)))
        return path if path.is_file() else None

    def find_intact_file(self, file_name: str) -> Path | None:
        """Return the path of a file in the folder; None if there is no such file. A file that was changed
        after the run raises an error.

        Files without a checksum (notes, timings, files of unfinished runs) are not checked.
        """
        path = self.find_file(file_name)
        if path is None or file_name not in self.checksums:
            return path
        status = path.stat()
        checksum = _hash_file_cached(path, status.st_ino, status.st_size, status.st_mtime_ns)
        if checksum != self.checksums[file_name]:
            raise InputError(
                "this file was changed after the run: its checksum differs from the manifest.",
                location=InputLocation(file=str(path)),
                remedy="Run the command of this run again to restore the file.",
            )
        return path

    def update_checksum_in_manifest(self, file_name: str) -> None:
        """Write the new checksum of a file to the manifest, after the file of a finished run was written
        again.
        """
        manifest = read_manifest(self.path)
        checksum = _hash_file(self.path / file_name)
        if file_name in self.checksums and checksum != self.checksums[file_name]:
            write_json(self.path / MANIFEST, {**manifest, "files": {**self.checksums, file_name: checksum}})

    def read_json(self, file_name: str) -> Any:
        """Read a JSON file of a finished run."""
        return _read_untrusted_json(self.find_result_file(file_name))

    def read_result(self, file_name: str, result_type: type[ResultT]) -> ResultT:
        """Read a result from its JSON file, and check its fields, because users may have edited the file."""
        file = self.find_result_file(file_name)
        return decode_json(file.read_bytes(), result_type, str(file))

    def find_result_file(self, file_name: str) -> Path:
        """Return the path of a result file. Without this file, raise an error that says that the run has not
        finished.
        """
        file = self.find_intact_file(file_name)
        if file is None:
            raise InputError(
                "the run has not finished.",
                location=InputLocation(file=str(self.path / file_name)),
                remedy="Run the same command again.",
            )
        return file

    @contextmanager
    def report_unreadable_results(self) -> Iterator[None]:
        """Context manager that turns an unexpected error in the block into the message that the results of
        this run cannot be read.

        Each file may be valid while their contents contradict each other.
        """
        try:
            yield
        except (MetassayError, OSError):
            raise
        except Exception as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"its results cannot be read ({type(error).__name__}: {reason}).",
                location=InputLocation(file=str(self.path)),
                remedy=f"{_RUN_AGAIN} If that does not help, please report a bug in metassay.",
            ) from error


def read_manifest(run_folder: Path) -> dict[str, Any]:
    """Read `manifest.json` of a run folder; raise an error if the folder has no such file."""
    file = run_folder / MANIFEST
    check_readable_path(str(run_folder))
    if not file.is_file():
        raise InputError(
            "this is not a run folder (it has no manifest.json).",
            location=InputLocation(file=str(run_folder)),
            remedy="Create one with: metassay assay DATA --out FOLDER",
        )
    manifest = _read_untrusted_json(file)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("identity", {}), dict):
        raise InputError(
            "a JSON object with the identity of a run was expected.", location=InputLocation(file=str(file))
        )
    return manifest


@functools.lru_cache(maxsize=4096)
def _hash_file_cached(file: Path, inode: int, file_size: int, modification_time: int) -> str | None:
    """Return the checksum of a file. It is computed again only if the size or modification time has
    changed.
    """
    del inode, file_size, modification_time
    return _hash_file(file)


def _hash_file(file: Path) -> str | None:
    """Return the checksum of a file; None if it cannot be read."""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError:
        return None


def _has_files_of_other_programs(folder: Path) -> bool:
    """Return whether a folder without `manifest.json` has files that are not part of a run. A run must not
    write to such a folder.
    """
    # A remote folder without a manifest is empty here, because nothing of it is downloaded. It exists only if
    # there are remote files.
    return is_copy_of_remote_path(folder) or any(
        get_final_file_name(path) != MANIFEST for path in folder.iterdir()
    )


def _read_untrusted_json(file: Path) -> Any:
    """Read a JSON file that somebody may have edited. An invalid file raises an error with a message for the
    user.
    """
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text, parse_constant=_reject_json_constant)
        # Only an escape can produce a lone surrogate, because the text itself was valid UTF-8. Encoding the
        # content raises the error.
        if "\\u" in text:
            json.dumps(content, ensure_ascii=False).encode()
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}).", location=InputLocation(file=str(file))
        ) from None
    except RecursionError:
        raise InputError("this JSON is nested too deeply.", location=InputLocation(file=str(file))) from None
    except UnicodeEncodeError:
        raise InputError(
            "there is half a character in the text (a lone surrogate).",
            location=InputLocation(file=str(file)),
        ) from None
    except ValueError as error:
        raise InputError(f"this is not JSON ({error}).", location=InputLocation(file=str(file))) from None
    return content


def _reject_json_constant(name: str) -> float:
    """Raise an error for a constant that JSON does not have, such as NaN."""
    raise ValueError(f"{name} is not a JSON number")


def _check_same_settings_and_data(folder: Path, identity: Mapping[str, Any]) -> None:
    """Raise an error if the folder holds a run with other settings or other data."""
    stored_identity = read_manifest(folder).get("identity")
    # The stored identity went through JSON, where tuples become lists and all keys are texts.
    if stored_identity == json.loads(json.dumps(identity)):
        return
    differing = [
        key
        for key in identity
        if not isinstance(stored_identity, dict) or stored_identity.get(key) != identity[key]
    ]
    subject = " and ".join(differing) or "settings"
    verb = "differs" if len(differing) == 1 else "differ"
    raise InputError(
        f"this folder holds another run (its {subject} {verb}).",
        location=InputLocation(file=str(folder)),
        remedy="Choose another --out, or delete that folder.",
    )
