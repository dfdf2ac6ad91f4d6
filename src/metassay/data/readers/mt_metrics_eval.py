"""Reader of mt-metrics-eval folders: human scores, metric scores and texts of shared tasks.

    TESTSET/documents/LP.docs                     domain and document of each segment
    TESTSET/human-scores/LP.NAME.seg.score        system and score, `None` if unrated; any number of NAMEs
    TESTSET/human-scores/LP.NAME.doc.score        the same by document, used if nobody scored segments
    TESTSET/human-scores/LP.mqm*.seg.rating       system and marked errors, used if there is no mqm score
    TESTSET/metric-scores/LP/METRIC-REF.seg.score the same for a metric; REF is the reference used, or `src`
    TESTSET/references, sources, system-outputs   the texts: `.txt`, or since WMT25 `.jsonl`
    TESTSET/metadata/LP/SYSTEM.jsonl              an object per segment: further metadata of each output
    TESTSET/humeval/*.csv, ../humeval/*.csv       exports of Appraise, used if there are no human-scores

`human-scores` and `metric-scores` may be missing, as in the folder `txt` of WMT24. Segments of the domain
`canary`, which mark the texts as test data, are left out.

A score file lists the segments of one system after those of another; line n of a system is segment n.
Everything in human-scores was given by people, whatever its name; nothing in metadata is a score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from metassay.data import cells
from metassay.data.readers.appraise_trees import list_appraise_exports, read_appraise_scores
from metassay.data.readers.base import RawTable, Reader, ReaderOptions
from metassay.data.readers.error_spans import read_error_spans
from metassay.data.readers.mqm_ratings import check_line_count_of_each_system, read_mqm_rating_file
from metassay.data.readers.mt_metrics_eval_texts import (
    OUTPUT_KEY,
    add_metadata_columns,
    add_text_columns,
    read_segment_lines,
    read_texts,
)
from metassay.errors import InputError, InputLocation, UnknownName, join_with_commas

# The shared task's standard reference by test set and language pair, if it is not `refA`.
STANDARD_REFERENCES = {
    ("wmt21.news", "en-de"): "refC",
    ("wmt21.news", "zh-en"): "refB",
    ("wmt23", "he-en"): "refB",
}
# The folder of texts in the repository of WMT24.
TEXT_FOLDER = "txt"
CANARY_DOMAIN = "canary"
# Stands in the name of a metric that uses no reference.
SOURCE_ONLY = "src"
_HUMAN_SCORE_NAMES = {"da-sqm": "da_sqm", "wmt-z": "da"}


class MtMetricsEvalReader(Reader):
    """Reader of folders in the layout of mt-metrics-eval, the program with which WMT evaluates metrics."""

    name = "mt-metrics-eval"
    files = "a folder"
    summary = "scores of people and metrics, and texts: human-scores/, metric-scores/, system-outputs/ …"

    def sniff(self, path: str) -> bool:
        """Return whether a folder is a test set in the layout of mt-metrics-eval, or contains such test
        sets.
        """
        return has_test_sets(path)

    def read(self, path: str) -> list[RawTable]:
        """Read a table for every language pair of a folder. Metrics are read with the standard reference of
        the language pair.
        """
        return read_language_pairs(path)

    def read_tables(self, path: str, options: ReaderOptions) -> list[RawTable]:
        """Read a table for every language pair of a folder, with the references that the user named instead
        of the standard ones.
        """
        return read_language_pairs(path, reference=options.reference)


class MarkedErrors(NamedTuple):
    """Positions of the errors that people and metrics marked in the outputs of one language pair."""

    by_people: pl.DataFrame
    """A row per output and rater, with `spans`, texts, document and domain."""
    by_metric: dict[str, pl.DataFrame]


@dataclass(frozen=True)
class _LanguagePair:
    """The files and segments of one language pair in a test set of mt-metrics-eval."""

    test_set: Path
    lp: str
    segments: pl.DataFrame
    """A row per segment: `lp, seg_id, domain, doc_id`."""

    @classmethod
    def load_language_pair(cls, test_set: Path, language_pair: str) -> _LanguagePair:
        """Read the list of segments of a language pair. Scores and texts are read later."""
        return cls(
            test_set,
            language_pair,
            _read_segments(test_set / "documents" / f"{language_pair}.docs", language_pair),
        )

    @property
    def documents(self) -> pl.DataFrame:
        """A table with the number (from 1) and the id of each document, in the order of the test set."""
        ids = self.segments.select(pl.col("doc_id").unique(maintain_order=True))
        return ids.with_row_index("_number", offset=1)

    def add_texts(self, table: pl.DataFrame, references: Sequence[str]) -> pl.DataFrame:
        """Add the texts of sources, references and outputs to a table of outputs of this language pair."""
        return add_text_columns(table, self.test_set, self.lp, references, self.segments.height)

    def find_human_score_files(self, score_level: str) -> dict[str, Path]:
        """Find the files of human scores of this language pair, by the name of the score.

        `score_level` is `seg` for scores of segments, `doc` for those of documents.
        """
        ending = f".{score_level}.score"
        files = {}
        for path in sorted((self.test_set / "human-scores").glob(f"{self.lp}.*{ending}")):
            name = path.name.removeprefix(f"{self.lp}.").removesuffix(ending)
            files[_HUMAN_SCORE_NAMES.get(name, name)] = path
        return files

    def find_metric_score_files(
        self, score_level: str, references: Sequence[str] | None = None
    ) -> dict[str, Path]:
        """Find the files of metric scores of this language pair, by the name of metric and reference, such as
        `BLEU-refA`.

        `score_level` is `seg`, `doc` or `sys`, for scores of segments, documents or systems. With
        `references`, only metrics that use one of them or the source alone are returned.
        """
        ending = f".{score_level}.score"
        files = {}
        for path in sorted((self.test_set / "metric-scores" / self.lp).glob(f"*{ending}")):
            name = path.name.removesuffix(ending)
            if references is None or name.rpartition("-")[2] in {*references, SOURCE_ONLY}:
                files[name] = path
        return files


def has_test_sets(folder: str | Path) -> bool:
    """Return whether a folder is, or contains, a test set in the layout of mt-metrics-eval."""
    return bool(_find_test_set_folders(Path(folder)))


def read_language_pairs(folder: str | Path, *, reference: Sequence[str] = ()) -> list[RawTable]:
    """Read a table with a row per system and segment for every language pair that has human scores or texts.

    `reference` names the references to use instead of the standard ones.
    """
    tables = []
    test_sets = _find_test_set_folders(Path(folder))
    for test_set, lp in _list_language_pairs(test_sets):
        if _has_scores_or_texts(test_set, lp):
            table = _read_language_pair(
                _LanguagePair.load_language_pair(test_set, lp), reference, str(folder)
            )
            if len(test_sets) > 1:
                table = replace(table, frame=table.frame.with_columns(testset=pl.lit(test_set.name)))
            tables.append(table)
    if not tables:
        raise InputError(
            "no language pair has human and metric scores per segment.", location=InputLocation(str(folder))
        )
    return tables


def read_marked_errors(
    folder: str | Path, human_score: str | None = None, *, reference: Sequence[str] = ()
) -> list[MarkedErrors]:
    """Read the positions of the errors that people and metrics marked in outputs, separately for every
    language pair.

    If people left several rating files, that of the human score `human_score` is read, else the first.
    """
    marked_errors = []
    test_sets = _find_test_set_folders(Path(folder))
    for test_set, lp in _list_language_pairs(test_sets):
        files = sorted((test_set / "human-scores").glob(f"{lp}.*.seg.rating"))
        if not files:
            continue
        requested = [path for path in files if human_score and path.name.startswith(f"{lp}.{human_score}.")]
        pair = _LanguagePair.load_language_pair(test_set, lp)
        by_people = _read_human_error_spans(
            pair, [*requested, *files][0], _choose_references(pair, reference)
        )
        if len(test_sets) > 1:
            by_people = by_people.with_columns(testset=pl.lit(test_set.name))
        by_metric = {}
        for path in sorted((test_set / "metric-scores" / lp).glob("*.seg.rating")):
            by_metric[path.name.removesuffix(".seg.rating")] = read_error_spans(str(path))
        marked_errors.append(MarkedErrors(by_people, by_metric))
    return marked_errors


def _find_test_set_folders(folder: Path) -> list[Path]:
    """Return all test sets that a folder contains, including the folder itself if it is one."""
    if not folder.is_dir():
        return []
    candidates = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    if folder / TEXT_FOLDER in candidates:
        # WMT24 has the segments of test suites in other folders, which nobody rated.
        candidates = [folder, folder / TEXT_FOLDER]
    return [path for path in candidates if _is_test_set(path)]


def _is_test_set(folder: Path) -> bool:
    """Return whether a folder has the subfolders of a test set: human and metric scores, or documents with
    human scores or outputs.
    """
    subfolders = {path.name for path in folder.iterdir() if path.is_dir()}
    sufficient_subfolders = (
        {"human-scores", "metric-scores"},
        {"human-scores", "documents"},
        {"system-outputs", "documents"},
    )
    return any(names <= subfolders for names in sufficient_subfolders)


def _has_scores_or_texts(test_set: Path, language_pair: str) -> bool:
    """Return whether a language pair has human scores. In a test set without any human scores, outputs of
    systems are enough.
    """
    if not (test_set / "human-scores").is_dir():
        return (test_set / "system-outputs" / language_pair).is_dir()
    human_files = (test_set / "human-scores").glob(f"{language_pair}.*")
    return any(path.name.endswith((".seg.score", ".doc.score", ".seg.rating")) for path in human_files)


def _list_language_pairs(test_sets: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each language pair of each test set, as the folder of the test set and a name such as `en-de`.

    If a test set has metric scores, only language pairs with metric scores are listed.
    """
    for test_set in test_sets:
        metric_scores = test_set / "metric-scores"
        if metric_scores.is_dir():
            names = [path.name for path in metric_scores.iterdir() if path.is_dir()]
        else:
            names = [path.stem for path in (test_set / "documents").glob("*.docs")]
        for name in sorted(names):
            yield test_set, name


