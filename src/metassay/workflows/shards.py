"""Pairs judged shard by shard, so that memory holds the texts and scores of one.

A shard is some 131,072 outputs with all outputs of their items. As soon as its pairs are judged they are put
into files. Of each pair a few bytes stay: its output, its method, how far its sides are apart, and what every
metric said of it. Nothing in the results tells whether there was one shard or a hundred.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.clusters import Clusters
from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.data.memory import map_table, release_memory
from metassay.engine.ray_cluster import RayCluster
from metassay.engine.score_store import ScoreStore
from metassay.errors import InputError
from metassay.llm.settings import LlmSettings
from metassay.meta.contexts.pair_outcomes import PairOutcomes
from metassay.meta.contexts.perturbation_validity import compare_human_scores, measure_edits
from metassay.metrics.base import Metric
from metassay.options import Progress
from metassay.perturbations.pairs import Pairs, PerturbationCount
from metassay.perturbations.text_store import TextStore
from metassay.results.partial_run import PartialRun
from metassay.stats.arrays import FloatArray, IntArray, LongArray
from metassay.store.scratch import ScratchTables
from metassay.workflows.pair_files import Aside, Widest, explorer_frame, judgements_frame
from metassay.workflows.pair_scoring import JudgedPairs, judge_pairs, score_selected_parts
from metassay.workflows.pair_table import EXPLORER_FILE, OUTCOMES_FILE, PAIRS_FILE

SHARD = 2**17
"""Outputs of a shard: the same on every machine, since parts are numbered shard by shard."""
_EVERY, _EDITS = "every", "edits"


@dataclass(frozen=True)
class Execution:
    """How an assay is executed: what may differ between two runs with the same result."""

    workers: int
    score_store: ScoreStore | None
    text_store: TextStore | None
    cluster: RayCluster | None
    progress: Progress | None
    llm: LlmSettings | None
    scratch: ScratchTables

    def report_progress(self, stage: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of a stage are finished."""
        if self.progress is not None:
            self.progress(stage, done, total)


def cuts(items: IntArray) -> list[slice]:
    """The stretches of outputs, sorted by item, that are judged one after the other: whole items each."""
    edges = [0]
    while edges[-1] < len(items):
        last = items[min(edges[-1] + SHARD, len(items)) - 1]
        edges.append(int(np.searchsorted(items, last, side="right")))
    return [slice(start, stop) for start, stop in pairwise(edges)]


