"""What perturbations collect from all texts of a data set before they change any, such as its words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import polars as pl

from metassay.data.dataset import Dataset
from metassay.perturbations.base import AnyPerturbation
from metassay.perturbations.distinct_outputs import list_languages_without_region
from metassay.perturbations.preprocessing import preprocess_text
from metassay.perturbations.registry import is_built_in_perturbation, parse_perturbation
from metassay.perturbations.text_store import (
    TextStore,
    build_cache_key_of_perturbation,
    choose_store_for_perturbed_texts,
)
from metassay.process_pool import choose_process_count, map_batches_in_parallel

# Texts that are analysed together and stored together.
BATCH_SIZE = 4096


@dataclass(frozen=True)
class CollectedData:
    """What the perturbations (rules that make outputs worse) of a run need to know about all texts of a data
    set, such as the vocabulary.
    """

    by_language: Mapping[str | None, Mapping[str, Any]]
    """By language and name of the perturbation."""
    content_hash: str
    """The hash of the data set."""


def collect_perturbation_data(
    dataset: Dataset,
    perturbations: Sequence[AnyPerturbation],
    preprocess: str,
    workers: int = 1,
    store: TextStore | None = None,
) -> CollectedData:
    """Let every perturbation (a rule that makes outputs worse) collect what it needs to know about all texts
    of a data set, such as the vocabulary.
    """
    by_language: dict[str | None, dict[str, Any]] = {}
    # Perturbations of rankings collect nothing.
    if dataset.task_definition.is_ranking:
        return CollectedData(by_language, dataset.content_hash)
    language_column = pl.Series("language", list_languages_without_region(dataset), pl.String)
    table = dataset.outputs.select(pl.col("^output|references$"), language_column)
    for language in sorted(table["language"].unique(), key=lambda name: name or ""):
        # `eq_missing` also finds the rows without a language; null equals nothing else.
        rows = table.filter(pl.col("language").eq_missing(language))
        source = _TextsOfLanguage(_list_distinct_texts(rows, preprocess), language, workers)
        dependencies = f"{language} {preprocess} {dataset.content_hash}"
        by_name: dict[str, Any] = {}
        for perturbation in perturbations:
            collected = _load_or_collect_replacement_material(
                perturbation, source, dependencies, choose_store_for_perturbed_texts(perturbation, store)
            )
            if collected is not None:
                by_name[perturbation.collection_name] = collected
        by_language[language] = by_name
    return CollectedData(by_language, dataset.content_hash)


class _TextsOfLanguage(NamedTuple):
    """All distinct texts of a language, which perturbations may analyse and collect words from."""

    texts: Sequence[str]
    language: str | None
    workers: int


class _LazyTextList(Sequence[str]):
    """A list of texts that are converted to Python strings only when they are read, to save memory."""

    def __init__(self, column: pl.Series) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __iter__(self) -> Iterator[str]:
        return iter(self._column)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return self._column[index].to_list()
        text: str = self._column[index]
        return text


def _list_distinct_texts(rows: pl.DataFrame, preprocess: str) -> Sequence[str]:
    """List the distinct texts among the outputs and references of some rows, sorted."""
    columns = [rows["output"].fill_null("")]
    if "references" in rows.columns:
        columns.append(rows["references"].explode().drop_nulls().alias("output"))
    # Sorted, so that the batches, and the names under which they are stored, do not depend on the order of
    # rows.
    distinct = pl.concat(columns).unique().sort()
    if preprocess == "none":
        return _LazyTextList(distinct)
    return sorted({preprocess_text(text, preprocess) for text in distinct})


def _load_or_collect_replacement_material(
    perturbation: AnyPerturbation, text_source: _TextsOfLanguage, dependencies: str, store: TextStore | None
) -> Any:
    """Return what a perturbation collects from all texts of a language. If an earlier result is stored, it is
    loaded.
    """
    name = f"{build_cache_key_of_perturbation(perturbation)} collected {dependencies}"
    stored = None if store is None else store.load_stored_texts(name)
    if store is not None and stored is not None:
        # Loading copies the analyses from a shared cache into the run, so that a run has the same files with
        # and without a cache.
        for batch_name in _make_cache_keys_of_analyses(perturbation, text_source, dependencies):
            store.load_stored_texts(batch_name)
        return json.loads(stored[0] or "null")
    analyses = _load_or_compute_text_analyses(perturbation, text_source, dependencies, store)
    collected = perturbation.collect_replacement_material(text_source.texts, text_source.language, analyses)
    if collected is not None and store is not None:
        store.save_texts(name, [json.dumps(collected, ensure_ascii=False)])
    return collected


def _load_or_compute_text_analyses(
    perturbation: AnyPerturbation, text_source: _TextsOfLanguage, dependencies: str, store: TextStore | None
) -> Iterator[Any]:
    """Yield a perturbation's analysis of each text, in the order of the texts. Stored analyses are loaded,
    and new ones are stored.

    Batches are stored in order, so that those of an interrupted run are the first ones.
    """
    names = _make_cache_keys_of_analyses(perturbation, text_source, dependencies)
    first_missing = 0
    while store is not None and first_missing < len(names):
        stored = store.load_stored_texts(names[first_missing])
        if stored is None:
            break
        yield from (json.loads(analysis or "null") for analysis in stored)
        first_missing += 1
    for number, analyses in enumerate(
        _compute_text_analyses_from_batch(first_missing, perturbation, text_source), first_missing
    ):
        if analyses is None:
            return
        if store is not None:
            store.save_texts(
                names[number], [json.dumps(analysis, ensure_ascii=False) for analysis in analyses]
            )
        yield from analyses


def _make_cache_keys_of_analyses(
    perturbation: AnyPerturbation, text_source: _TextsOfLanguage, dependencies: str
) -> list[str]:
    """Return the names under which the analyses of a perturbation are stored, one for each batch of texts."""
    batch_count = -(-len(text_source.texts) // BATCH_SIZE)
    return [
        f"{build_cache_key_of_perturbation(perturbation)} analysed {number} {dependencies}"
        for number in range(batch_count)
    ]


def _compute_text_analyses_from_batch(
    first_batch: int, perturbation: AnyPerturbation, text_source: _TextsOfLanguage
) -> Iterator[list[Any] | None]:
    """Analyse the texts of all batches from number `first_batch` on, in several processes if that saves
    time.
    """
    starts = range(first_batch * BATCH_SIZE, len(text_source.texts), BATCH_SIZE)
    batches = (text_source.texts[start : start + BATCH_SIZE] for start in starts)
    processes = choose_process_count(len(starts) * BATCH_SIZE, text_source.workers)
    if processes == 0 or not is_built_in_perturbation(perturbation):
        for texts in batches:
            yield perturbation.precompute_text_analyses(texts, text_source.language)
    # A perturbation without an analysis returns None for any texts, so that no processes are started for it.
    elif perturbation.precompute_text_analyses([], text_source.language) is not None:
        payloads = (AnalysisBatch(perturbation.spec, text_source.language, list(texts)) for texts in batches)
        yield from map_batches_in_parallel(compute_text_analyses_in_worker, payloads, processes)


class AnalysisBatch(NamedTuple):
    """A batch of texts, together with all that a worker process needs to analyse them for a perturbation."""

    spec: str
    language: str | None
    texts: list[str]


def compute_text_analyses_in_worker(batch: AnalysisBatch) -> list[Any] | None:
    """Analyse the texts of a batch for a perturbation. Worker processes call this function."""
    return parse_perturbation(batch.spec).precompute_text_analyses(batch.texts, batch.language)
