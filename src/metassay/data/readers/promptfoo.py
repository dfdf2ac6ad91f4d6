"""Reader of promptfoo results: what `promptfoo eval --output results.json` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.files import read_first_lines_without_comments, read_text
from metassay.data.readers.json_tables import parse_json_object
from metassay.data.readers.sample_columns import (
    build_sample_table,
    parse_optional_score,
    select_metadata_values,
)
from metassay.errors import InputError, InputLocation

# Variables of a test that hold the expected output.
_REFERENCE_VARIABLES = ("reference", "ref", "expected", "expected_output", "ground_truth", "target", "answer")
# Assertions whose value is the expected output.
_REFERENCE_ASSERTIONS = (
    "equals",
    "similar",
    "levenshtein",
    "rouge-n",
    "bleu",
    "gleu",
    "meteor",
    "factuality",
)
# Longer variables are texts, not contexts.
_MAXIMUM_METADATA_LENGTH = 60


class PromptfooReader(Reader):
    """Reader of results of the evaluation tool promptfoo."""

    name = "promptfoo results"
    files = ".json with evalId"
    summary = "prompts, outputs, expected outputs and scores of promptfoo eval"

    def sniff(self, path: str) -> bool:
        """Return whether a JSON file has the keys of promptfoo's results."""
        start = "\n".join(read_first_lines_without_comments(path))
        is_object = start.lstrip().startswith("{")
        return is_object and '"results"' in start and ('"evalId"' in start or '"promptIdx"' in start)

    def read(self, path: str) -> RawTable:
        """Read a row per test and system. The system is the provider, such as a model, together with the
        prompt if there are several.
        """
        content = parse_json_object(read_text(path), InputLocation(path))
        results = content["results"]
        if isinstance(results, Mapping):
            results = results["results"]
        if not results:
            raise InputError("there are no results.", location=InputLocation(path))
        test_numbers = _get_test_number_of_each_result(results)
        prompts = {_get_prompt_name(result) for result in results}
        rows = []
        scores = []
        metadata = []
        for number, result in enumerate(results, start=1):
            system = _get_provider_name(result)
            if len(prompts) > 1:
                system = f"{system}/{_get_prompt_name(result)}"
            output = (result.get("response") or {}).get("output")
            rows.append(
                {
                    "seg_id": test_numbers[number - 1],
                    "system": system,
                    "src": (result.get("prompt") or {}).get("raw"),
                    "hyp": output if output is None or isinstance(output, str) else str(output),
                    "ref": _find_expected_output(result),
                }
            )
            scores.append(_collect_scores_by_name(result, InputLocation(path, row=number)))
            metadata.append(select_metadata_values(result.get("vars"), _MAXIMUM_METADATA_LENGTH))
        outputs = pl.DataFrame(rows, infer_schema_length=None)
        if outputs["ref"].null_count() == outputs.height:
            outputs = outputs.drop("ref")
        return build_sample_table(path, outputs, scores, metadata)


def _get_test_number_of_each_result(promptfoo_results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the number of the test that each result belongs to. Results without such numbers belong to the
    same test if their variables are equal.
    """
    numbers: dict[str, str] = {}
    tests = []
    for result in promptfoo_results:
        if result.get("testIdx") is not None:
            tests.append(str(result["testIdx"]))
            continue
        variables = repr(sorted((result.get("vars") or {}).items()))
        tests.append(numbers.setdefault(variables, str(len(numbers))))
    return tests


def _get_provider_name(promptfoo_result: Mapping[str, Any]) -> str:
    """Return the label or the id of the provider (the model) of a result."""
    provider = promptfoo_result.get("provider")
    if isinstance(provider, Mapping):
        return str(provider.get("label") or provider.get("id"))
    return str(provider)


def _get_prompt_name(promptfoo_result: Mapping[str, Any]) -> str:
    """Return the number or the label by which the prompt of a result is known."""
    if promptfoo_result.get("promptIdx") is not None and not isinstance(
        promptfoo_result.get("provider"), Mapping
    ):
        return str(promptfoo_result["promptIdx"])
    return str((promptfoo_result.get("prompt") or {}).get("label", ""))


def _find_expected_output(promptfoo_result: Mapping[str, Any]) -> str | None:
    """Find the expected output of a result in its variables or assertions. Returns None if there is none."""
    variables = promptfoo_result.get("vars") or {}
    for name in _REFERENCE_VARIABLES:
        if isinstance(variables.get(name), str):
            return str(variables[name])
    for assertion in (promptfoo_result.get("testCase") or {}).get("assert") or []:
        if assertion.get("type") in _REFERENCE_ASSERTIONS and isinstance(assertion.get("value"), str):
            return str(assertion["value"])
    return None


def _collect_scores_by_name(
    promptfoo_result: Mapping[str, Any], location: InputLocation
) -> dict[str, float | None]:
    """Return the scores of a result by name: the total score, called `promptfoo`, and all named scores."""
    scores = {"promptfoo": parse_optional_score(promptfoo_result.get("score"), location)}
    for name, value in (promptfoo_result.get("namedScores") or {}).items():
        scores[str(name)] = parse_optional_score(value, location)
    return scores
