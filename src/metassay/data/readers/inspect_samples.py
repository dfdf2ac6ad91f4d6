"""Reader of the table that inspect's `samples_df` makes: scores and metadata, without outputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.files import get_file_ending, read_first_lines_without_comments
from metassay.data.readers.json_tables import parse_json_object
from metassay.data.readers.sample_columns import (
    build_columns_from_dicts,
    choose_unused_column_name,
    parse_optional_score,
)
from metassay.data.readers.tables import read_table
from metassay.errors import InputError, InputLocation

_REQUIRED_COLUMNS = frozenset({"sample_id", "eval_id", "epoch", "id"})
# Columns about how a sample was run. They cannot be contexts.
_RUN_COLUMNS = (
    *("sample_id", "eval_id", "log", "description", "choices", "model_usage", "role_usage", "total_tokens"),
    *("total_time", "working_time", "message_count", "turn_count", "token_limit_usage", "error", "limit"),
    *("limit_reason", "retries", "fallbacks"),
)
_TEXT_COLUMNS = {"input": "src", "target": "ref"}
_PARQUET_ENDINGS = (".parquet", ".pq")


class InspectSamplesReader(Reader):
    """Reader of the table of samples that the evaluation tool Inspect writes."""

    name = "inspect samples"
    files = ".csv .parquet"
    summary = "the table of samples_df: scores and metadata without outputs"

    def sniff(self, path: str) -> bool:
        """Return whether a table has the columns of Inspect's sample tables."""
        if get_file_ending(path) not in _PARQUET_ENDINGS:
            header = next(iter(read_first_lines_without_comments(path)), "")
            return {*re.split(r"[,\t]", header.strip().replace('"', ""))} >= _REQUIRED_COLUMNS
        if not Path(path).is_file():
            return False
        try:
            return {*pq.read_schema(path).names} >= _REQUIRED_COLUMNS
        except (pa.ArrowException, OSError, ValueError):
            return False

    def read(self, path: str) -> RawTable:
        """Read a row per sample and epoch (repetition of the sample). The table has scores but no outputs, so
        it must be joined to a table of outputs.
        """
        samples = read_table(path)
        ids = samples["id"].cast(pl.String)
        columns: dict[str, Any] = {
            "seg_id": ids.to_list(),
            "system": _list_model_of_each_sample(samples, path),
        }
        if samples["epoch"].n_unique() > 1:  # then each epoch is an item, and the sample is its document
            columns["seg_id"] = [f"{sample}#{epoch}" for sample, epoch in zip(ids, samples["epoch"])]
            columns["doc_id"] = ids.to_list()
        score_names = [name for name in samples.columns if name.startswith("score_")]
        score_columns = build_columns_from_dicts(
            _parse_score_columns(samples.select(score_names), path), columns, "score_"
        )
        for name, role in _TEXT_COLUMNS.items():
            if name in samples.columns:
                columns[role] = samples[name].cast(pl.String)
        if "task_name" in samples.columns:
            columns["testset"] = samples["task_name"]
        used = {*_RUN_COLUMNS, *_REQUIRED_COLUMNS, *_TEXT_COLUMNS, *score_names, "model", "task_name"}
        metadata = {
            choose_unused_column_name(name, columns, "metadata_"): samples[name]
            for name, dtype in samples.schema.items()
            if name not in used and not dtype.is_nested()
        }
        table = pl.concat([pl.DataFrame(columns), score_columns, pl.DataFrame(metadata)], how="horizontal")
        return RawTable(path, table, metadata_columns=tuple(metadata))


def _parse_score_columns(score_columns: pl.DataFrame, path: str) -> list[dict[str, float | None]]:
    """Convert every row of a table of scores to a dictionary from the name of the scorer to the score."""
    rows = []
    for number, cells in enumerate(score_columns.iter_rows(named=True), start=1):
        location = InputLocation(path, number)
        rows.append(
            {
                name.removeprefix("score_"): parse_optional_score(cell, location)
                for name, cell in cells.items()
            }
        )
    return rows


def _list_model_of_each_sample(samples: pl.DataFrame, path: str) -> list[str]:
    """Return the name of the model that answered each sample."""
    if "model" in samples.columns:
        return [str(model) for model in samples["model"]]
    models = []
    usages: list[Any] = samples["model_usage"].to_list() if "model_usage" in samples.columns else []
    for number, usage in enumerate(usages, start=1):
        if isinstance(usage, str):
            used_models = list(parse_json_object(usage, InputLocation(path, number, "model_usage")))
            if len(used_models) == 1:
                models.append(str(used_models[0]))
    if len(models) < samples.height:
        raise InputError(
            "this table of samples does not say which model produced each sample.",
            location=InputLocation(path),
            remedy="Create it with the model: samples_df(logs, columns=EvalModel + SampleSummary).",
        )
    return models
