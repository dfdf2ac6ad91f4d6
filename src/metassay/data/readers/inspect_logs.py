"""Samples that evaluation harnesses log: inspect's logs and samples table, lm-eval's `samples_*.jsonl`.

A row per sample: its id, the model as system, the input as source, what the model returned, the target as
reference, a column per scorer, and metadata. Scores that harnesses write as letters are numbers here: C
(correct) 1, P (partial) 0.5, I (incorrect) and N (no answer) 0.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metassay.data.columns import is_reserved
from metassay.data.readers.files import (
    decompress,
    file_ending,
    file_stem,
    read_bytes,
    read_first_lines,
    read_text,
)
from metassay.data.readers.json_tables import check_value, parse_object
from metassay.data.readers.tables import DELIMITERS, PARQUET, read_table
from metassay.errors import InputError, Place, shorten_text

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
LM_EVAL = ('"doc_id"', '"resps"', '"filtered_resps"')
SAMPLES_TABLE = {"sample_id", "eval_id", "epoch", "id"}
_ABOUT_RUN = (
    *("sample_id", "eval_id", "log", "description", "choices", "model_usage", "role_usage", "total_tokens"),
    *("total_time", "working_time", "message_count", "turn_count", "token_limit_usage", "error", "limit"),
    *("limit_reason", "retries", "fallbacks"),
)
"""Columns of inspect's table that tell how a sample went, not what it is."""
_BROKEN = (zipfile.BadZipFile, struct.error, zlib.error, NotImplementedError)
_LARGEST_SAMPLE = 64_000_000
_ZSTD = 93
"""The number of zstd among the methods of ZIP."""
_SHORT = 60
Told = tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]
"""A table, the columns in it that are metadata, and notes."""


def is_inspect_log(path: str) -> bool:
    """Whether a file is a log of inspect, `.eval` or `.json`."""
    if file_ending(path) == ".eval":
        return zipfile.is_zipfile(path)
    if file_ending(path) != ".json":
        return False
    head = "\n".join(read_first_lines(path))
    return '"status"' in head and re.search(r'"eval"\s*:\s*\{', head) is not None


def read_inspect_log(path: str) -> Told:
    """A row per sample and epoch; of several epochs each is an item, in the cluster of its sample."""
    header, samples = _zipped(path) if file_ending(path) == ".eval" else _whole(path)
    about = header.get("eval") or {}
    task, model = str(about.get("task") or file_stem(path)), about.get("model")
    if not samples or not isinstance(model, str):
        raise InputError("this log of inspect has no samples, or names no model.", place=Place(path))
    several = any(sample.get("epoch", 1) != 1 for sample in samples)
    rows, metadata, scores = [], [], []
    for row, sample in enumerate(samples, start=1):
        place, own = Place(path, row), str(sample.get("id", row))
        target: Any = sample.get("target")
        rows.append(
            {
                "testset": task,
                "seg_id": f"{own}#{sample.get('epoch', 1)}" if several else own,
                "system": model,
                "src": _text(sample.get("input")),
                "hyp": _answer(sample.get("output") or {}),
                "references": [str(own) for own in (target if isinstance(target, list) else [target]) if own],
            }
            | ({"doc_id": own} if several else {})
        )
        metadata.append(_flat(sample.get("metadata")))
        check_value([rows[-1], metadata[-1]], place)
        scores.append(_scores(sample.get("scores"), place))
    failed = sum(made["hyp"] is None for made in rows)
    notes = (f"{file_stem(path)}: {failed} samples have no output.",) if failed else ()
    frame = pl.DataFrame(rows, schema_overrides={"references": pl.List(pl.String)}, infer_schema_length=None)
    measured = _columns(scores, frame.columns, "score_")
    told = _columns(metadata, [*frame.columns, *measured.columns], "metadata_")
    return pl.concat([frame, measured, told], how="horizontal"), tuple(told.columns), notes


def is_inspect_table(path: str) -> bool:
    """Whether a file is a table that inspect's `samples_df` made."""
    kind = file_ending(path)
    if kind in DELIMITERS:
        header = next(iter(read_first_lines(path)), "")
        return {*re.split(r"[,\t]", header.strip().replace('"', ""))} >= SAMPLES_TABLE
    if kind not in PARQUET or not Path(path).is_file():
        return False
    try:
        return {*pq.read_schema(path).names} >= SAMPLES_TABLE
    except (pa.ArrowException, OSError, ValueError):
        return False


