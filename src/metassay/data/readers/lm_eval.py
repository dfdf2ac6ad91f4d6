"""Reader of the samples that lm-eval logs with `--log_samples`: `MODEL/samples_TASK_DATE.jsonl`.

The folder names the model, the file the task. In tasks with choices, the output is the choice with the
highest likelihood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.files import get_file_stem, read_first_lines_without_comments, read_text
from metassay.data.readers.json_tables import iterate_json_lines
from metassay.data.readers.sample_columns import (
    build_sample_table,
    parse_optional_score,
    select_metadata_values,
)
from metassay.errors import InputError, InputLocation

_REQUIRED_KEYS = ('"doc_id"', '"resps"', '"filtered_resps"')
# Longer texts of a document are questions and passages, not contexts.
_MAXIMUM_METADATA_LENGTH = 60


class LmEvalReader(Reader):
    """Reader of samples of the evaluation tool lm-evaluation-harness."""

    name = "lm-eval samples"
    files = "samples_*.jsonl"
    summary = "MODEL/samples_TASK_DATE.jsonl: prompts, answers, targets, metrics"

    def sniff(self, path: str) -> bool:
        """Return whether the first line of a file has the keys that lm-evaluation-harness writes for a
        sample.
        """
        first_line = next(iter(read_first_lines_without_comments(path)), "")
        return all(key in first_line for key in _REQUIRED_KEYS)

    def read(self, path: str) -> RawTable:
        """Read a row per document with its output and scores. If the program filtered answers in several
        ways, each filter has scores of its own.
        """
        records = [record for record, _ in iterate_json_lines(read_text(path), path)]
        has_filters = len({str(record.get("filter", "none")) for record in records}) > 1
        rows: dict[str, dict[str, Any]] = {}
        metadata: dict[str, dict[str, Any]] = {}
        scores: dict[str, dict[str, float | None]] = {}
        for number, record in enumerate(records, start=1):
            location = InputLocation(path, number)
            document = str(record.get("doc_id"))
            rows.setdefault(document, _build_sample_row(record, path, location))
            metadata.setdefault(document, select_metadata_values(record.get("doc"), _MAXIMUM_METADATA_LENGTH))
            suffix = f":{record.get('filter')}" if has_filters else ""
            document_scores = scores.setdefault(document, {})
            for name in record.get("metrics") or ():
                document_scores[f"{name}{suffix}"] = parse_optional_score(record.get(name), location)
        outputs = pl.DataFrame(list(rows.values()), infer_schema_length=None)
        return build_sample_table(path, outputs, list(scores.values()), list(metadata.values()))


def _build_sample_row(sample: Mapping[str, Any], path: str, location: InputLocation) -> dict[str, Any]:
    """Return the table row of a sample: test set, id, system, source, output and reference."""
    arguments = (sample.get("arguments") or {}).values()
    requests = [request for request in arguments if isinstance(request, Mapping)]
    if not requests:
        raise InputError("a sample of lm-eval has no arguments.", location=location)
    output, target = _find_output_and_target(sample, requests)
    return {
        "testset": re.sub(r"^samples_|_\d{4}-\d\d-\d\dT[\d.:-]+$", "", get_file_stem(path)),
        "seg_id": str(sample.get("doc_id")),
        "system": Path(path).resolve().parent.name.replace("__", "/"),
        "src": str(requests[0].get("arg_0", "")),
        "hyp": output,
        "ref": target,
    }


def _find_output_and_target(
    sample: Mapping[str, Any], requests: Sequence[Mapping[str, Any]]
) -> tuple[str | None, str | None]:
    """Return the text that the model generated for a sample, and the expected text. Either may be None.

    In a task with choices, every choice is a request with its likelihood, and a target that is a number is
    the number of the correct choice.
    """
    responses = sample.get("resps") or []
    target = None if sample.get("target") is None else str(sample["target"])
    first_response = responses[0][0] if responses and responses[0] else None
    if not isinstance(first_response, list):
        return (first_response if isinstance(first_response, str) else None), target
    choices = [str(request.get("arg_1", "")).strip() for request in requests]
    likelihoods = [float(response[0][0]) for response in responses if response and response[0]]
    output = None
    if len(likelihoods) == len(choices):
        output = choices[int(np.argmax(likelihoods))]
    if target is not None and target.isdigit() and int(target) < len(choices):
        target = choices[int(target)]
    return output, target