def _read_human_error_spans(
    language_pair: _LanguagePair, rating_file: Path, references: Sequence[str]
) -> pl.DataFrame:
    """Read the errors that people marked in the outputs of a language pair, with the texts and documents of
    these outputs.
    """
    spans = read_error_spans(str(rating_file)).with_columns(pl.col("seg_id").cast(pl.Int64))
    rated = spans.join(language_pair.segments, on="seg_id", how="left", maintain_order="left")
    with_texts = language_pair.add_texts(rated, references)
    return with_texts.with_columns(pl.col("seg_id").cast(pl.String))


def _read_language_pair(
    language_pair: _LanguagePair, requested_references: Sequence[str], file: str
) -> RawTable:
    """Read the texts and all scores of a language pair into a table with a row per system and segment."""
    references = _choose_references(language_pair, requested_references)
    human_scores = _read_human_scores(language_pair)
    if not human_scores and language_pair.find_human_score_files("doc"):
        return _read_language_pair_by_document(language_pair, references, file)
    score_tables = [*human_scores.values(), *_read_metric_scores(language_pair, references).values()]
    notes = _describe_which_metrics_were_read(language_pair, references)
    human_columns = list(human_scores)
    if not (language_pair.test_set / "metric-scores").is_dir():
        exported, export_notes = read_appraise_scores(
            list_appraise_exports(language_pair.test_set), language_pair.segments, language_pair.lp
        )
        if exported is not None and not human_scores:
            score_tables.append(exported)
            human_columns += [name for name in exported.columns if name not in OUTPUT_KEY]
            notes += export_notes
        score_tables.insert(0, _list_outputs(language_pair))
    scores = _join_score_tables(score_tables)
    table = language_pair.segments.join(scores.sort(OUTPUT_KEY), on="seg_id").sort(OUTPUT_KEY)
    table = language_pair.add_texts(table, references)
    table = _add_texts_of_references(table, language_pair)
    table, metadata = add_metadata_columns(
        table, language_pair.test_set, language_pair.lp, language_pair.segments.height
    )
    is_canary = table["domain"] == CANARY_DOMAIN
    if is_canary.any():
        table = table.filter(~is_canary)
        notes.append(f"{language_pair.lp}: the canary line was left out.")
    only_by_document = [
        name for name in language_pair.find_human_score_files("doc") if name not in human_scores
    ]
    if only_by_document:
        names = ", ".join(only_by_document)
        notes.append(
            f"{language_pair.lp}: human scores that exist only for documents were left out: {names}."
        )
    return RawTable(
        file, table, notes=tuple(notes), human_columns=tuple(human_columns), metadata_columns=metadata
    )


