"""Reader of the data of WMT25's general task, as its repository has it.

    data/systems/SYSTEM.jsonl            {"doc_id", "hypothesis"}: an output per document
    data/automatic_scores/SYSTEM.jsonl   {"language_pair", "domain", "document_id", "metric_scores": {...}}
    data/*genmt.jsonl                    {"doc_id", "src_text", "refs": {"refA": {"ref": ...}}}
    data/*humeval.jsonl                  {"doc_id", "src_text", "tgt_text", "scores"}: the last two by system

The id of a document is `LP_#_DOMAIN_#_NAME`, that of a segment `LP_#_DOMAIN_#_NAME_#_NUMBER`, from 0.
Segments of a document are separated by an empty line, and a metric has a score for each. A human score is an
object with `score` and `annotator`. The file of human scores of WMT24 (`wmt24-genmt-humeval.jsonl`) has the
same form.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.files import get_file_ending, read_first_lines_without_comments, read_text
from metassay.data.readers.json_tables import check_json_depth_and_characters
from metassay.data.readers.rater_scores import add_rater_scores
from metassay.errors import InputError, InputLocation

ID_SEPARATOR = "_#_"
PARAGRAPH_BREAK = "\n\n"
REFERENCE_SYSTEM = "refA"
HUMAN_SCORE = "esa"
UNALIGNED_REASON = "other number of paragraphs than the source"
# Id of the segment, and system.
OutputKey = tuple[str, str]


class Wmt25Reader(Reader):
    """Reader of the folder `data` of WMT25's general task."""

    name = "wmt25"
    files = "a folder"
    summary = "texts, metric scores and human scores of WMT25: systems/, automatic_scores/, *humeval.jsonl"
    task = "mt"

    def sniff(self, path: str) -> bool:
        """Return whether a folder, or its subfolder `data`, has files with the outputs or metric scores of
        each system.
        """
        return _find_wmt25_data_folder(path) is not None

    def read(self, path: str) -> RawTable:
        """Read the outputs and scores of all systems into a table with a row per segment and system."""
        folder = _find_wmt25_data_folder(path)
        assert folder is not None
        outputs = _Outputs()
        for file in sorted(folder.glob("*genmt.jsonl")):
            _add_sources_and_references(outputs, str(file))
        for file in sorted(folder.glob("*humeval.jsonl")):
            _add_human_evaluation(outputs, str(file))
        for file in sorted((folder / "systems").glob("*.jsonl")):
            _add_system_outputs(outputs, str(file))
        for file in sorted((folder / "automatic_scores").glob("*.jsonl")):
            _add_metric_scores(outputs, str(file))
        return outputs.build_output_table(path)


class HumanEvaluationReader(Reader):
    """Reader of the human scores of WMT24 and WMT25 in one file."""

    name = "wmt-humeval"
    files = ".jsonl"
    summary = "wmt25-genmt-humeval.jsonl: source, outputs and human scores of each segment"
    task = "mt"

    def sniff(self, path: str) -> bool:
        """Return whether the first line of a file of JSON lines has outputs and human scores by system."""
        if get_file_ending(path) != ".jsonl":
            return False
        beginning = "\n".join(read_first_lines_without_comments(path))
        return all(f'"{name}"' in beginning for name in ("scores", "src_text", "tgt_text", "doc_id"))

    def read(self, path: str) -> RawTable:
        """Read outputs and human scores into a table with a row per segment and system. The human score is
        the mean over annotators.
        """
        outputs = _Outputs()
        _add_human_evaluation(outputs, path)
        return outputs.build_output_table(path)


