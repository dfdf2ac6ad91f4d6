"""From a data set to pairs: every output beside versions of it that are worse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.llm.asking import LlmSettings
from metassay.perturbations.at_work import Idle, Perturb, Plan, Progress, work_together
from metassay.perturbations.base import (
    KeptTexts,
    Perturbation,
    default_perturbations,
    parse_perturbations,
)
from metassay.perturbations.llm import LlmRewriting, connected
from metassay.perturbations.ranking import Reordering
from metassay.perturbations.views import (
    Gathered,
    Views,
    check_preprocessing,
    gather,
    keeper,
    make_views,
)
from metassay.stats.arrays import LongArray
from metassay.stats.streams import derive_keys
from metassay.tasks.base import Task

PER_OUTPUT = 4
"""Methods per output, as in Deviyani and Diaz (2025), section 4.2."""


@dataclass(frozen=True)
class PerturbationCount:
    """What became of the outputs that one perturbation was tried on."""

    applied: int = 0
    """A worse output came out."""
    not_applicable: int = 0
    """There was nothing to change: no pronoun, no second word, no dictionary for the language …"""
    unchanged: int = 0
    """The text came back as it was; not a pair."""
    pairs: int = 0
    """Pairs of this method that were kept: all that applied, or those sampled."""


@dataclass(frozen=True)
class Pairs:
    """Outputs and worse versions of them.

    `frame` has `item, system, perturbation, output, worse`, sorted by the first three; `output` is the text
    after preprocessing, which is what gets scored. (For rankings both are lists of document ids.)
    """

    frame: pl.DataFrame
    counts: Mapping[str, PerturbationCount]
    notes: tuple[str, ...] = ()
    """What a reader of the results should know, each once."""
    resources: Mapping[str, Any] = field(default_factory=dict)
    """What was collected from the data set, by language and perturbation; JSON-able, to keep in the run."""
    priorities: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)
    """One per row: the methods with the smallest are sampled first."""
    usage: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By method, what it cost: requests, tokens, money. Not part of the result: it depends on the cache."""
    validity: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By method, how many copies are known to be worse, equal or better, where that can be told."""
    rows: LongArray | None = None
    """For each pair, the row of its output in the data set; None where item and system tell it."""

    def __len__(self) -> int:
        return self.frame.height

    def sample(self, per_output: int | None = PER_OUTPUT) -> Self:
        """The same pairs, with at most this many methods per output, chosen at random; None keeps all.

        Which of two methods is preferred depends on (seed, item, text, their names) alone: another method
        in the race can take a place but changes neither the order of the others nor any text.
        """
        if per_output is None:
            return self
        if per_output < 1:
            raise InputError(f"{per_output} perturbations per output leave nothing to compare.")
        rank = pl.col("priority").rank("ordinal").over("item", "system")
        ranked = self.frame.with_columns(pl.Series("priority", self.priorities)).with_columns(
            rank.alias("rank")
        )
        return self.where((ranked["rank"] <= per_output).to_numpy())

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """The pairs marked, one mark per row."""
        if kept.all():
            return self
        frame = self.frame.filter(pl.Series(kept))
        counts = _with_pairs(self.counts, frame)
        rows = None if self.rows is None else self.rows[kept]
        return replace(self, frame=frame, counts=counts, priorities=self.priorities[kept], rows=rows)


def make_pairs(
    dataset: Dataset,
    *,
    perturbations: Sequence[str | Perturbation[Any]] | str | None = None,
    per_output: int | None = PER_OUTPUT,
    seed: int = 0,
    preprocess: str = "none",
    workers: int = 1,
    strict_resources: bool = False,
    llm: LlmSettings | None = None,
    kept: KeptTexts | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """Perturbs every output of a data set with the methods of its task.

    `perturbations` names the methods (default: those of the task not on request), `per_output` how many each
    output keeps (None: all that apply). A method that lacks its dictionary does not apply and is noted, or
    with `strict_resources` is an error. `llm` says which language model to ask, and puts `llm` among the
    methods where none is named. What is finished is put into `kept`, and what is there is not made again.
    The same seed gives the same pairs whatever the order of the rows, the number of workers or the methods.
    """
    check_preprocessing(preprocess)
    plan = Plan(perturbations is not None, seed, preprocess, workers, strict_resources, progress, kept)
    methods = _methods(dataset.task_definition, perturbations, llm)
    return made_by(dataset, methods, plan).sample(per_output)


def made_by(
    dataset: Dataset,
    methods: tuple[Perturbation[Any], ...],
    plan: Plan,
    gathered: Gathered | None = None,
    idle: Idle | None = None,
) -> Pairs:
    """The pairs of these methods, wherever they apply.

    Of a part of a data set, `gathered` is from all of it, and `idle` has what was idle in other parts.
    """
    if methods and all(isinstance(method, Reordering) for method in methods):
        from metassay.perturbations.ranking_pairs import ranked_pairs

        return ranked_pairs(dataset, methods, seed=plan.seed)
    idle = {} if idle is None else idle
    about = dataset.content_hash if gathered is None else gathered.about
    views = make_views(
        dataset,
        methods,
        preprocess=plan.preprocess,
        seed=plan.seed,
        workers=plan.workers,
        kept=plan.kept,
        gathered=gathered,
    )
    kept = None if dataset.task_definition.is_ranking else plan.kept
    columns: dict[str, list[Any]] = {}
    tell = plan.progress or (lambda _done, _total: None)
    tell(0, len(methods))
    at_work = [Perturb(m, views, about, keeper(m, kept) if m.keepable else None) for m in methods]
    if plan.workers > 1:
        work_together(at_work, plan)
    for done, perturb in enumerate(at_work, start=1):
        columns[perturb.method.spec] = perturb.all(idle, named=plan.named, strict=plan.strict)
        tell(done, len(methods))
    pairs = _assemble(dataset, views, columns, plan.preprocess, _notes(methods, idle))
    return replace(pairs, usage={m.spec: usage for m in methods if (usage := m.usage()) is not None})


def _notes(methods: Sequence[Perturbation[Any]], idle: Idle) -> tuple[str, ...]:
    notes: dict[str, None] = {}
    for method in methods:
        own = sorted((language or "", why) for (spec, language), why in idle.items() if spec == method.spec)
        notes |= {f"{reason} ({_outputs(count)}).": None for _, (reason, count) in own}
        notes |= dict.fromkeys(method.notes())
    return tuple(notes)


def pairs_by_part(
    dataset: Dataset,
    parts: Iterable[Dataset],
    plan: Plan,
    perturbations: Sequence[str | Perturbation[Any]] | None,
) -> Iterator[Pairs]:
    """What `make_pairs` makes of a data set, part by part; each part holds all outputs of its items.

    Notes are on all parts so far, everything else on the part alone.
    """
    check_preprocessing(plan.preprocess)
    methods = _methods(dataset.task_definition, perturbations, None)
    gathered = gather(dataset, methods, plan.preprocess, plan.workers, plan.kept)
    idle: Idle = {}
    for part in parts:
        yield made_by(part, methods, plan, gathered, idle)


def _methods(
    task: Task,
    named: Sequence[str | Perturbation[Any]] | str | None,
    llm: LlmSettings | None,
) -> tuple[Perturbation[Any], ...]:
    """The perturbations at work, those by language model connected."""
    if named is None:
        methods = default_perturbations(task)
        return methods if llm is None else (*methods, LlmRewriting.configured(llm, task))
    return tuple(connected(method, llm, task) for method in parse_perturbations(named, task=task))


def _outputs(count: int) -> str:
    return f"{count:,} distinct output{'s' * (count != 1)}"


def _assemble(
    dataset: Dataset, views: Views, columns: Mapping[str, list[Any]], preprocess: str, notes: tuple[str, ...]
) -> Pairs:
    kind = pl.List(pl.String) if dataset.task_definition.is_ranking else pl.String()
    same = pl.Series("output", [view.output for view in views.views], kind)
    items, systems, shown = (dataset.outputs[name] for name in ("item", "system", "output"))
    frames, priorities, counts = [], [], {}
    for spec, made in columns.items():
        worse = pl.Series("worse", made, kind)
        known, other = worse.is_not_null(), worse.ne_missing(same)
        applied, unchanged = (known & other).to_numpy(), (known & ~other).to_numpy()
        rows = np.flatnonzero(applied[views.row])
        at = views.row[rows]
        output = shown[rows] if preprocess == "paper-asymmetric" else same[at]
        named = pl.Series("perturbation", [spec], dtype=pl.String).new_from_index(0, len(rows))
        frames.append(pl.DataFrame([items[rows], systems[rows], named, output, worse[at]]))
        priorities.append(derive_keys(views.keys, f"sample {spec}")[at])
        kept_as_is = int(unchanged[views.row].sum())
        counts[spec] = PerturbationCount(
            applied=len(rows), not_applicable=len(dataset) - len(rows) - kept_as_is, unchanged=kept_as_is
        )
    frame = pl.concat(frames).with_columns(pl.Series("priority", np.concatenate(priorities), dtype=pl.UInt64))
    frame = frame.sort("item", "system", "perturbation")
    collected = {view.language or "unknown": view.collected for view in views.views if view.collected}
    resources = {language: dict(own) for language, own in collected.items()}
    pairs = frame.drop("priority")
    return Pairs(pairs, _with_pairs(counts, pairs), notes, resources, frame["priority"].to_numpy())


def _with_pairs(counts: Mapping[str, PerturbationCount], frame: pl.DataFrame) -> dict[str, PerturbationCount]:
    """The counts, with the number of pairs that the frame holds of each method."""
    held = dict(frame["perturbation"].value_counts().iter_rows())
    return {spec: replace(count, pairs=held.get(spec, 0)) for spec, count in counts.items()}