def _list_outputs(language_pair: _LanguagePair) -> pl.DataFrame:
    """List all outputs of a language pair in a table `system, seg_id` with a row per output."""
    files = (language_pair.test_set / "system-outputs" / language_pair.lp).glob("*")
    systems = sorted({path.stem for path in files if path.suffix in {".txt", ".jsonl"}})
    return pl.DataFrame({"system": systems}, schema={"system": pl.String}).join(
        language_pair.segments.select("seg_id"), how="cross"
    )


def _add_texts_of_references(table: pl.DataFrame, language_pair: _LanguagePair) -> pl.DataFrame:
    """Fill in the texts of human reference translations that people rated like outputs, because no file of
    outputs contains these texts.
    """
    if "hyp" not in table.columns or (language_pair.test_set / "metric-scores").is_dir():
        return table
    without_text = table.filter(pl.col("hyp").is_null())["system"].unique().to_list()
    for name in sorted(without_text):
        texts = read_texts(
            language_pair.test_set / "references", f"{language_pair.lp}.{name}", language_pair.segments.height
        )
        if texts is not None:
            reference_texts = texts.rename({"text": "_reference"}).with_columns(system=pl.lit(name))
            joined = table.join(reference_texts, on=OUTPUT_KEY, how="left", maintain_order="left")
            table = joined.with_columns(pl.coalesce("hyp", "_reference").alias("hyp")).drop("_reference")
    return table


