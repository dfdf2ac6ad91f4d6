"""What an assay returns, and the settings that decide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.clusters import sort_items_naturally
from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.data.reference_systems import REFERENCE_SYSTEM_REASON
from metassay.engine.scoring import measure_costs
from metassay.meta.contexts.assay import ContextualResult
from metassay.meta.contexts.pair_outcomes import RIGHT, Judgements
from metassay.meta.contexts.perturbation_validity import (
    CORRECTED,
    Parts,
    Validity,
    corrected_accuracy,
    difficulty,
    edits_of,
    perturbation_validity,
)
from metassay.metrics.base import Metric
from metassay.metrics.judge import Judge
from metassay.perturbations.base import Perturbation
from metassay.perturbations.pairs import Pairs
from metassay.reporting.html import assay_page
from metassay.reporting.pages import Page
from metassay.reporting.reasons import worded
from metassay.stats.arrays import count_codes, to_json_values
from metassay.stats.correlation import lag_one_autocorrelation
from metassay.store.run_folder import RunFolder
from metassay.store.versions import collect_versions
from metassay.workflows.options import AssaySettings
from metassay.workflows.pair_files import wrong_pairs
from metassay.workflows.pair_scoring import JudgedPairs
from metassay.workflows.pairs import human_rows
from metassay.workflows.read import build_scoring_rows
from metassay.workflows.run_files import EXAMPLES, RESULT, SCHEMA_VERSION, Found, Result, warnings_as_notes

_AT_ONCE = 2**22
_RUNS = 0.01  # chance of a warning of runs where there are none
KIND, SIMULATED = "human_kind", "simulated"
"""A column that says where the human scores of a data set come from, and its word for scores of nobody."""


@dataclass(frozen=True)
class Plan:
    """How an assay of one data set is made: what was asked for, and what that means here."""

    asked: AssaySettings
    metrics: tuple[Metric, ...]
    contexts: tuple[Context, ...]
    perturbations: tuple[str | Perturbation[Any], ...] | None
    normalize: str
    human: str | None
    llm: Mapping[str, str | None] | None
    """Which language model was asked, and the prompt of one's own if there is one; never a key."""
    seed: int
    valid_pairs: bool = False
    heard: str | None = None
    """The human score by which people's own pairs are judged beside those that were made."""
    counted: bool = False
    """Whether the human score looks like a count of errors."""

    @property
    def notes(self) -> list[str]:
        """What making the contexts left to say."""
        return [note for context in self.contexts for note in context.notes]

    def to_dict(self) -> dict[str, Any]:
        """Everything that decides the result, but the data, as plain values."""
        asked = self.asked.to_dict(AssaySettings)
        del asked["strict_resources"]  # decides whether there is a result, not which
        for name in ("scores", "lower_is_better", "higher_is_better"):
            del asked[name]  # in the signatures of the metrics
        return asked | {
            "metrics": [metric.signature for metric in self.metrics],
            "contexts": [context.name for context in self.contexts],
            "perturbations": None if self.perturbations is None else [str(p) for p in self.perturbations],
            "normalize": self.normalize,
            "human": self.human,
            "llm": None if self.llm is None else dict(self.llm),
            "seed": self.seed,
            "valid_pairs": self.valid_pairs,
        }


