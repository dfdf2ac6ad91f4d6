"""Reader of inspect logs (`.eval` or `.json`): samples with inputs, outputs, targets, scores and metadata.

The model is the system, the input the source and the target the reference. Every scorer becomes a column.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import polars as pl

from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.compression import check_archive_size, decompress
from metassay.data.readers.files import (
    get_file_ending,
    get_file_stem,
    read_bytes,
    read_first_lines_without_comments,
    read_text,
)
from metassay.data.readers.json_tables import check_json_depth_and_characters
from metassay.data.readers.sample_columns import (
    build_sample_table,
    parse_optional_score,
    select_metadata_values,
)
from metassay.errors import InputError, InputLocation, shorten_text

_ARCHIVE_ERRORS = (zipfile.BadZipFile, struct.error, zlib.error, NotImplementedError)
# Larger members of an archive are refused before they are unpacked into memory.
_MAXIMUM_SAMPLE_BYTES = 64_000_000
# Number of zstd among the compression methods of ZIP, which `zipfile` does not know.
_ZSTD_METHOD = 93
JsonObject = dict[str, Any]


class InspectLogReader(Reader):
    """Reader of evaluation logs of the evaluation tool Inspect."""

    name = "inspect log"
    files = ".eval .json"
    summary = "samples with their outputs, targets, scores and metadata"

    def sniff(self, path: str) -> bool:
        """Return whether a file is an evaluation log of Inspect."""
        if get_file_ending(path) == ".eval":
            return zipfile.is_zipfile(path)
        beginning = "\n".join(read_first_lines_without_comments(path))
        return '"status"' in beginning and re.search(r'"eval"\s*:\s*\{', beginning) is not None

    def read(self, path: str) -> RawTable:
        """Read a row per sample and epoch (repetition of the sample).

        With several epochs, each epoch is an item, and the sample is its document.
        """
        if get_file_ending(path) == ".eval":
            header, samples = _load_zipped_log(path)
        else:
            header, samples = _load_json_log(path)
        evaluation = header.get("eval") or {}
        task = str(evaluation.get("task") or get_file_stem(path))
        model = evaluation.get("model")
        if not samples or not isinstance(model, str):
            raise InputError(
                "this log of inspect has no samples, or names no model.", location=InputLocation(path)
            )
        has_epochs = any(sample.get("epoch", 1) != 1 for sample in samples)
        rows: list[JsonObject] = []
        metadata = []
        scores = []
        for number, sample in enumerate(samples, start=1):
            location = InputLocation(path, number)
            sample_id = str(sample.get("id", number))
            rows.append(
                {"testset": task, "seg_id": sample_id, "system": model, **_extract_sample_texts(sample)}
            )
            if has_epochs:
                rows[-1]["seg_id"] = f"{sample_id}#{sample.get('epoch', 1)}"
                rows[-1]["doc_id"] = sample_id
            metadata.append(select_metadata_values(sample.get("metadata")))
            check_json_depth_and_characters([rows[-1], metadata[-1]], location)
            scores.append(_parse_sample_scores(sample.get("scores"), location))
        outputs = pl.DataFrame(
            rows, schema_overrides={"references": pl.List(pl.String)}, infer_schema_length=None
        )
        notes: tuple[str, ...] = ()
        without_output = outputs["hyp"].null_count()
        if without_output:
            notes = (f"{get_file_stem(path)}: {without_output} samples have no output.",)
        return build_sample_table(path, outputs, scores, metadata, notes)


def _extract_sample_texts(sample: JsonObject) -> JsonObject:
    """Return the input, the output and the expected outputs of a sample, under the names that metassay
    uses.
    """
    target: Any = sample.get("target")
    targets = target if isinstance(target, list) else [target]
    return {
        "src": _extract_message_text(sample.get("input")),
        "hyp": _extract_output_text(sample.get("output") or {}),
        "references": [str(reference) for reference in targets if reference],
    }


def _load_json_log(path: str) -> tuple[JsonObject, list[JsonObject]]:
    """Return the header and the samples of a log that is a single JSON file."""
    try:
        log = json.loads(read_text(path))
        samples = [sample for sample in log.get("samples") or [] if isinstance(sample, dict)]
    except (ValueError, RecursionError, AttributeError) as error:
        raise InputError(
            f"this is not a log of inspect ({type(error).__name__}).", location=InputLocation(path)
        ) from None
    return log, samples


def _load_zipped_log(path: str) -> tuple[JsonObject, list[JsonObject]]:
    """Return the header and the samples of a log that is an `.eval` file, which is a ZIP archive of JSON
    files.
    """
    try:
        content = read_bytes(path)
        check_archive_size(content, path)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(r"samples/[^/]+\.json", name)]
            header = _load_json_from_zip_archive(archive, content, "header.json", path)
            samples = [_load_json_from_zip_archive(archive, content, name, path) for name in sorted(names)]
    except InputError:
        raise
    except (KeyError, ValueError, OSError, RecursionError, RuntimeError, *_ARCHIVE_ERRORS) as error:
        raise InputError(
            f"this log of inspect cannot be read ({type(error).__name__}).",
            location=InputLocation(path),
            remedy="Write it as JSON: inspect log convert LOG --to json --output-dir FOLDER",
        ) from None
    return header, samples


def _load_json_from_zip_archive(
    archive: zipfile.ZipFile, archive_content: bytes, member_name: str, path: str
) -> Any:
    """Load one JSON file of a ZIP archive."""
    info = archive.getinfo(member_name)
    if info.file_size > _MAXIMUM_SAMPLE_BYTES:
        raise InputError(
            f"{shorten_text(member_name)} is too large for a sample.", location=InputLocation(path)
        )
    if info.compress_type != _ZSTD_METHOD:
        return json.loads(archive.read(member_name))
    # inspect compresses with zstd, which `zipfile` cannot read: find the data behind the local header.
    name_length, extra_length = struct.unpack_from("<HH", archive_content, info.header_offset + 26)
    start = info.header_offset + 30 + name_length + extra_length
    unpacked = decompress(archive_content[start : start + info.compress_size], path)
    if len(unpacked) != info.file_size:
        # Otherwise many small sizes in the archive could hide large files from `check_archive_size`.
        raise InputError(
            f"{shorten_text(member_name)} is not as large as the archive says.", location=InputLocation(path)
        )
    return json.loads(unpacked)


def _extract_message_text(message_content: Any) -> str | None:
    """Return the text of a prompt or an answer. The texts of several messages are joined by line breaks."""
    if isinstance(message_content, str):
        return message_content
    if isinstance(message_content, Mapping):
        return _extract_message_text(message_content.get("content", message_content.get("text")))
    if isinstance(message_content, list):
        texts = [_extract_message_text(part) for part in message_content]
        return "\n".join(text for text in texts if text)
    return None


def _extract_output_text(model_output: Mapping[str, Any]) -> str | None:
    """Return the text of the first answer that a model gave, or None if it gave none."""
    choices = model_output.get("choices") or []
    return _extract_message_text(choices[0].get("message")) if choices else None


def _parse_sample_scores(scores: Any, location: InputLocation) -> dict[str, float | None]:
    """Parse the scores of a sample by the name of the scorer. A scorer with several values has a score
    `SCORER/VALUE` for each.
    """
    if not isinstance(scores, Mapping):
        return {}
    parsed: dict[str, float | None] = {}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, Mapping) and value:
            for name, part in value.items():
                parsed[f"{scorer}/{name}"] = parse_optional_score(part, location)
        else:
            parsed[scorer] = parse_optional_score(value, location)
    return parsed
