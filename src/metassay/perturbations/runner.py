"""Apply perturbations to all outputs of a data set, batch by batch, in one process or several."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from metassay.perturbations.applicability import explain_why_not_applicable
from metassay.perturbations.base import AnyPerturbation, Perturbation, View
from metassay.perturbations.distinct_outputs import DistinctOutputs
from metassay.perturbations.registry import is_built_in_perturbation
from metassay.perturbations.text_store import (
    TextStore,
    build_cache_key_of_perturbation,
    choose_store_for_perturbed_texts,
)
from metassay.process_pool import choose_process_count, map_batches_in_parallel
from metassay.stats.arrays import LongArray
from metassay.stats.streams import Keys, derive_seeds_from_name

Progress = Callable[[int, int], None]
# Outputs that are perturbed together and stored together.
BATCH_SIZE = 8192


@dataclass(frozen=True)
class PairSettings:
    """Settings for making outputs worse, such as the random seed, that are the same for all perturbations."""

    requested: bool = False
    """Whether the user named the perturbations. Then a language that is not known is an error."""
    seed: int = 0
    preprocess: str = "none"
    workers: int = 1
    strict_resources: bool = False
    """Whether a missing dictionary is an error."""
    progress: Progress | None = None
    store: TextStore | None = None


@dataclass
class SkippedOutputs:
    """How many outputs of a language a perturbation skipped, and why."""

    reason: str
    count: int = 0


class SkippedByLanguage(dict[tuple[str, str | None], SkippedOutputs]):
    """How many outputs each perturbation skipped in each language, and why."""

    def add_skipped_output_count(
        self, perturbation_spec: str, language: str | None, reason: str, output_count: int
    ) -> None:
        """Add to the number of outputs of a language that a perturbation skipped."""
        self.setdefault((perturbation_spec, language), SkippedOutputs(reason)).count += output_count


def perturb_outputs(
    perturbations: Sequence[AnyPerturbation],
    outputs: DistinctOutputs,
    content_hash: str,
    settings: PairSettings,
    skipped_outputs: SkippedByLanguage,
) -> dict[str, list[Any]]:
    """Apply every perturbation (a rule that makes outputs worse) to every distinct output of a data set.
    Finished batches of outputs are stored.

    Returns, by spec, the perturbed output at each position of `outputs`, or None where the perturbation does
    not apply. Outputs in languages that it does not support are added to `skipped_outputs`.
    `content_hash` is the hash of the data that the perturbations collected from.
    """
    report_progress = settings.progress or (lambda _done, _total: None)
    report_progress(0, len(perturbations))
    runners = [
        PerturbationRunner(perturbation, outputs, content_hash, settings) for perturbation in perturbations
    ]
    _perturb_outputs_in_processes(runners, settings)
    columns: dict[str, list[Any]] = {}
    for done, runner in enumerate(runners, start=1):
        columns[runner.perturbation.spec] = runner.perturb_all_outputs(skipped_outputs)
        report_progress(done, len(runners))
    return columns


class PerturbationRunner:
    """Applies one perturbation (a rule that makes outputs worse) to all outputs in batches, and stores each
    finished batch.

    Stored batches let an interrupted run continue where it stopped.
    """

    def __init__(
        self,
        perturbation: AnyPerturbation,
        outputs: DistinctOutputs,
        content_hash: str,
        settings: PairSettings,
    ) -> None:
        self.perturbation = perturbation
        self.outputs = outputs
        self._content_hash = content_hash
        self._settings = settings
        # Results that the perturbation stores itself, such as answers of a language model, are not stored
        # twice.
        self._store = (
            None
            if perturbation.stores_results
            else choose_store_for_perturbed_texts(perturbation, settings.store)
        )
        self._finished: dict[str, list[Any]] = {}

    def perturb_all_outputs(self, skipped_output_counts: SkippedByLanguage) -> list[Any]:
        """Return a worse version of every output, or None where there is none. Outputs in languages that the
        perturbation does not support are counted.
        """
        perturbed: list[Any] = [None] * len(self.outputs.views)
        for language, positions in self.outputs.output_positions_by_language.items():
            reason = self._explain_why_language_is_unsupported(language)
            if reason is not None:
                skipped_output_counts.add_skipped_output_count(
                    self.perturbation.spec, language, reason, len(positions)
                )
                continue
            for batch_positions in _split_positions_into_batches(positions):
                batch_outputs = self.perturb_outputs_at_positions(batch_positions)
                for position, output in zip(batch_positions.tolist(), batch_outputs):
                    perturbed[position] = output
        return perturbed

    def perturb_outputs_at_positions(self, positions: LongArray) -> list[Any]:
        """Return the perturbed versions of the outputs at some positions, with None where the perturbation
        does not apply.
        """
        batch = self.create_batch_of_outputs(positions)
        # Removed when it is read: the caller holds the outputs from here on.
        finished = self._finished.pop(batch.name, None)
        if finished is not None:
            return finished
        stored = self.load_perturbed_batch(batch.name)
        if stored is not None:
            return stored
        perturbed = self.perturbation.perturb_many_outputs(
            self.outputs.get_outputs_with_context(positions), batch.keys
        )
        self.save_perturbed_batch(batch.name, perturbed)
        return perturbed

    def split_outputs_into_batches(self) -> Iterator[LongArray]:
        """Yield the positions of the outputs in each batch. Outputs in languages that the perturbation does
        not support are left out.
        """
        for language, positions in self.outputs.output_positions_by_language.items():
            if self._explain_why_language_is_unsupported(language) is None:
                yield from _split_positions_into_batches(positions)

    def create_batch_of_outputs(self, positions: LongArray) -> OutputBatch:
        """Create a batch from the outputs at some positions, with a name for storing it and a random seed for
        each output.
        """
        keys = derive_seeds_from_name(self.outputs.keys[positions], self.perturbation.name)
        digest = hashlib.blake2b(keys.tobytes(), digest_size=16).hexdigest()
        # The keys depend on seed, item and text, so a changed input gives the batch another name.
        name = f"{build_cache_key_of_perturbation(self.perturbation)} {digest} {self._content_hash}"
        return OutputBatch(name, positions, keys)

    def load_perturbed_batch(self, name: str) -> list[Any] | None:
        """Load the perturbed outputs of a batch from the store, or return None if they are not stored."""
        return None if self._store is None else self._store.load_stored_texts(name)

    def save_perturbed_batch(self, name: str, perturbed: list[Any]) -> None:
        """Store the perturbed outputs of a finished batch under a name."""
        if self._store is not None:
            self._store.save_texts(name, perturbed)

    def keep_perturbed_batch_in_memory(self, name: str, perturbed: list[Any]) -> None:
        """Keep the perturbed outputs of a finished batch in memory, until `perturb_outputs_at_positions`
        returns them.
        """
        self._finished[name] = perturbed

    def _explain_why_language_is_unsupported(self, language: str | None) -> str | None:
        """Return why the perturbation cannot be applied to a language, or None if it can."""
        return explain_why_not_applicable(
            self.perturbation,
            language,
            requested=self._settings.requested,
            strict_resources=self._settings.strict_resources,
        )


class OutputBatch(NamedTuple):
    """A batch of outputs that a perturbation changes in one call."""

    name: str
    positions: LongArray
    keys: Keys


def _split_positions_into_batches(positions: LongArray) -> Iterator[LongArray]:
    """Split positions into batches of at most `BATCH_SIZE`."""
    for start in range(0, len(positions), BATCH_SIZE):
        yield positions[start : start + BATCH_SIZE]


def can_run_in_worker_process(perturbation: AnyPerturbation) -> bool:
    """Return whether worker processes can apply a perturbation: it must be built in, and must not need data
    on other outputs.
    """
    perturbation_class = type(perturbation)
    is_plain = (
        # An own `perturb_many_outputs` handles many outputs together already, and a payload has no collected
        # data.
        perturbation_class.perturb_many_outputs is Perturbation.perturb_many_outputs
        and perturbation_class.collect_replacement_material is Perturbation.collect_replacement_material
        and not perturbation.needed_fields
        and not perturbation.stores_results
    )
    return is_plain and is_built_in_perturbation(perturbation)


def _perturb_outputs_in_processes(runners: Sequence[PerturbationRunner], settings: PairSettings) -> None:
    """Perturb the batches of outputs that are not stored yet in several processes, if that saves time."""
    jobs = []
    for runner in runners:
        if settings.workers > 1 and can_run_in_worker_process(runner.perturbation):
            jobs += [(runner, positions) for positions in runner.split_outputs_into_batches()]
    processes = choose_process_count(sum(len(positions) for _, positions in jobs), settings.workers)
    if processes == 0:
        return
    missing = []
    for runner, positions in jobs:
        batch = runner.create_batch_of_outputs(positions)
        stored = runner.load_perturbed_batch(batch.name)
        if stored is None:
            missing.append((runner, batch))
        else:
            runner.keep_perturbed_batch_in_memory(batch.name, stored)
    # A generator, so that the texts of all batches are not copied at once.
    payloads = (_collect_data_for_worker_process(runner, batch) for runner, batch in missing)
    for (runner, batch), perturbed in zip(
        missing, map_batches_in_parallel(perturb_batch_in_worker_process, payloads, processes)
    ):
        runner.save_perturbed_batch(batch.name, perturbed)
        runner.keep_perturbed_batch_in_memory(batch.name, perturbed)


class BatchPayload(NamedTuple):
    """The data that a worker process needs to perturb a batch of outputs, in types that are fast to send."""

    perturbation: AnyPerturbation
    language: str | None
    outputs: list[str]
    items: list[str]
    sources: list[str | None]
    references: list[tuple[str, ...]]
    keys: Keys


def _collect_data_for_worker_process(runner: PerturbationRunner, batch: OutputBatch) -> BatchPayload:
    """Collect the data that a worker process needs to perturb a batch of outputs."""
    views = runner.outputs.get_outputs_with_context(batch.positions)
    return BatchPayload(
        perturbation=runner.perturbation,
        # Batches are split by language, so that all views have the same.
        language=views[0].language,
        outputs=[view.output for view in views],
        items=[view.item for view in views],
        sources=[view.source for view in views],
        references=[view.references for view in views],
        keys=batch.keys,
    )


def perturb_batch_in_worker_process(payload: BatchPayload) -> list[Any]:
    """Perturb the outputs of a batch that was sent to a worker process."""
    rows = zip(payload.outputs, payload.items, payload.sources, payload.references)
    views = [
        View(output, item, payload.language, source, references) for output, item, source, references in rows
    ]
    return payload.perturbation.perturb_many_outputs(views, payload.keys)
