"""Reader of DeepEval test runs: `.latest_test_run.json`, or a file in its results folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.files import get_file_stem, read_first_lines_without_comments, read_text
from metassay.data.readers.json_tables import parse_json_object
from metassay.data.readers.sample_columns import (
    build_sample_table,
    parse_optional_score,
    select_metadata_values,
)
from metassay.errors import InputError, InputLocation

_KEYS = ('"testCases"', '"testRunData"')


class DeepEvalReader(Reader):
    """Reader of test runs of the evaluation tool DeepEval."""

    name = "deepeval test run"
    files = ".json with testCases"
    summary = "inputs, actual and expected outputs, metric scores of DeepEval"

    def sniff(self, path: str) -> bool:
        """Return whether a JSON file has the keys of a test run of DeepEval."""
        start = "\n".join(read_first_lines_without_comments(path))
        return start.lstrip().startswith("{") and any(key in start for key in _KEYS)

    def read(self, path: str) -> RawTable:
        """Read a row per test case. The system is the hyperparameter `model`, or else the name of the
        file.
        """
        content = parse_json_object(read_text(path), InputLocation(path))
        test_run = content.get("testRunData", content)
        test_cases = test_run.get("testCases") or []
        if not test_cases:
            raise InputError(
                "the test run has no test cases with a single turn.", location=InputLocation(path)
            )
        hyperparameters = test_run.get("hyperparameters") or {}
        system = str(hyperparameters.get("model") or get_file_stem(path))
        rows = []
        scores = []
        metadata = []
        for number, case in enumerate(test_cases, start=1):
            rows.append(_build_output_row(case, system))
            scores.append(_collect_scores_by_metric(case, InputLocation(path, row=number)))
            metadata.append(select_metadata_values(case.get("additionalMetadata")))
        outputs = pl.DataFrame(rows, infer_schema_length=None)
        return build_sample_table(path, outputs, scores, metadata)


def _build_output_row(test_case: Mapping[str, Any], system: str) -> dict[str, str | None]:
    """Return the table row of a test case: id, system, source, output and reference."""
    name = test_case.get("name")
    order = test_case.get("order")
    return {
        "seg_id": str(name if order is None else order),
        "system": system,
        "src": test_case.get("input"),
        "hyp": test_case.get("actualOutput"),
        "ref": test_case.get("expectedOutput"),
    }


def _collect_scores_by_metric(
    test_case: Mapping[str, Any], location: InputLocation
) -> dict[str, float | None]:
    """Return the scores of a test case by the name of the metric."""
    metrics = test_case.get("metricsData") or []
    return {str(metric["name"]): parse_optional_score(metric.get("score"), location) for metric in metrics}
