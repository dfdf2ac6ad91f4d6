"""Inspect's logs, `.eval` and `.json`, and the table that its `samples_df` makes of them."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metassay.data.readers.files import decompress, ending, opening, plain_name, read_bytes, read_text
from metassay.data.readers.jsonlines import check_value, parse_object
from metassay.data.readers.samples import Told, columns, flat, free_name, number
from metassay.data.readers.tables import DELIMITERS, PARQUET, read_table
from metassay.errors import InputError, Place, shortened

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


def is_inspect_log(path: str) -> bool:
    """Whether a file is a log of inspect, `.eval` or `.json`."""
    if ending(path) == ".eval":
        return zipfile.is_zipfile(path)
    if ending(path) != ".json":
        return False
    head = "\n".join(opening(path))
    return '"status"' in head and re.search(r'"eval"\s*:\s*\{', head) is not None


def read_inspect_log(path: str) -> Told:
    """A row per sample and epoch; of several epochs each is an item, in the cluster of its sample."""
    header, samples = _zipped(path) if ending(path) == ".eval" else _whole(path)
    about = header.get("eval") or {}
    task, model = str(about.get("task") or plain_name(path)), about.get("model")
    if not samples or not isinstance(model, str):
        raise InputError("this log of inspect has no samples, or names no model.", place=Place(path))
    several = any(sample.get("epoch", 1) != 1 for sample in samples)
    rows, metadata, scores = [], [], []
    for row, sample in enumerate(samples, start=1):
        place, own = Place(path, row), str(sample.get("id", row))
        target = sample.get("target")
        rows.append(
            {
                "testset": task,
                "seg_id": f"{own}#{sample.get('epoch', 1)}" if several else own,
                "system": model,
                "src": _text(sample.get("input")),
                "hyp": _answer(sample.get("output") or {}),
                "references": [text for text in _listed(target) if text],
            }
            | ({"doc_id": own} if several else {})
        )
        metadata.append(flat(sample.get("metadata")))
        check_value([rows[-1], metadata[-1]], place)
        scores.append(_scores(sample.get("scores"), place))
    failed = sum(row["hyp"] is None for row in rows)
    notes = (f"{plain_name(path)}: {failed} samples have no output.",) if failed else ()
    schema = {"references": pl.List(pl.String)}
    frame = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)
    measured = columns(scores, frame.columns, "score_")
    told = columns(metadata, [*frame.columns, *measured.columns], "metadata_")
    return pl.concat([frame, measured, told], how="horizontal"), tuple(told.columns), notes


def is_inspect_table(path: str) -> bool:
    """Whether a file is a table that inspect's `samples_df` made."""
    kind = ending(path)
    if kind in DELIMITERS:
        header = next(iter(opening(path)), "")
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
    places = [Place(path, row) for row in range(1, frame.height + 1)]
    measured = columns(
        [
            {scores[name]: number(row[name], place) for name in scores}
            for place, row in zip(places, frame.iter_rows(named=True))
        ],
        made,
        "score_",
    )
    texts = {"input": "src", "target": "ref"}
    made |= {role: frame[name].cast(pl.String) for name, role in texts.items() if name in frame.columns}
    if "task_name" in frame.columns:
        made["testset"] = frame["task_name"]
    spent = {*_ABOUT_RUN, *SAMPLES_TABLE, *texts, *scores, "model", "task_name"}
    flat = {
        name: frame[name] for name, kind in frame.schema.items() if name not in spent and not kind.is_nested()
    }
    told = {free_name(name, made, "metadata_"): series for name, series in flat.items()}
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
        raise InputError(f"{shortened(name)} is too large for a sample.", place=Place(path))
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
    if isinstance(output.get("completion"), str) and choices:
        return str(output["completion"])
    return _text(choices[0].get("message")) if choices and isinstance(choices[0], Mapping) else None


def _scores(scores: Any, place: Place) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, score in (scores if isinstance(scores, Mapping) else {}).items():
        value = score.get("value") if isinstance(score, Mapping) else score
        parts = {f"{name}/{part}": own for part, own in value.items()} if isinstance(value, Mapping) else None
        for full, own in (parts or {name: value}).items():
            found[full] = number(own, place)
    return found


def _listed(value: Any) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else [] if value is None else [str(value)]