def read_inspect_table(path: str) -> Told:
    """A row per sample and epoch: scores and metadata; the table has no outputs, so join it to some."""
    frame = read_table(path)
    several = frame["epoch"].n_unique() > 1
    own = frame["id"].cast(pl.String)
    items = [f"{name}#{epoch}" for name, epoch in zip(own, frame["epoch"])] if several else own.to_list()
    made: dict[str, Any] = {"seg_id": items, "system": _models(frame, path)}
    if several:
        made["doc_id"] = own.to_list()
    scores = {name: name.removeprefix("score_") for name in frame.columns if name.startswith("score_")}
    rows = enumerate(frame.select(list(scores)).iter_rows(named=True), start=1)
    numbers = [
        {scores[name]: _number(own, Place(path, row)) for name, own in cells.items()} for row, cells in rows
    ]
    measured = _columns(numbers, made, "score_")
    texts = {"input": "src", "target": "ref"}
    made |= {role: frame[name].cast(pl.String) for name, role in texts.items() if name in frame.columns}
    if "task_name" in frame.columns:
        made["testset"] = frame["task_name"]
    spent = {*_ABOUT_RUN, *SAMPLES_TABLE, *texts, *scores, "model", "task_name"}
    told = {
        _free_name(name, made, "metadata_"): frame[name]
        for name, kind in frame.schema.items()
        if name not in spent and not kind.is_nested()
    }
    both = pl.concat([pl.DataFrame(made), measured, pl.DataFrame(told)], how="horizontal")
    return both, tuple(told), ()