def _read_segments(docs_file: Path, language_pair: str) -> pl.DataFrame:
    """Read the table of segments from a `.docs` file, which has the domain and the document of one segment on
    each line.
    """
    domains = []
    documents = []
    for number, line in enumerate(read_segment_lines(docs_file), start=1):
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) < 2:
            raise InputError(
                "domain and document were expected.", location=InputLocation(str(docs_file), line=number)
            )
        domains.append(fields[0])
        documents.append(fields[1])
    return pl.DataFrame(
        {
            "lp": [language_pair] * len(domains),
            "seg_id": list(range(1, len(domains) + 1)),
            "domain": domains,
            "doc_id": documents,
        }
    )


def _read_human_scores(language_pair: _LanguagePair) -> dict[str, pl.DataFrame]:
    """Read a table for each kind of human score of a language pair. MQM scores without a file are computed
    from the errors that raters marked.
    """
    segments = language_pair.segments.height
    scores = {}
    for name, path in language_pair.find_human_score_files("seg").items():
        scores[name] = _read_score_file(path, name, segments)
    for path in sorted((language_pair.test_set / "human-scores").glob(f"{language_pair.lp}.mqm*.seg.rating")):
        if "mqm" not in scores:
            scores["mqm"] = read_mqm_rating_file(path, segments)
    return scores