@dataclass
class _Outputs:
    """Texts, scores and metadata of all outputs, collected from several files of WMT25."""

    rows: dict[OutputKey, dict[str, Any]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    human_scores: dict[OutputKey, dict[str, float | None]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def get_or_create_output_row(self, segment: str, system: str) -> dict[str, Any]:
        """Return the row that collects the texts and scores of one output. The first call creates it."""
        key = (segment, system)
        if key not in self.rows:
            self.rows[key] = {**_split_segment_id(segment), "system": system}
        return self.rows[key]

    def build_output_table(self, path: str) -> RawTable:
        """Return all collected outputs as a table with a row per segment and system."""
        if not self.rows:
            raise InputError("there is no output.", location=InputLocation(path))
        records = []
        for (segment, _), row in self.rows.items():
            texts = {"src": self.sources.get(segment), "ref": self.references.get(segment)}
            records.append({"hyp": None, **row, **texts})
        columns = dict.fromkeys(name for record in records for name in record)
        complete = [{name: record.get(name) for name in columns} for record in records]
        table = pl.DataFrame(complete, infer_schema_length=None)
        table = table.drop([name for name in ("src", "ref", "hyp") if table[name].is_null().all()])
        notes: list[str] = []
        human_columns: tuple[str, ...] = ()
        if self.human_scores:
            scores = [self.human_scores.get(key, {}) for key in self.rows]
            table, notes = add_rater_scores(table, scores, HUMAN_SCORE)
            human_columns = tuple(name for name in table.columns if name.partition(":")[0] == HUMAN_SCORE)
        notes += [
            f"{count} outputs of documents were left out: {why}." for why, count in self.left_out.items()
        ]
        return RawTable(path, table, "mt", tuple(notes), human_columns, left_out=dict(self.left_out))


def _split_segment_id(segment_id: str) -> dict[str, str]:
    """Split the id of a segment into its document and, if the id names them, its language pair and domain."""
    parts = segment_id.split(ID_SEPARATOR)
    document = segment_id.rpartition(ID_SEPARATOR)[0] or segment_id
    names = {"seg_id": segment_id, "doc_id": document}
    if len(parts) >= 4:
        names = {"lp": parts[0], "domain": parts[1], **names}
    return names


def _find_wmt25_data_folder(path: str) -> Path | None:
    """Find the folder with files of outputs or metric scores: the given one or its subfolder `data`. Returns
    None if neither has any.
    """
    for folder in (Path(path), Path(path) / "data"):
        for name, field_name in (("systems", '"hypothesis"'), ("automatic_scores", '"metric_scores"')):
            first = next(iter(sorted((folder / name).glob("*.jsonl"))), None)
            if first is not None and field_name in "".join(read_first_lines_without_comments(str(first))[:1]):
                return folder
    return None


def _iterate_json_objects(path: str) -> Iterator[tuple[dict[str, Any], InputLocation]]:
    """Yield each object of a file with a JSON object per line, together with its location in the file."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            location = InputLocation(path, line=number)
            try:
                record = json.loads(line, parse_constant=lambda _: None)  # NaN stands for a missing score
            except (ValueError, RecursionError):
                raise InputError("this is not JSON.", location=location) from None
            if not isinstance(record, dict):
                raise InputError("a JSON object was expected.", location=location)
            check_json_depth_and_characters(record, location)
            yield record, location


def _get_text_field(record: Mapping[str, Any], field_name: str, location: InputLocation) -> str:
    value = record.get(field_name)
    if not isinstance(value, str):
        raise InputError(f"{field_name} is not text.", location=location)
    return value


def _build_segment_id(document_id: str, paragraph_number: int) -> str:
    return f"{document_id}{ID_SEPARATOR}{paragraph_number}"


def _add_sources_and_references(collected_outputs: _Outputs, texts_file: str) -> None:
    """Add the texts of the file `*genmt.jsonl`: paragraphs of sources and references, and outputs of
    systems.
    """
    for record, location in _iterate_json_objects(texts_file):
        document = _get_text_field(record, "doc_id", location)
        paragraphs = _get_text_field(record, "src_text", location).split(PARAGRAPH_BREAK)
        for number, text in enumerate(paragraphs):
            collected_outputs.sources[_build_segment_id(document, number)] = text
        refs = record.get("refs") or {}
        if REFERENCE_SYSTEM in refs:
            reference = _get_text_field(refs[REFERENCE_SYSTEM], "ref", location).split(PARAGRAPH_BREAK)
            if len(reference) == len(paragraphs):
                for number, text in enumerate(reference):
                    collected_outputs.references[_build_segment_id(document, number)] = text
        for system, text in (record.get("tgt_text") or {}).items():
            _add_translated_document(collected_outputs, document, system, text, len(paragraphs))


def _add_translated_document(
    collected_outputs: _Outputs,
    document_id: str,
    system: str,
    document_text: str,
    source_paragraph_count: int | None,
) -> None:
    """Add each paragraph of a translated document as an output. A document with more or fewer paragraphs than
    its source is left out.
    """
    paragraphs = document_text.split(PARAGRAPH_BREAK)
    if source_paragraph_count is not None and len(paragraphs) != source_paragraph_count:
        collected_outputs.left_out[UNALIGNED_REASON] += 1
        return
    for number, paragraph in enumerate(paragraphs):
        collected_outputs.get_or_create_output_row(_build_segment_id(document_id, number), system)["hyp"] = (
            paragraph
        )


def _add_system_outputs(collected_outputs: _Outputs, outputs_file: str) -> None:
    """Add the outputs of one system from a file that is named after the system."""
    lengths = Counter(segment.rpartition(ID_SEPARATOR)[0] for segment in collected_outputs.sources)
    for record, location in _iterate_json_objects(outputs_file):
        document = _get_text_field(record, "doc_id", location)
        hypothesis = _get_text_field(record, "hypothesis", location)
        _add_translated_document(
            collected_outputs, document, Path(outputs_file).stem, hypothesis, lengths.get(document)
        )


def _add_metric_scores(collected_outputs: _Outputs, scores_file: str) -> None:
    """Add the metric scores of one system from a file with a score per metric, document and paragraph."""
    system = Path(scores_file).stem
    for record, location in _iterate_json_objects(scores_file):
        parts = [
            _get_text_field(record, name, location) for name in ("language_pair", "domain", "document_id")
        ]
        document = ID_SEPARATOR.join(parts)
        for metric, scores in record.get("metric_scores", {}).items():
            if not isinstance(scores, list):
                raise InputError(f"the scores of {metric} are not a list.", location=location)
            for number, score in enumerate(scores):
                row = collected_outputs.get_or_create_output_row(_build_segment_id(document, number), system)
                row[metric] = _convert_score_to_float(score, metric, location)


def _convert_score_to_float(score: Any, metric: str, location: InputLocation) -> float | None:
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isinf(score):
        raise InputError(f"a score of {metric} is not a number.", location=location)
    return float(score)


def _add_human_evaluation(collected_outputs: _Outputs, evaluation_file: str) -> None:
    """Add the sources, outputs and human scores of each segment from a file of human evaluation."""
    for record, location in _iterate_json_objects(evaluation_file):
        segment = _get_text_field(record, "doc_id", location)
        collected_outputs.sources[segment] = _get_text_field(record, "src_text", location)
        for system, text in record["tgt_text"].items():
            collected_outputs.get_or_create_output_row(segment, system)["hyp"] = text
        if REFERENCE_SYSTEM in record["tgt_text"]:
            collected_outputs.references[segment] = record["tgt_text"][REFERENCE_SYSTEM]
        for system, ratings in record["scores"].items():
            scores = dict(_iterate_annotator_scores(ratings, location))
            collected_outputs.get_or_create_output_row(segment, system)
            collected_outputs.human_scores[segment, system] = scores


def _iterate_annotator_scores(ratings: Any, location: InputLocation) -> Iterator[tuple[str, float | None]]:
    """Yield the name of the annotator and the score of each rating that has a score."""
    if not isinstance(ratings, list):
        raise InputError("the human scores of a system are not a list.", location=location)
    for number, rating in enumerate(ratings, start=1):
        score = rating.get("score")
        if isinstance(score, str):  # WMT24 writes numbers as texts
            score = json.loads(score)
        value = _convert_score_to_float(score, "people", location)
        if value is not None:
            yield str(rating.get("annotator", f"wave{number}")), value