def _whole(path: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        log = json.loads(read_text(path))
        return log, [sample for sample in log.get("samples") or [] if isinstance(sample, dict)]
    except (ValueError, RecursionError, AttributeError) as error:
        raise InputError(f"this is no log of inspect ({type(error).__name__}).", place=Place(path)) from None


def _zipped(path: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        content = read_bytes(path)
        with zipfile.ZipFile(io.BytesIO(content)) as log:
            names = sorted(name for name in log.namelist() if re.fullmatch(r"samples/[^/]+\.json", name))
            header, *samples = (_member(log, content, name, path) for name in ("header.json", *names))
            return header, samples
    except InputError:
        raise
    except (KeyError, ValueError, OSError, RecursionError, RuntimeError, *_BROKEN) as error:
        raise InputError(
            f"this log of inspect cannot be read ({type(error).__name__}).",
            place=Place(path),
            remedy="Write it as JSON: inspect log convert LOG --to json --output-dir FOLDER",
        ) from None


def _member(log: zipfile.ZipFile, content: bytes, name: str, path: str) -> Any:
    """The JSON in one file of the log; zstd, which inspect writes and `zipfile` does not know, by itself."""
    about = log.getinfo(name)
    if about.file_size > _LARGEST_SAMPLE:
        raise InputError(f"{shorten_text(name)} is too large for a sample.", place=Place(path))
    if about.compress_type != _ZSTD:
        return json.loads(log.read(name))
    name_size, extra_size = struct.unpack_from("<HH", content, about.header_offset + 26)
    start = about.header_offset + 30 + name_size + extra_size
    return json.loads(decompress(content[start : start + about.compress_size], path))


def _models(frame: pl.DataFrame, path: str) -> list[str]:
    """The model of each row: a column `model`, else the one that its usage names."""
    if "model" in frame.columns:
        return [str(model) for model in frame["model"]]
    found = []
    for row, usage in enumerate(frame["model_usage"] if "model_usage" in frame.columns else [], start=1):
        names = list(parse_object(usage, Place(path, row, "model_usage"))) if isinstance(usage, str) else []
        if len(names) == 1:
            found.append(str(names[0]))
    if len(found) < frame.height:
        raise InputError(
            "this table of samples does not say which model each is of.",
            place=Place(path),
            remedy="Make it with the model in it: samples_df(logs, columns=EvalModel + SampleSummary).",
        )
    return found


def _text(content: Any) -> str | None:
    """A prompt or an answer as text: messages under each other, of their parts the texts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _text(content.get("content", content.get("text")))
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := _text(part)))
    return None


def _answer(output: Mapping[str, Any]) -> str | None:
    choices = output.get("choices") or []
    return _text(choices[0].get("message")) if choices else None


def _scores(scores: Any, place: Place) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, score in (scores if isinstance(scores, Mapping) else {}).items():
        value = score.get("value") if isinstance(score, Mapping) else score
        parts = {f"{name}/{part}": own for part, own in value.items()} if isinstance(value, Mapping) else None
        for full, own in (parts or {name: value}).items():
            found[full] = _number(own, place)
    return found


def is_lm_eval(path: str) -> bool:
    """Whether a file has the samples that lm-eval logs with `--log_samples`."""
    head = next(iter(read_first_lines(path)), "") if file_ending(path) == ".jsonl" else ""
    return all(key in head for key in LM_EVAL)


def read_lm_eval(path: str) -> Told:
    """A row per document: its folder names the model, its file the task; filters have metrics apart.

    Of tasks with choices the output is the choice of the highest likelihood, and a target that is a number
    the choice it names.
    """
    rows: dict[str, dict[str, Any]] = {}
    documents: dict[str, dict[str, Any]] = {}
    scores: dict[str, dict[str, float | None]] = {}
    lines = enumerate(read_text(path).split("\n"), start=1)
    records = [parse_object(line, Place(path, line=number)) for number, line in lines if line.strip()]
    filters = {str(record.get("filter", "none")) for record in records}
    for row, record in enumerate(records, start=1):
        own, place = str(record.get("doc_id")), Place(path, row)
        rows.setdefault(own, _document(record, path, place))
        documents.setdefault(own, _flat(record.get("doc"), _SHORT))
        suffix = f":{record.get('filter')}" if len(filters) > 1 else ""
        for name in record.get("metrics") or ():
            scores.setdefault(own, {})[f"{name}{suffix}"] = _number(record.get(name), place)
    frame = pl.DataFrame(list(rows.values()), infer_schema_length=None)
    measured = _columns([scores.get(own, {}) for own in rows], frame.columns, "score_")
    told = _columns(list(documents.values()), [*frame.columns, *measured.columns], "metadata_")
    return pl.concat([frame, measured, told], how="horizontal"), tuple(told.columns), ()


def _document(record: Mapping[str, Any], path: str, place: Place) -> dict[str, Any]:
    name = re.sub(r"^samples_|_\d{4}-\d\d-\d\dT[\d.:-]+$", "", file_stem(path))
    asked = [own for own in (record.get("arguments") or {}).values() if isinstance(own, Mapping)]
    if not asked:
        raise InputError("a sample of lm-eval has no arguments.", place=place)
    output, target = _chosen(record, asked)
    return {
        "testset": name,
        "seg_id": str(record.get("doc_id")),
        "system": Path(path).resolve().parent.name.replace("__", "/"),
        "src": str(asked[0].get("arg_0", "")),
        "hyp": output,
        "ref": target,
    }


def _chosen(record: Mapping[str, Any], asked: Sequence[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    """Output and target: as generated, or the likeliest of the choices and the one that the target names."""
    answers, target = record.get("resps") or [], record.get("target")
    first = answers[0][0] if answers and answers[0] else None
    written = None if target is None else str(target)
    if not isinstance(first, list):
        return (first if isinstance(first, str) else None), written
    choices = [str(one.get("arg_1", "")).strip() for one in asked]
    likelihoods = [float(own[0][0]) for own in answers if own and own[0]]
    output = choices[int(np.argmax(likelihoods))] if len(likelihoods) == len(choices) else None
    numbered = written is not None and written.isdigit() and int(written) < len(choices)
    return output, choices[int(written)] if numbered and written is not None else written


def _number(value: Any, place: Place) -> float | None:
    """A score as number; null where it is none (an explanation, a list)."""
    if isinstance(value, str):
        if value in LETTERS:
            return LETTERS[value]
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, bool | int | float) or value != value:  # noqa: PLR0124 - NaN
        return None
    if abs(value) == float("inf"):
        raise InputError("a score is infinite.", place=place)
    return float(value)


def _flat(values: Any, longest: int | None = None) -> dict[str, Any]:
    """What can be a context: no nested value, and where a limit is given no longer text."""
    pairs = values.items() if isinstance(values, Mapping) else ()
    return {
        str(name): value
        for name, value in pairs
        if isinstance(value, str | bool | int | float)
        and (longest is None or not isinstance(value, str) or len(value) <= longest)
    }


def _free_name(name: str, taken: Iterable[str], prefix: str) -> str:
    """The name, or with a prefix where it is taken or means something else in a table."""
    return f"{prefix}{name}" if name in taken or is_reserved(name) else name


def _columns(rows: Sequence[Mapping[str, Any]], taken: Iterable[str], prefix: str) -> pl.DataFrame:
    """A column per name, null where a row lacks it; values of different types become text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    made = []
    for name in names:
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            values = [None if value is None else str(value) for value in values]
        made.append(pl.Series(_free_name(name, taken, prefix), values, strict=False))
    return pl.DataFrame(made)