def _read_metric_scores(language_pair: _LanguagePair, references: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Read the segment scores of all metrics that use one of the given references or no reference. Returns a
    table for each metric.
    """
    files = language_pair.find_metric_score_files("seg", references)
    return {name: _read_score_file(path, name, language_pair.segments.height) for name, path in files.items()}


def _describe_which_metrics_were_read(language_pair: _LanguagePair, references: Sequence[str]) -> list[str]:
    """Return notes that tell the user which metrics were read, and which have no scores of segments."""
    notes = []
    with_segments = language_pair.find_metric_score_files("seg")
    if (language_pair.test_set / "metric-scores").is_dir():
        names = ", ".join(references) or "no reference"
        notes.append(
            f"{language_pair.lp}: the metrics that use {names} or the source alone were read."
            " For another reference, add --reference NAME."
        )
    systems_only = [
        name for name in language_pair.find_metric_score_files("sys", references) if name not in with_segments
    ]
    if systems_only:
        names = ", ".join(systems_only)
        notes.append(
            f"{language_pair.lp}: metrics that have only system scores cannot be ranked by segment: {names}."
        )
    return notes


def _read_language_pair_by_document(
    language_pair: _LanguagePair, references: Sequence[str], file: str
) -> RawTable:
    """Read a table with a row per system and document, for a language pair in which people scored whole
    documents.

    `seg_id` is the number of the document. A metric without document scores gets the mean over segments.
    Texts of a document are joined by line breaks.
    """
    documents = language_pair.documents
    human_scores = {}
    for name, path in language_pair.find_human_score_files("doc").items():
        human_scores[name] = _read_score_file(path, name, documents.height)
    metric_scores = []
    document_files = language_pair.find_metric_score_files("doc", references)
    for name, path in document_files.items():
        metric_scores.append(_read_score_file(path, name, documents.height))
    averaged = []
    for name, scores in _read_metric_scores(language_pair, references).items():
        if name not in document_files:
            metric_scores.append(_average_scores_by_document(scores, name, language_pair))
            averaged.append(name)
    scores = _join_score_tables([*human_scores.values(), *metric_scores])
    texts = _join_texts_by_document(language_pair, scores["system"].unique(), references)
    numbers = documents.select("doc_id", seg_id=pl.col("_number").cast(pl.Int64))
    table = texts.join(numbers, on="doc_id").join(scores, on=OUTPUT_KEY).sort(OUTPUT_KEY)
    notes = _describe_which_metrics_were_read(language_pair, references)
    notes.append(f"{language_pair.lp}: people scored documents, so each row is a document, not a segment.")
    if averaged:
        names = join_with_commas(averaged)
        notes.append(f"{language_pair.lp}: documents have the mean of their segments' scores in {names}.")
    return RawTable(file, table, notes=tuple(notes), human_columns=tuple(human_scores))


def _average_scores_by_document(
    scores: pl.DataFrame, score_name: str, language_pair: _LanguagePair
) -> pl.DataFrame:
    """Average the scores of the segments of each document, for every system. In the result, `seg_id` is the
    number of the document.
    """
    numbers = language_pair.segments.join(language_pair.documents, on="doc_id", maintain_order="left").select(
        "seg_id", "_number"
    )
    by_document = scores.join(numbers, on="seg_id").group_by("system", "_number", maintain_order=True)
    means = by_document.agg(pl.col(score_name).mean()).rename({"_number": "seg_id"})
    return means.with_columns(pl.col("seg_id").cast(pl.Int64))


def _join_texts_by_document(
    language_pair: _LanguagePair, systems: pl.Series, references: Sequence[str]
) -> pl.DataFrame:
    """Join the texts of the segments of each document, for every system. A text is null if it is missing for
    any segment.
    """
    outputs = language_pair.segments.join(systems.to_frame(), how="cross")
    texts = language_pair.add_texts(outputs, references)
    text_columns = [name for name in texts.columns if name not in {*language_pair.segments.columns, "system"}]
    joined_texts = []
    for name in text_columns:
        is_complete = pl.col(name).is_not_null().all()
        joined_texts.append(pl.when(is_complete).then(pl.col(name).str.join("\n")).first())
    by_document = texts.sort("system", "seg_id").group_by("system", "doc_id", maintain_order=True)
    return by_document.agg(pl.col("lp", "domain").first(), *joined_texts)


def _join_score_tables(score_tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Join tables of different scores to one table by system and segment."""
    joined = score_tables[0]
    for table in score_tables[1:]:
        joined = joined.join(table, on=OUTPUT_KEY, how="full", coalesce=True)
    return joined


def _read_score_file(path: Path, score_name: str, segment_count: int) -> pl.DataFrame:
    """Read a file of scores into a table with the columns `system`, `seg_id` and one that is named after the
    score.
    """
    systems = []
    texts = []
    for number, line in enumerate(read_segment_lines(path), start=1):
        system, tab, score = line.partition("\t")
        if not tab:
            raise InputError(
                "a system, a tab and a score were expected.", location=InputLocation(str(path), line=number)
            )
        systems.append(system)
        texts.append(score)
    scores = cells.parse_score_column(pl.Series(score_name, texts), str(path))
    check_line_count_of_each_system(systems, segment_count, path, "scores")
    table = pl.DataFrame({"system": systems, score_name: scores})
    return table.with_columns(seg_id=pl.int_range(1, pl.len() + 1).over("system"))


def _choose_references(language_pair: _LanguagePair, requested_references: Sequence[str]) -> list[str]:
    """Choose the references that the user requested or, without a request, the standard reference of the
    language pair.
    """
    available = {name.rpartition("-")[2] for name in language_pair.find_metric_score_files("seg")} - {
        SOURCE_ONLY
    }
    for path in (language_pair.test_set / "references").glob(f"{language_pair.lp}.*.*"):
        available.add(path.name.removeprefix(f"{language_pair.lp}.").rpartition(".")[0])
    for name in requested_references:
        if name not in available:
            raise UnknownName("reference", name, available)
    if requested_references or not available:
        return list(requested_references)
    standard = STANDARD_REFERENCES.get((language_pair.test_set.name, language_pair.lp), "refA")
    return [standard if standard in available else min(available)]
