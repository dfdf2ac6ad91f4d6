"""What neural metrics share: a model by name, each text encoded once, several references, warnings."""

from __future__ import annotations

import functools
import tempfile
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.neural.checkpoints import require_torch
from metassay.metrics.neural.published_models import known
from metassay.metrics.shared_work import SharedWork
from metassay.recorded_warnings import CountedWarning

Case = tuple[str, str | None, str | None]
"""Output, source, reference; None for what the metric does not read."""
KEPT_BYTES = 2**30
"""So much of what is kept for a whole run is held in memory; the rest goes to temporary files."""
_LOCK = threading.RLock()
K = TypeVar("K")
V = TypeVar("V")


class Made(NamedTuple):
    """The scores of cases, and how many inputs were longer than the `limit` of the model's tokens."""

    scores: NDArray[np.float64]
    cut: int = 0
    limit: int = 0


@dataclass(frozen=True)
class NeuralMetric(Metric):
    """A metric computed by a model that the user has on this machine, named as on the hub or by its folder.

    `dtype` is the precision of the encoder (float32, bfloat16, float16); float32 on the CPU is the reference.
    Scores are the same whatever the order of rows and the number of threads.
    """

    model: str = ""
    dtype: str = "float32"

    task: ClassVar[str] = "mt"
    several: ClassVar[str] = "mean"
    """How the scores against several references become one: mean or max."""
    needs_torch: ClassVar[bool] = True

    def load(self) -> Any:
        """The model in memory, loaded once for all metrics with the same `loading`."""
        raise NotImplementedError

    def cases(self, model: Any, cases: Sequence[Case], shared: SharedWork) -> Made:
        """Scores of distinct cases: [cases], or [cases, parts] where the family has several."""
        raise NotImplementedError

    def hashes(self) -> Mapping[str, str]:
        """Hashes of weights and tokenizer."""
        raise NotImplementedError

    @property
    def cost_class(self) -> str:
        """Models of three billion parameters and more (XL, XXL) need a graphics card."""
        large = {"xl", "xxl"} & set(self.model.lower().replace("_", "-").split("-"))
        return "neural GPU" if large else "neural CPU"

    @property
    def sharing(self) -> Hashable:
        """Metrics with equal values here score the same cases in one pass and differ only in `part`."""
        return self

    def part(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """This metric's own scores among those of the family."""
        return scores

    @property
    def signature(self) -> str:
        """What was computed, with the hashes of the model's weights and tokenizer."""
        if self.needs_torch:
            require_torch()
        parts = super().signature.split("|")
        own = [f"{name}:{value}" for name, value in self.hashes().items()]
        return "|".join([*parts[:-1], *own, parts[-1]])

    def score(self, batch: Batch) -> Scores:
        """One number per output; NaN where a field that the metric reads is missing."""
        if self.needs_torch:
            require_torch()
        self._warn_of_language(batch.language)
        found, index, row_of = _cases(batch, self.needs)
        if not found:
            return np.full(len(batch), np.nan)
        made = batch.compute_once(
            ("neural", self.sharing, self.needs), lambda: self._scored(found, batch.shared)
        )
        self._warn_of_truncation(made)
        return _over_references(self.part(made.scores)[index], row_of, len(batch), self.several)

    def _scored(self, found: Sequence[Case], shared: SharedWork) -> Made:
        with _LOCK:  # a model uses all cores, or the whole GPU, for one batch at a time
            return self.cases(self.load(), found, shared)

    def _warn_of_truncation(self, made: Made) -> None:
        if made.cut:
            kind = (
                f"inputs were longer than the {made.limit} tokens that the model of {self.name} reads, and "
                "were cut."
            )
            warnings.warn(CountedWarning(made.cut, kind), stacklevel=3)

    def _warn_of_language(self, language: str | None) -> None:
        model = known(self.model)
        if language and model is not None and model.languages is not None:
            code = language.split("-")[0].split("_")[0].lower()
            if code not in model.languages:
                warnings.warn(
                    f"{self.name}: {self.model} was not trained on texts in the language {code!r}.",
                    stacklevel=3,
                )


def once(load: Callable[..., Any]) -> Callable[..., Any]:
    """Load a model once for each set of arguments, for the life of the process."""
    kept = functools.cache(load)

    @functools.wraps(load)
    def guarded(*given: Any, **named: Any) -> Any:
        with _LOCK:
            return kept(*given, **named)

    return guarded


def each(
    shared: SharedWork, key: Hashable, wanted: Sequence[K], compute: Callable[[list[K]], Iterable[V]]
) -> list[V]:
    """The value of each of these, computed once for all batches of a piece."""
    known: dict[K, V] = shared.batch_cache.setdefault(key, {})
    fresh = [one for one in dict.fromkeys(wanted) if one not in known]
    if fresh:
        known.update(zip(fresh, compute(fresh)))
    return [known[one] for one in wanted]


class Homes:
    """The texts that several pieces of a run hold, by their homes.

    Texts of one home are encoded together, so that what is made of them is the same whichever piece asks
    first, and kept until the run ends.
    """

    def __init__(self, shared: SharedWork) -> None:
        self.shared = shared
        self.of = shared.find_text_groups()
        if "members" not in shared.run_cache:
            members: dict[tuple[int, int], list[str]] = {}
            for text in sorted(self.of):
                members.setdefault(self.of[text], []).append(text)
            shared.run_cache["members"] = members

    def parted(self, texts: Iterable[str]) -> tuple[list[tuple[int, int]], list[str]]:
        """The homes of some of these texts, and the texts that have none."""
        texts = list(texts)
        return sorted({self.of[t] for t in texts if t in self.of}), [t for t in texts if t not in self.of]

    def kept(
        self, model: object, home: tuple[int, int], make: Callable[[list[str]], V]
    ) -> tuple[list[str], V]:
        """The texts of a home and what `make` makes of them, once in a run."""
        texts = self.shared.run_cache["members"][home]
        if (model, home) not in self.shared.run_cache:
            self.shared.run_cache[model, home] = make(texts)
        return texts, self.shared.run_cache[model, home]

    def host(self, rows: Any) -> NDArray[Any]:
        """Numbers to be kept for the run, in memory or in a temporary file that no folder lists."""
        array: NDArray[Any] = rows if isinstance(rows, np.ndarray) else rows.cpu().numpy()
        used = self.shared.run_cache["bytes"] = self.shared.run_cache.get("bytes", 0) + array.nbytes
        if used <= KEPT_BYTES or not array.size:
            return array
        with tempfile.TemporaryFile() as file:
            spilled = np.memmap(file, array.dtype, "w+", shape=array.shape)
        spilled[:] = array
        return spilled


class Vectors:
    """One vector per text from one model: each text encoded once for all pieces and metrics of a run."""

    def __init__(
        self,
        shared: SharedWork,
        model: object,
        encode: Callable[[list[str]], tuple[Any, NDArray[np.bool_]]],
        moved: Callable[[NDArray[Any]], Any] = lambda array: array,
    ) -> None:
        self.model, self.encode, self.moved, self.homes = model, encode, moved, Homes(shared)
        self.place, self.cut, self.blocks = shared.batch_cache.setdefault((Vectors, model), ({}, [], []))

    def rows(self, columns: Sequence[Sequence[str]]) -> tuple[Any, NDArray[np.int64], int]:
        """Vectors, the row of each text among them as [columns, texts], and how many texts were cut.

        `encode` gives the vectors of texts and which of them it cut; `moved` brings kept ones to its device.
        """
        for column in columns:
            homes, own = self.homes.parted(t for t in dict.fromkeys(column) if t not in self.place)
            for home in homes:
                texts, (kept, cut) = self.homes.kept(self.model, home, self._kept)
                self._add(texts, self.moved(kept), cut)
            if own:
                self._add(own, *self.encode(own))
        index = np.array([[self.place[text] for text in column] for column in columns], dtype=np.int64)
        return self._joined(), index, int(np.concatenate(self.cut)[np.unique(index)].sum())

    def _kept(self, texts: list[str]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        vectors, cut = self.encode(texts)
        return self.homes.host(vectors), cut

    def _add(self, texts: Sequence[str], vectors: Any, cut: NDArray[np.bool_]) -> None:
        self.place.update(zip(texts, range(len(self.place), len(self.place) + len(texts))))
        self.blocks.append(vectors)
        self.cut.append(cut)

    def _joined(self) -> Any:
        """All vectors as one block; later calls add to it."""
        if len(self.blocks) > 1 and isinstance(self.blocks[0], np.ndarray):
            self.blocks[:] = [np.concatenate(self.blocks)]
        elif len(self.blocks) > 1:
            import torch

            self.blocks[:] = [torch.cat(self.blocks)]
        return self.blocks[0]


def _cases(batch: Batch, needs: frozenset[str]) -> tuple[list[Case], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct cases of a batch, and for each row's each reference, its case and the row."""
    sources = batch["source"] if "source" in needs else [None] * len(batch)
    references = batch.references if "references" in needs else [(None,)] * len(batch)
    wanted: list[Case] = []
    row_of: list[int] = []
    for row, (output, source, own) in enumerate(zip(batch.output, sources, references)):
        missing = (output, source) if "source" in needs else (output,)
        if None in missing:
            continue
        for reference in own:
            if reference is not None or "references" not in needs:
                wanted.append((output, source, reference))
                row_of.append(row)
    ordered = sorted(set(wanted), key=lambda case: tuple(part or "" for part in case))
    place = {case: number for number, case in enumerate(ordered)}
    index = np.fromiter((place[case] for case in wanted), np.int64, len(wanted))
    return ordered, index, np.array(row_of, dtype=np.int64)


def _over_references(
    scores: NDArray[np.float64], row_of: NDArray[np.int64], rows: int, several: str
) -> Scores:
    counts = np.bincount(row_of, minlength=rows)
    if several == "max":
        best = np.full(rows, -np.inf)
        np.maximum.at(best, row_of, scores)
        return np.where(counts > 0, best, np.nan)
    sums = np.bincount(row_of, weights=scores, minlength=rows)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def settings_of(metric: NeuralMetric, *leave_out: str) -> tuple[Any, ...]:
    """The parameters of a metric but for some, as a key."""
    return tuple(getattr(metric, f.name) for f in fields(metric) if f.name not in leave_out)