@dataclass(frozen=True, repr=False)
class AssayResult(Result):
    """Local accuracies, both hypotheses, confounding and a recommendation, for one data set.

    Of a run that was finished before, what its files hold is read; the rest is computed when asked for.

    >>> import metassay
    >>> found = metassay.demo(task="text", out=None)
    >>> set(found.cost()) == set(found.manifest()["metrics"]), sorted(found.examples())
    (True, ['doubtful', 'looked_at', 'pairs'])
    """

    dataset: Dataset
    plan: Plan
    find: Callable[[], Found]
    folder: Path | None = None
    finished: RunFolder | None = None
    workers: int = 1

    @cached_property
    def _found(self) -> Found:
        return self.find()

    @property
    def pairs(self) -> Pairs:
        """Outputs beside worse copies of them: those that count in the results."""
        return self._found.pairs

    @property
    def judged(self) -> JudgedPairs:
        """All pairs, with the scores of both sides."""
        return self._found.judged

    @property
    def contextual(self) -> ContextualResult:
        """What the judgements say, by context."""
        return self._found.contextual

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that were assayed."""
        return self.plan.metrics

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay assay`."""
        return self._content

    @cached_property
    def _content(self) -> dict[str, Any]:
        """Computed once: report, tables and the command line all read this one object."""
        if self.finished is not None:
            return dict(self.finished.read_json(RESULT))
        counts = {name: count.pairs for name, count in sorted(self.pairs.counts.items()) if count.pairs}
        judgements = self.judged.judgements.take(self.judged.sampled).select(np.array(self.contextual.ranked))
        told, corrected = self._told_apart(), self._corrected(judgements)
        aside, frame = self.judged.aside, self.pairs.frame
        edits = edits_of(frame["output"], frame["worse"], self.workers) if aside is None else aside.edits
        known = None if aside is None else aside.told(judgements)
        validity = perturbation_validity(self.pairs, self.dataset, edits, known)
        parts = Parts.of(edits[1])
        del edits
        by_difficulty = difficulty(
            judgements,
            parts,
            None if told is None else (told[0], edits_of(*told[1:], self.workers)[1]),
            ties=self.plan.asked.ties,
            resamples=self.plan.asked.resamples,
            seed=self.plan.seed,
        )
        contextual = worded(self.contextual.to_dict(), self.contextual)
        for m, row in enumerate(contextual["global"]):
            row.update(dict.fromkeys(CORRECTED) if corrected is None else to_json_values(corrected[m]))
        return {
            "schema_version": SCHEMA_VERSION,
            "task": self.dataset.task,
            "items": self.dataset.outputs["item"].n_unique(),
            "outputs": len(self.dataset),
            "pairs": self.pairs.frame.height,
            "left_out": dict(self.dataset.left_out),
            "named_left_out": {REFERENCE_SYSTEM_REASON: list(names)}
            if (names := self.dataset.reference_systems)
            else {},
            "perturbations": counts,
            **contextual,
            "metrics": [
                {"metric": m.spec, "signature": m.signature, "higher_is_better": m.higher_is_better}
                for m in self.metrics
            ],
            "price": {metric: list(price) for metric, price in self._found.prices.items()},
            "validity": self._validity(validity),
            "label_errors": self._found.label_rows(),
            "difficulty": by_difficulty,
            "valid_pairs_only": self.plan.valid_pairs,
            "notes": [*self.dataset.notes, *self.judged.notes, *self.pairs.notes, *self.plan.notes],
            "cluster": {"column": self.judged.unit.column, "why": self.judged.unit.why},
            "warnings": [*contextual["warnings"], *self._runs(), *self._simulated(), *self._counted()],
        }

    def _told_apart(self) -> tuple[str, pl.Series, pl.Series] | None:
        """The human score that is heard, and the texts of every two outputs that it tells apart."""
        if self.plan.heard is None:
            return None
        texts = self.dataset.outputs["output"]
        better, worse = (texts[rows] for rows in human_rows(self.dataset, self.plan.heard))
        return self.plan.heard, better, worse

    def _corrected(self, judgements: Judgements) -> list[dict[str, float]] | None:
        """Accuracies corrected for label error; None where some method and language has no pair read."""
        languages = sorted(set(self.dataset.languages), key=str)
        place = {language: n for n, language in enumerate(languages)}
        spoken = np.fromiter((place[language] for language in self.dataset.languages), np.int32)
        code = judgements.method * np.int32(len(languages)) + spoken[judgements.output]
        held = count_codes(code, len(languages) * len(judgements.methods)) > 0
        found = np.flatnonzero(held)
        keys = [(judgements.methods[n // len(languages)], languages[n % len(languages)]) for n in found]
        read = [error for key in keys if (error := self._found.labels.get(key)) is not None]
        if len(read) < len(keys):
            return None
        stratum = (np.cumsum(held) - 1).astype(np.int32)[code]
        return corrected_accuracy(
            judgements,
            stratum,
            [(error.pairs_read, error.not_worse) for error in read],
            ties=self.plan.asked.ties,
            resamples=self.plan.asked.resamples,
            seed=self.plan.seed,
        )

    def _simulated(self) -> list[str]:
        """A warning where the data itself says that nobody gave its human scores."""
        outputs = self.dataset.outputs
        if self.plan.heard is None or KIND not in outputs.columns or set(outputs[KIND]) != {SIMULATED}:
            return []
        said = f"No person gave the scores in {self.plan.heard}: they are simulated ({KIND})."
        return [f"{said} Where people are named, read: these scores."]

    def _counted(self) -> list[str]:
        """A warning where the human score may count errors: people would be heard the wrong way round."""
        if not self.plan.counted:
            return []
        said = f"{self.plan.human} is never negative, and higher is taken for better."
        if_not = (
            f"If it counts errors, people are heard the wrong way round: --lower-is-better {self.plan.human}."
        )
        return [f"{said} {if_not}"]

    def _runs(self) -> list[str]:
        """A warning where no unit is named and neighbouring items are alike, as parts of a document are."""
        if self.plan.asked.cluster is not None or self.judged.unit.column != "item":
            return []
        outcome, items = self.judged.judgements.outcome[: len(self.metrics)], self.judged.judgements.item
        order = sort_items_naturally(self.dataset)
        counts, sums = count_codes(items, len(order)), np.zeros(len(order))
        for start in range(0, len(items), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            sums += np.bincount(items[some], (outcome[:, some] == RIGHT).mean(axis=0), minlength=len(order))
        order = order[counts[order] > 0]
        r, p = lag_one_autocorrelation(sums[order] / counts[order])
        if not p <= _RUNS:
            return []
        alike = f"Items come in runs: neighbours are alike (correlation {r:.2f}), like parts of a document."
        remedy = "If they are, name its column with --cluster; with items as units intervals are too narrow."
        return [f"{alike} {remedy}"]

    def _validity(self, found: Sequence[Validity]) -> list[dict[str, Any]]:
        """Of each method: how often it applied, how much it changed, how often people disagree with it."""
        rows = []
        for row in found:
            count = self.pairs.counts[row.perturbation]
            known = {
                **asdict(row),
                "applied": count.applied,
                "not_applicable": count.not_applicable,
                "unchanged": count.unchanged,
                **self.pairs.validity.get(row.perturbation, {}),
            }
            rows.append({name: value for name, value in known.items() if value is not None})
        return rows

    def to_frame(self) -> pl.DataFrame:
        """Local accuracy: one row per column, context and metric."""
        parts = self.to_dict()["contexts"]
        rows = [{"column": column, **row} for column, part in parts.items() for row in part["local_accuracy"]]
        return pl.DataFrame(rows, infer_schema_length=None)

    def examples(self) -> dict[str, Any]:
        """Pairs that some metric got wrong, and how many labels are doubtful."""
        if self.finished is not None:
            found = self.finished.read_json(EXAMPLES)
            return found if isinstance(found, dict) else {"pairs": found}  # of earlier versions
        return wrong_pairs(self.dataset, self.metrics, self.judged, self.plan.contexts)

    def cost(self) -> dict[str, float]:
        """Seconds per 1,000 outputs of each metric, measured on a sample, one thread, each metric alone."""
        with warnings_as_notes():  # they were noted when the outputs were scored
            return measure_costs(self.metrics, build_scoring_rows(self.dataset))

    def _prompts(self) -> dict[str, str]:
        """What each judge among the metrics is asked."""
        return {metric.spec: metric.prompt_text for metric in self.metrics if isinstance(metric, Judge)}

    def page(self) -> Page:
        """The answer, the table of all outputs and every chart."""
        return assay_page(self.to_dict())

    def manifest(self) -> dict[str, Any]:
        """What was done, with what, on how much: the same on any machine and number of workers."""
        return {
            "state": "finished",
            "versions": collect_versions(),
            "metrics": {metric.spec: metric.signature for metric in self.metrics},
            "seed": self.plan.seed,
            **({"usage": dict(self.pairs.usage)} if self.pairs.usage else {}),
            **({"prompts": prompts} if (prompts := self._prompts()) else {}),
            "counts": {
                "items": self.dataset.outputs["item"].n_unique(),
                "systems": self.dataset.outputs["system"].n_unique(),
                "outputs": len(self.dataset),
                "pairs": self.pairs.frame.height,
                "left_out": dict(self.dataset.left_out),
            },
        }
