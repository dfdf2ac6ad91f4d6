"""Pairs of an output and a perturbed version of it, which is worse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.llm.settings import LlmSettings
from metassay.perturbations.base import AnyPerturbation
from metassay.perturbations.collection import CollectedData, collect_perturbation_data
from metassay.perturbations.distinct_outputs import DistinctOutputs, prepare_outputs_for_perturbations
from metassay.perturbations.llm import LlmRewriting, add_language_model_to_perturbation
from metassay.perturbations.preprocessing import check_preprocessing_name
from metassay.perturbations.ranking import Reordering
from metassay.perturbations.registry import list_default_perturbations, parse_perturbations
from metassay.perturbations.runner import PairSettings, Progress, SkippedByLanguage, perturb_outputs
from metassay.perturbations.text_store import TextStore
from metassay.stats.arrays import LongArray
from metassay.stats.streams import derive_seeds_from_name
from metassay.tasks.base import Task

# Perturbations per output, as in Deviyani and Diaz (2025), section 4.2.
PER_OUTPUT = 4


@dataclass(frozen=True)
class PerturbationCount:
    """How many outputs a perturbation (a rule that makes outputs worse) changed, how many it returned
    unchanged, and to how many it did not apply.
    """

    applied: int = 0
    """Outputs that became worse."""
    not_applicable: int = 0
    """Outputs with nothing to change: no pronoun, no second word, no dictionary for the language …"""
    unchanged: int = 0
    """Outputs that the perturbation returned as they were. They are not pairs."""
    pairs: int = 0
    """Pairs that were kept: all, or those that were sampled."""


@dataclass(frozen=True)
class Pairs:
    """A table of pairs of an output and a version of it that was made worse, with information on how the
    pairs were made.

    `frame` has the columns `item, system, perturbation, output, worse`, sorted by the first three. `output`
    is the text after preprocessing, which is what gets scored. For rankings, `output` and `worse` are lists
    of document ids.
    """

    frame: pl.DataFrame
    counts: Mapping[str, PerturbationCount]
    """By spec of the perturbation."""
    notes: tuple[str, ...] = ()
    """What a reader of the results should know."""
    resources: Mapping[str, Any] = field(default_factory=dict)
    """What perturbations collected from the data set, by language and perturbation. JSON-able."""
    priorities: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)
    """For each row a random number. Of each output, the perturbations with the smallest are sampled first."""
    usage: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What each perturbation cost: requests, tokens, money. It depends on the cache, so is not a result."""
    validity: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many perturbed outputs of each perturbation are worse, equal or better, if that is known."""
    rows: LongArray | None = None
    """For each pair the row of its output in the data set; None if item and system identify it."""
    worse_rows: LongArray | None = None
    """For each pair the row of its worse output, where that is another system's output; else None."""

    def __len__(self) -> int:
        return self.frame.height

    def sample_pairs_per_output(self, maximum: int | None = PER_OUTPUT) -> Self:
        """Keep at most `maximum` randomly chosen worse versions of each output, or all of them if `maximum`
        is None.

        Which of two perturbations is preferred depends only on the seed, the item, the text and their names.
        So a further perturbation may replace another one, but changes neither the order of the others nor any
        text.
        """
        if maximum is None:
            return self
        if maximum < 1:
            raise InputError(f"{maximum} perturbations per output are too few; at least 1 is needed.")
        table = self.frame.with_columns(pl.Series("priority", self.priorities))
        # Ordinal ranks, so that exactly `per_output` pairs stay even where two priorities are equal.
        ranks = table.select(pl.col("priority").rank("ordinal").over("item", "system")).to_series()
        return self.filter_pairs((ranks <= maximum).to_numpy())

    def filter_pairs(self, is_kept: NDArray[np.bool_]) -> Self:
        """Return the pairs for which `is_kept` is true."""
        if is_kept.all():
            return self
        frame = self.frame.filter(pl.Series(is_kept))
        counts = _set_pair_counts(self.counts, frame)
        rows = None if self.rows is None else self.rows[is_kept]
        worse_rows = None if self.worse_rows is None else self.worse_rows[is_kept]
        return replace(
            self,
            frame=frame,
            counts=counts,
            priorities=self.priorities[is_kept] if len(self.priorities) else self.priorities,
            rows=rows,
            worse_rows=worse_rows,
        )