class Shards:
    """Judges the pairs of a data set as they are made, and puts away all but what statistics need."""

    def __init__(
        self,
        data: Dataset,
        metrics: Sequence[Metric],
        assayed: int,
        contexts: Sequence[Context],
        unit: Clusters,
        weights: FloatArray | None,
        execution: Execution,
        also: LongArray | None,
    ) -> None:
        self.data, self.metrics, self.assayed, self.contexts = data, metrics, assayed, contexts
        self.unit, self.weights, self.execution, self.also = unit, weights, execution, also
        self.files: dict[str, list[Path]] = {
            name: [] for name in (PAIRS_FILE, _EVERY, EXPLORER_FILE, OUTCOMES_FILE, _EDITS)
        }
        self.kept: dict[str, list[NDArray[Any]]] = {}
        """What stays in memory of the pairs of each shard."""
        self.counts: list[tuple[Mapping[str, PerturbationCount], Mapping[str, PerturbationCount]]] = []
        self.differences: dict[str, list[float]] = {}
        self.widest: Widest | None = None

    def judge(self, made: Iterable[tuple[slice, Pairs]], per_output: int | None) -> tuple[Pairs, JudgedPairs]:
        """The sampled pairs, and all of them judged."""
        outputs = np.full((len(self.metrics), len(self.data) if self.also is not None else 0), np.nan)
        seconds = dict.fromkeys((metric.spec for metric in self.metrics), 0.0)
        parts = 0
        known: Pairs | None = None
        for cut, pairs in made:
            self.execution.report_progress("scoring", cut.start, len(self.data))
            sample = pairs.sample(per_output)
            known = replace(pairs, frame=pairs.frame.clear(), priorities=np.empty(0, np.uint64), rows=None)
            own = self._judged(cut, pairs, sample, parts)
            parts += own.parts
            seconds = {name: spent + own.seconds[name] for name, spent in seconds.items()}
            outputs[:, cut if outputs.size else slice(0)] = own.outputs[:, : None if outputs.size else 0]
            self._put_away(cut, sample, own)
            del pairs, sample, own  # before the next are made
            release_memory()
        if known is None or self.widest is None:
            raise InputError("there are no outputs to judge.")
        self.execution.report_progress("scoring", len(self.data), len(self.data))
        sampled, judged = self._found(known, self.widest)
        return sampled, replace(judged, seconds=seconds, outputs=outputs, parts=parts)

    def score_parts(self, made: Iterable[tuple[slice, Pairs]], selected: Collection[int]) -> PartialRun:
        """Score and store only the selected parts, which are numbered over all shards."""
        numbers: list[int] = []
        part_count = 0
        for cut, pairs in made:
            self.execution.report_progress("scoring", cut.start, len(self.data))
            part = score_selected_parts(
                self.data.slice_rows(cut),
                pairs,
                self.metrics,
                selected,
                store=self.execution.score_store,
                workers=self.execution.workers,
                first_part=part_count,
                also=self._select_also(cut),
            )
            numbers += part.numbers
            part_count += part.batch_count
        return PartialRun(part_numbers=tuple(numbers), part_count=part_count)

    def _select_also(self, cut: slice) -> LongArray | None:
        """Return the rows in `also` that lie in a shard, numbered from its start."""
        if self.also is None:
            return None
        rows: LongArray = self.also[(self.also >= cut.start) & (self.also < cut.stop)] - cut.start
        return rows

    def _judged(self, cut: slice, pairs: Pairs, sample: Pairs, first: int) -> JudgedPairs:
        return judge_pairs(
            self.data.slice_rows(cut),
            pairs,
            self.metrics,
            sample=sample,
            unit=replace(self.unit, codes=self.unit.codes[cut], items=self.unit.items[cut]),
            workers=self.execution.workers,
            parts=self.execution.score_store,
            first=first,
            cluster=self.execution.cluster,
            also=self._select_also(cut),
        )

    def _put_away(self, cut: slice, sample: Pairs, judged: JudgedPairs) -> None:
        """Tables into files, and of each pair what statistics need."""
        part, before = self.data.slice_rows(cut), sum(map(len, self.kept.get("row", ())))
        contexts = [replace(each, codes=each.codes[cut]) for each in self.contexts]
        names = {"system": self.data.systems, "perturbation": sorted(judged.pairs.counts)}
        about = sample, judged, contexts, self.metrics[: self.assayed]
        self._write(_EVERY, judged.pairs.frame)
        if judged.sampled.all():
            self.files[PAIRS_FILE].append(self.files[_EVERY][-1])
        else:
            self._write(PAIRS_FILE, sample.frame)
        self._write(EXPLORER_FILE, explorer_frame(part, *about, names, cut.start))
        self._write(OUTCOMES_FILE, judgements_frame(judged))
        edits = measure_edits(sample.frame["output"], sample.frame["worse"], self.execution.workers)
        characters = edits.characters.astype(np.int32)
        self._write(_EDITS, pl.DataFrame({"characters": characters, "share": edits.shares}))
        for spec, own in compare_human_scores(sample.frame, part).items():
            self.differences.setdefault(spec, []).extend(own)
        said = judged.outcomes
        place = np.array([names["perturbation"].index(name) for name in said.perturbation_names], np.int8)
        method = place[said.perturbations]
        stays = {
            "row": (judged.rows + cut.start).astype(np.int32),
            "method": method,
            "sampled": judged.sampled,
            "outcome": said.outcomes,
        }
        for column, array in stays.items():
            self.kept.setdefault(column, []).append(array)
        self.counts.append((judged.pairs.counts, sample.counts))
        wide = Widest(before + np.arange(len(method)), judged.better, judged.worse, said.outcomes)
        wide = wide.kept(self.assayed)
        self.widest = wide if self.widest is None else self.widest.beside(wide).kept(self.assayed)

    def _write(self, name: str, frame: pl.DataFrame) -> None:
        file = self.execution.scratch.write(f"{Path(name).stem}-{len(self.files[name]):05d}", frame)
        self.files[name].append(file)

    def _found(self, known: Pairs, widest: Widest) -> tuple[Pairs, JudgedPairs]:
        """All shards together: sampled pairs, and all of them judged; `known` is what no pair tells."""
        names = sorted(known.counts)
        code = self._all("method")
        used = np.unique(code)
        place = np.zeros(len(names), np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        rows, sampled = self._all("row"), self._all("sampled")
        item = self.unit.items[rows]
        outcomes = PairOutcomes(
            metrics=tuple(metric.spec for metric in self.metrics),
            perturbation_names=tuple(names[k] for k in used),
            outcomes=self._all("outcome"),
            items=item,
            outputs=rows,
            clusters=item if self.unit.codes is self.unit.items else self.unit.codes[rows],
            perturbations=place[code],
            weights=None if self.weights is None else self.weights[rows],
        )
        every, few = (_added(counts) for counts in zip(*self.counts))
        mapped_pairs, edited = ([map_table(file) for file in self.files[name]] for name in (_EVERY, _EDITS))
        aside = Aside(widest, self.differences, self.files, mapped_pairs, edited)
        judged = JudgedPairs(
            pairs=replace(known, frame=pl.concat(mapped_pairs, rechunk=False), counts=every),
            rows=rows,
            sampled=sampled,
            better=np.empty((len(self.metrics), 0)),
            worse=np.empty((len(self.metrics), 0)),
            outcomes=outcomes,
            seconds={},
            unit=self.unit,
            notes=self.unit.notes,
            of_metrics=tuple(note for metric in self.metrics for note in metric.notes()),
            aside=aside,
        )
        sampled_pairs = pl.concat([map_table(file) for file in self.files[PAIRS_FILE]], rechunk=False)
        release_memory()
        return replace(known, frame=sampled_pairs, counts=few), judged

    def _all(self, name: str) -> Any:
        """An array over the pairs of all shards; of each shard it is dropped."""
        return np.concatenate(self.kept.pop(name), axis=-1)


def _added(counts: Iterable[Mapping[str, PerturbationCount]]) -> dict[str, PerturbationCount]:
    """The counts of all shards together."""
    names = [field.name for field in fields(PerturbationCount)]
    found: dict[str, PerturbationCount] = {}
    for own in counts:
        for spec, count in own.items():
            before = found.get(spec, PerturbationCount())
            found[spec] = PerturbationCount(*(getattr(before, n) + getattr(count, n) for n in names))
    return found
