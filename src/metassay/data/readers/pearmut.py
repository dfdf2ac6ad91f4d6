"""Reader of pearmut: annotations that people made in campaigns.

Scores of several users for one output become their mean, with a column for each user (`human:NAME`) if there
are few. Tutorials and attention checks are left out and counted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from metassay.data.columns import is_reserved_column
from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.files import (
    get_file_ending,
    get_file_stem,
    read_first_lines_without_comments,
    read_text,
)
from metassay.data.readers.json_tables import check_json_depth_and_characters
from metassay.data.readers.rater_scores import add_rater_scores
from metassay.errors import InputError, InputLocation

# Columns of the table that are not metadata.
_COLUMNS = ("testset", "seg_id", "doc_id", "system", "hyp", "src", "ref")
# Fields of a segment that are not metadata.
_IGNORED_FIELDS = (
    *("src", "tgt", "ref", "item_id", "doc_id", "instructions"),
    *("validation", "error_spans", "model", "models"),
)
_SEGMENT_NUMBER = re.compile(r"_#_\d+$")
# Campaign, segment and model.
OutputKey = tuple[str, str, str]


class PearmutReader(Reader):
    """Reader of annotations made with the tool pearmut: `annotations.json`, or the log of one campaign."""

    name = "pearmut"
    files = ".json .jsonl"
    summary = "annotations.json, or a campaign's log: scores of people by document, segment and model"

    def sniff(self, path: str) -> bool:
        """Return whether a file is an export of the annotation tool pearmut: `annotations.json`, or the log
        of one campaign.
        """
        return is_pearmut_file(path)

    def read(self, path: str) -> RawTable:
        """Read a row per segment and model, with the texts, the mean score of all users, and the score of
        each user.
        """
        rows: dict[OutputKey, dict[str, Any]] = {}
        scores: dict[OutputKey, dict[str, float | None]] = {}
        tests = 0
        for segment in _iterate_annotated_segments(path):
            if segment.is_tutorial_or_attention_check:
                tests += 1
                continue
            for output in segment.list_outputs():
                check_json_depth_and_characters(output.row, output.location)
                rows.setdefault(output.output_key, output.row)
                # The log only grows, so the last score of a user for an output is the valid one.
                scores.setdefault(output.output_key, {})[output.user] = output.score
        if not rows:
            raise InputError("this export of pearmut has no annotations.", location=InputLocation(path))
        outputs = pl.DataFrame(list(rows.values()), infer_schema_length=None)
        table, notes = add_rater_scores(outputs, [scores[key] for key in rows], "human")
        if tests:
            notes.append(f"{get_file_stem(path)}: {tests} annotations of tutorials and checks were left out.")
        metadata = tuple(name for name in outputs.columns if name not in _COLUMNS)
        return RawTable(path, table, notes=tuple(notes), metadata_columns=metadata)


@dataclass(frozen=True)
class AnnotatedOutput:
    """One output of a system, with the score and the marked errors that one user gave to it."""

    row: dict[str, Any]
    """Keys, texts and metadata of the output."""
    user: str
    annotation: Any
    location: InputLocation

    @property
    def output_key(self) -> OutputKey:
        """The test set, segment and system that together identify the output."""
        return self.row["testset"], self.row["seg_id"], self.row["system"]

    @property
    def score(self) -> float | None:
        """The score that the user gave to the output, or None if there is none."""
        score = self.annotation.get("score") if isinstance(self.annotation, Mapping) else None
        if score is None:
            return None
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise InputError(f"a score is {type(score).__name__}, not a number.", location=self.location)
        return float(score)

    @property
    def error_spans(self) -> list[tuple[Any, Any]]:
        """The positions of the first and the last character of each error that the user marked.

        Neutral remarks are left out, and so are omissions, which have no position in the output.
        """
        errors = self.annotation.get("error_spans") if isinstance(self.annotation, Mapping) else None
        spans = []
        for error in errors or []:
            span = (error.get("start_i"), error.get("end_i"))
            if error.get("severity") != "neutral" and "missing" not in span:
                spans.append(span)
        return spans


@dataclass(frozen=True)
class _AnnotatedSegment:
    """One segment of a document, with the annotation that one user made of the outputs of all models."""

    campaign: str
    user: str
    document: list[Any]
    position: int
    """Position in the document, from 0."""
    annotation: Any
    location: InputLocation

    @property
    def json_fields(self) -> dict[str, Any]:
        """The JSON object that describes this segment in the export of pearmut."""
        fields: dict[str, Any] = self.document[self.position]
        return fields

    @property
    def is_tutorial_or_attention_check(self) -> bool:
        """Return whether the segment only trains users or checks their attention, so that its scores do not
        count.
        """
        return bool(self.json_fields.get("validation"))

    def list_outputs(self) -> list[AnnotatedOutput]:
        """Return the annotated outputs of the segment: one, or one per model."""
        texts = self.json_fields.get("tgt")
        if not isinstance(texts, Mapping):
            model = str(self.json_fields.get("model", "model"))
            return [self._build_annotated_output(model, str(texts), self.annotation)]
        annotations = self.annotation if isinstance(self.annotation, Mapping) else {}
        return [
            self._build_annotated_output(str(model), str(text), annotations[model])
            for model, text in texts.items()
            if model in annotations
        ]

    def _build_annotated_output(self, model: str, text: str, annotation: Any) -> AnnotatedOutput:
        item, document_id = self._choose_segment_and_document_ids()
        row: dict[str, Any] = {"testset": self.campaign, "seg_id": item, "doc_id": document_id}
        for name in ("src", "ref"):
            if isinstance(self.json_fields.get(name), str):
                row[name] = self.json_fields[name]
        for name, value in self.json_fields.items():
            if name not in _IGNORED_FIELDS and isinstance(value, str | bool | int | float):
                column = f"metadata_{name}" if is_reserved_column(name) else name
                row[column] = str(value)
        row["system"] = model
        row["hyp"] = text
        return AnnotatedOutput(row, self.user, annotation, self.location)

    def _choose_segment_and_document_ids(self) -> tuple[str, str]:
        """Choose an id for the segment and an id for its document.

        Without an id in the file, a hash of the source texts is used, which is the same for all users.
        """
        segments = [segment if isinstance(segment, dict) else {} for segment in self.document]
        ids = [segment.get("item_id", segment.get("doc_id")) for segment in segments]
        own_id = ids[self.position]
        if own_id is None:
            sources = json.dumps([segment.get("src") for segment in segments])
            document_hash = hashlib.blake2b(sources.encode(), digest_size=5).hexdigest()
            return f"{document_hash}-{self.position + 1}", document_hash
        document_id = _SEGMENT_NUMBER.sub("", str(own_id))
        # Several segments with the same id: it is the id of their document.
        if ids.count(own_id) > 1:
            return f"{own_id}-{self.position + 1}", document_id
        return str(own_id), document_id


def is_pearmut_file(path: str) -> bool:
    """Return whether a file is an export of the annotation tool pearmut: `annotations.json`, or the log of
    one campaign.
    """
    ending = get_file_ending(path)
    if ending not in {".json", ".jsonl"}:
        return False
    beginning = "\n".join(read_first_lines_without_comments(path))
    if ending == ".jsonl":
        return all(key in beginning for key in ('"user_id"', '"item_i"', '"item"'))
    has_campaign = re.match(r'\s*\{\s*"[^"]*"\s*:\s*\[\s*\{', beginning) is not None
    return has_campaign and all(key in beginning for key in ('"item"', '"src"', '"tgt"'))


def read_pearmut_annotations(path: str) -> list[AnnotatedOutput]:
    """Read the annotation that each user made of each output. If a user annotated an output several times,
    the last annotation counts.
    """
    latest: dict[tuple[str, ...], AnnotatedOutput] = {}
    for segment in _iterate_annotated_segments(path):
        if not segment.is_tutorial_or_attention_check:
            for output in segment.list_outputs():
                latest[*output.output_key, output.user] = output
    return list(latest.values())


def _iterate_annotated_segments(path: str) -> Iterator[_AnnotatedSegment]:
    """Yield every annotated segment of an export, in the order of the file."""
    for campaign, number, entry in _read_annotation_log_entries(path):
        location = InputLocation(path, row=number)
        document = entry["item"]
        annotations = entry.get("annotation", entry.get("annotations"))
        if not isinstance(annotations, list) or len(annotations) != len(document):
            raise InputError("an entry does not annotate every segment of its document.", location=location)
        user = str(entry.get("user_id"))
        for position, annotation in enumerate(annotations):
            if isinstance(document[position], dict):
                yield _AnnotatedSegment(campaign, user, document, position, annotation, location)


def _read_annotation_log_entries(path: str) -> list[tuple[str, int, dict[str, Any]]]:
    """Return all log entries that annotate a document, each with its campaign and its number."""
    text = read_text(path)
    entries = []
    try:
        if get_file_ending(path) == ".jsonl":
            campaigns = {get_file_stem(path): [json.loads(line) for line in text.split("\n") if line.strip()]}
        else:
            campaigns = json.loads(text)
        for campaign, campaign_entries in campaigns.items():
            for number, entry in enumerate(campaign_entries, start=1):
                if isinstance(entry, dict) and isinstance(entry.get("item"), list):
                    entries.append((str(campaign), number, entry))
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise InputError(
            f"this is not an export of pearmut ({type(error).__name__}).", location=InputLocation(path)
        ) from None
    return entries
