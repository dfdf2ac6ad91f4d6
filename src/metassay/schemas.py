"""JSON schemas of what each command prints with `--json`."""

from __future__ import annotations

import importlib
from typing import Any

import msgspec

from metassay.errors import UnknownName

# The type of each command's result, in the module of `metassay.results` with the name of the command.
RESULT_TYPES = {
    "aggregate": "AggregateContent",
    "align": "AlignContent",
    "annotate": "AnnotateContent",
    "assay": "AssayContent",
    "check": "CheckContent",
    "compare": "CompareContent",
    "depend": "DependContent",
    "estimate": "EstimateContent",
    "judge": "JudgeContent",
    "perturb": "PerturbContent",
    "rank": "RankContent",
    "recommend": "RecommendContent",
    "score": "ScoreContent",
    "watch": "WatchContent",
}


def build_json_schema_of_output(command: str) -> dict[str, Any]:
    """Build the JSON schema of what a command prints with `--json`.

    >>> build_json_schema_of_output("rank")["$ref"]
    '#/$defs/RankContent'
    """
    if command not in RESULT_TYPES:
        raise UnknownName("command with JSON output", command, RESULT_TYPES)
    # Imported when needed, because most commands use one type of result only.
    module = importlib.import_module(f"metassay.results.{command}")
    return msgspec.json.schema(getattr(module, RESULT_TYPES[command]))