def make_perturbed_output_pairs(
    dataset: Dataset,
    *,
    perturbations: Sequence[str | AnyPerturbation] | str | None = None,
    per_output: int | None = PER_OUTPUT,
    seed: int = 0,
    preprocess: str = "none",
    workers: int = 1,
    strict_resources: bool = False,
    llm: LlmSettings | None = None,
    store: TextStore | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """Make worse versions of every output of a data set by perturbations, and pair each output with each of
    its worse versions.

    The same seed gives the same pairs, whatever the order of the rows, the number of workers or the other
    perturbations.

    - `perturbations`: names or specs; default those of the task.
    - `per_output`: perturbations that are kept per output; None keeps all that apply.
    - `strict_resources`: whether a missing dictionary is an error. Otherwise the perturbation is skipped,
      with a note.
    - `llm`: which language model to ask. It adds `llm` to the default perturbations.
    - `store`: where finished batches are stored, and read if they are there.
    """
    check_preprocessing_name(preprocess)
    settings = PairSettings(
        requested=perturbations is not None,
        seed=seed,
        preprocess=preprocess,
        workers=workers,
        strict_resources=strict_resources,
        progress=progress,
        store=store,
    )
    chosen = _choose_perturbations(dataset.task_definition, perturbations, llm)
    return perturb_and_pair_outputs(dataset, chosen, settings).sample_pairs_per_output(per_output)


def perturb_and_pair_outputs(
    dataset: Dataset,
    perturbations: tuple[AnyPerturbation, ...],
    settings: PairSettings,
    collected_data: CollectedData | None = None,
    skipped_outputs: SkippedByLanguage | None = None,
) -> Pairs:
    """Apply the given perturbations to every output, and pair each output with each of its worse versions.

    For a shard of a data set, `collected_data` is from the whole data set, and `skipped_outputs` has
    what was skipped in the shards before.
    """
    if perturbations and all(isinstance(perturbation, Reordering) for perturbation in perturbations):
        from metassay.perturbations.ranking_pairs import make_reordered_list_pairs

        return make_reordered_list_pairs(dataset, perturbations, seed=settings.seed)
    # Stored batches are tables of texts, and ranked lists are not texts.
    if dataset.task_definition.is_ranking:
        settings = replace(settings, store=None)
    if collected_data is None:
        collected_data = collect_perturbation_data(
            dataset, perturbations, settings.preprocess, settings.workers, settings.store
        )
    if skipped_outputs is None:
        skipped_outputs = SkippedByLanguage()
    outputs = prepare_outputs_for_perturbations(
        dataset,
        perturbations,
        preprocess=settings.preprocess,
        seed=settings.seed,
        collected=collected_data.by_language,
    )
    columns = perturb_outputs(perturbations, outputs, collected_data.content_hash, settings, skipped_outputs)
    pairs = _build_output_pair_table(dataset, outputs, columns, settings.preprocess)
    usage = {}
    for perturbation in perturbations:
        if perturbation.language_model_usage is not None:
            usage[perturbation.spec] = perturbation.language_model_usage
    return replace(pairs, notes=_list_notes_on_skipped_outputs(perturbations, skipped_outputs), usage=usage)


def make_pairs_by_shard(
    dataset: Dataset,
    shards: Iterable[Dataset],
    settings: PairSettings,
    perturbations: Sequence[str | AnyPerturbation] | None,
) -> Iterator[Pairs]:
    """Yield the pairs of each shard, a slice of the data set that contains all outputs of its items.

    The notes of each are about all shards so far, everything else about the shard alone.
    """
    check_preprocessing_name(settings.preprocess)
    chosen = _choose_perturbations(dataset.task_definition, perturbations, None)
    collected = collect_perturbation_data(
        dataset, chosen, settings.preprocess, settings.workers, settings.store
    )
    skipped = SkippedByLanguage()
    for shard in shards:
        yield perturb_and_pair_outputs(shard, chosen, settings, collected, skipped)


def _choose_perturbations(
    task: Task, requested: Sequence[str | AnyPerturbation] | str | None, llm: LlmSettings | None
) -> tuple[AnyPerturbation, ...]:
    """Return the perturbations that the user named, or else the default ones. Those that need a language
    model are connected to it.
    """
    if requested is not None:
        return tuple(
            add_language_model_to_perturbation(perturbation, llm, task)
            for perturbation in parse_perturbations(requested, task=task)
        )
    defaults = list_default_perturbations(task)
    if llm is None:
        return defaults
    return (*defaults, LlmRewriting.from_settings(llm, task))


def _list_notes_on_skipped_outputs(
    perturbations: Sequence[AnyPerturbation], skipped_outputs: SkippedByLanguage
) -> tuple[str, ...]:
    """List notes for users: why outputs were skipped, and what the perturbations report. Each note is listed
    once.
    """
    # A dict instead of a set keeps the notes in order.
    notes: dict[str, None] = {}
    for perturbation in perturbations:
        languages = [language for spec, language in skipped_outputs if spec == perturbation.spec]
        for language in sorted(languages, key=lambda name: name or ""):
            outputs = skipped_outputs[perturbation.spec, language]
            plural = "" if outputs.count == 1 else "s"
            notes[f"{outputs.reason} ({outputs.count:,} distinct output{plural})."] = None
        notes |= dict.fromkeys(perturbation.notes)
    return tuple(notes)


def _build_output_pair_table(
    dataset: Dataset,
    distinct_outputs: DistinctOutputs,
    perturbed_outputs_by_perturbation: Mapping[str, list[Any]],
    preprocess: str,
) -> Pairs:
    """Build the table of outputs and their worse versions, and count how many outputs each perturbation
    changed.
    """
    dtype = pl.List(pl.String) if dataset.task_definition.is_ranking else pl.String()
    originals = pl.Series("output", [view.output for view in distinct_outputs.views], dtype)
    items, systems, raw_outputs = (dataset.outputs[name] for name in ("item", "system", "output"))
    frames = []
    priorities = []
    counts = {}
    for spec, perturbed_outputs in perturbed_outputs_by_perturbation.items():
        perturbed = pl.Series("worse", perturbed_outputs, dtype)
        is_applied = (perturbed.is_not_null() & perturbed.ne_missing(originals)).to_numpy()
        is_unchanged = (perturbed.is_not_null() & perturbed.eq_missing(originals)).to_numpy()
        rows = np.flatnonzero(is_applied[distinct_outputs.positions])
        positions = distinct_outputs.positions[rows]
        # In this mode only the perturbed output is preprocessed, so that the pair has the output as it was.
        shown_outputs = raw_outputs[rows] if preprocess == "paper-asymmetric" else originals[positions]
        # Repeats one value without a Python list of that length.
        names = pl.Series("perturbation", [spec], dtype=pl.String).new_from_index(0, len(rows))
        frames.append(pl.DataFrame([items[rows], systems[rows], names, shown_outputs, perturbed[positions]]))
        priorities.append(derive_seeds_from_name(distinct_outputs.keys, f"sample {spec}")[positions])
        unchanged = int(is_unchanged[distinct_outputs.positions].sum())
        counts[spec] = PerturbationCount(
            applied=len(rows), not_applicable=len(dataset) - len(rows) - unchanged, unchanged=unchanged
        )
    table = pl.concat(frames).with_columns(pl.Series("priority", np.concatenate(priorities), dtype=pl.UInt64))
    # The order of the rows does not depend on the order in which perturbations were named.
    table = table.sort("item", "system", "perturbation")
    frame = table.drop("priority")
    resources = {}
    for view in distinct_outputs.views:
        if view.collected:
            resources[view.language or "unknown"] = view.collected
    return Pairs(
        frame,
        _set_pair_counts(counts, frame),
        resources=resources,
        priorities=table["priority"].to_numpy(),
    )


def _set_pair_counts(
    counts_by_perturbation: Mapping[str, PerturbationCount], pair_table: pl.DataFrame
) -> dict[str, PerturbationCount]:
    """Return the counts of each perturbation, in which `pairs` is the number of its pairs in a table."""
    pair_counts = dict(pair_table["perturbation"].value_counts().iter_rows())
    return {
        spec: replace(count, pairs=pair_counts.get(spec, 0)) for spec, count in counts_by_perturbation.items()
    }
