"""What a metric is: a value with parameters, that scores a batch of outputs."""

from __future__ import annotations

import copy
import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay import plugins
from metassay.errors import InputError
from metassay.specs import format_by_language, format_label, format_spec

Scores = NDArray[np.float64]
T = TypeVar("T")
COST_CLASSES = ("cheap", "tagger", "neural CPU", "neural GPU", "paid requests")
"""What using a metric takes, cheapest first: arithmetic on words, a tagger, a network that a processor can
carry, one that needs a graphics card, requests that somebody pays for."""
NEURAL = "neural"
"""What the names of those two begin with."""


@dataclass(frozen=True)
class SharedWork:
    """What the batches of one run have in common, for metrics that make much of each text.

    `find_text_groups` gives the texts that several pieces of the run hold, each with its home: the first of
    these pieces, and the first field that holds it. What is made of them is kept in `run_cache`, what is made
    of other texts in `batch_cache`, for the batches of one piece.
    """

    find_text_groups: Callable[[], Mapping[str, tuple[int, int]]] = dict
    run_cache: dict[Hashable, Any] = field(default_factory=dict)
    batch_cache: dict[Hashable, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Batch:
    """The fields of n outputs, column by column; a metric reads those in its `needs`.

    `references[i]` is the list of references of output i. (The transposed shape, one list per reference
    stream, is what sacrebleu's corpus functions take: it is refused when the lengths show it.)
    Fields in use: `output`, `references`, `source`, `system`, `item`; rankings have `output` as a sequence
    of document ids and `qrels` as a mapping from document to grade.
    """

    fields: Mapping[str, Sequence[Any]]
    language: str | None = None
    shared: SharedWork = field(default_factory=SharedWork, repr=False, compare=False)
    size: int = field(init=False)
    _derived: dict[Hashable, Any] = field(init=False, default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "output" not in self.fields:
            raise InputError("a batch needs the field 'output'.")
        size = len(self.fields["output"])
        object.__setattr__(self, "size", size)
        for name, column in self.fields.items():
            _check_column(name, column, size)
        if "references" in self.fields:
            _check_references(self.fields["references"])

    @classmethod
    def of(
        cls,
        output: Sequence[str],
        references: Sequence[Sequence[str]] | None = None,
        *,
        source: Sequence[str] | None = None,
        language: str | None = None,
    ) -> Batch:
        """A batch of texts, as in `Batch.of(hypotheses, [[ref] for ref in references])`."""
        fields: dict[str, Sequence[Any]] = {"output": output}
        if references is not None:
            fields["references"] = references
        if source is not None:
            fields["source"] = source
        return cls(fields, language)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, name: str) -> Sequence[Any]:
        if name not in self.fields:
            raise InputError(f"this data has no field {name!r}, which the metric needs.")
        return self.fields[name]

    @property
    def output(self) -> Sequence[str]:
        """The outputs, one text each."""
        return self["output"]

    @property
    def references(self) -> Sequence[Sequence[str]]:
        """For each output, its references."""
        return self["references"]

    def compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` returns, kept under `key`, so that metrics of one family share their work."""
        if key not in self._derived:
            self._derived[key] = compute()
        found: T = self._derived[key]
        return found

    def map_distinct(self, function: Callable[[str, tuple[str, ...]], Sequence[float]]) -> Scores:
        """`function(output, references)` for each row, computed once for each distinct pair: [n, s]."""
        seen: dict[tuple[str, tuple[str, ...]], int] = {}
        rows: list[Sequence[float]] = []
        index = np.empty(self.size, dtype=np.int64)
        for i, (output, references) in enumerate(zip(self.output, self.references)):
            key = (output, tuple(references))
            if key not in seen:
                seen[key] = len(rows)
                rows.append(function(*key))
            index[i] = seen[key]
        table = np.asarray(rows, dtype=np.float64).reshape(len(rows), -1)
        return table[index]


def _check_column(name: str, column: Sequence[Any], size: int) -> None:
    if isinstance(column, str):
        raise InputError(
            f"{name} is one bare string; a list of {size} was expected.",
            remedy=f"Write [{name}] for one output.",
        )
    if len(column) != size:
        hint = None
        if name == "references" and all(len(stream) == size for stream in column):
            hint = "This is the transposed shape: references[i] must be the list of references of output i."
        raise InputError(f"{name} has {len(column)} entries for {size} outputs.", remedy=hint)


def _check_references(references: Sequence[Sequence[str]]) -> None:
    for i, own in enumerate(references):
        if isinstance(own, str):
            raise InputError(
                f"references[{i}] is a bare string; a list of references was expected.",
                remedy="Write [[ref] for ref in references] when each output has one.",
            )
    if any(len(own) == 0 for own in references):
        first = next(i for i, own in enumerate(references) if len(own) == 0)
        raise InputError(f"output {first} has no reference.")


@dataclass(frozen=True)
class Metric(ABC):
    """A metric as a value: equal parameters make equal metrics; its text form parses back to it.

    A subclass is a frozen dataclass whose fields are the parameters (each with a default), and whose class
    attributes answer what every other room asks.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """The name as the field spells it, where that differs: `BLEU`, `ROUGE-L`."""
    task: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"output", "references"})
    optional_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that it reads where the data has them."""
    can_be_timed: ClassVar[bool] = True
    """False where a second scoring, to learn what it costs, would itself cost something."""
    tie_tolerance: ClassVar[float] = 0.0
    """Two scores that differ by no more than this are a tie."""
    oracle: ClassVar[str] = ""
    """The official implementation, with version, whose numbers this metric equals."""
    implementation: ClassVar[int] = 1
    """Raised whenever the scores of this implementation change."""
    is_cacheable: ClassVar[bool] = True
    """False for sentinels, whose scores are not worth keeping."""
    is_trivial: ClassVar[bool] = False
    """Whether a score costs less than to see that the same was scored before."""
    dictionary_languages: ClassVar[frozenset[str]] = frozenset()
    """Languages whose dictionaries it reads: others would be other scores."""
    can_share_cache: ClassVar[bool] = True
    """False where more decides its scores than signature and libraries say: they stay in the run."""
    summary: ClassVar[str] = ""
    """One line for `metassay list metrics`."""
    languages: ClassVar[tuple[str | None, ...]] = ()
    """Of the data that the metric was bound to with `bind_to_data`; None where a language is not known."""
    text_changes: ClassVar[str] = ""
    """What was done to the texts before this metric saw them, if it was bound to such data."""

    def bind_to_data(self, languages: Iterable[str | None], text_changes: str = "") -> Self:
        """The metric for data in these languages, whose texts were changed as `text_changes` says.

        Settings that were left open may now depend on the language of each batch; the signature names what
        is used, and the change. The spec stays what was asked for.
        """
        bound = copy.copy(self)
        object.__setattr__(bound, "languages", tuple(sorted(set(languages), key=lambda name: name or "")))
        object.__setattr__(bound, "text_changes", text_changes)
        return bound

    def settings(self, language: str | None) -> dict[str, Any]:
        """Every parameter as it is used on texts of a language; what was left open is chosen here."""
        del language
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def used(self, batch: Batch) -> dict[str, Any]:
        """Every parameter as it is used on a batch.

        Its language decides only where the metric was bound to data, since else the signature would not tell.
        """
        return self.settings(batch.language if self.languages else None)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        return {
            f.name: getattr(self, f.name)
            for f in dataclasses.fields(self)
            if getattr(self, f.name) != f.default
        }

    @property
    def spec(self) -> str:
        """The canonical text form, such as `chrf(word_order=2)`."""
        return format_spec(self.name, self.parameters)

    @property
    def signature(self) -> str:
        """What was computed, exactly, on exactly which text.

        Every parameter, the oracle's version, our implementation number; the hash of the source of a metric
        that is not ours; what was done to the text first.
        """
        used = {language: self.settings(language) for language in self.languages or (None,)}
        settings = [f"{name}:{format_by_language(used, name)}" for name in self.settings(None)]
        parts = [self.name, *settings, *([f"equals:{self.oracle}"] if self.oracle else [])]
        parts.append(f"implementation:{self.implementation}")
        source = plugins.hash_user_source(self)
        parts += [f"source:{source}"] if source else []
        return "|".join([*parts, *([f"text:{self.text_changes}"] if self.text_changes else [])])

    @property
    def cost_class(self) -> str:
        """One of `COST_CLASSES`: a fact about the metric, never a timing."""
        return COST_CLASSES[0]

    @property
    def price(self) -> tuple[float, float] | None:
        """Money for a million tokens asked and answered, where requests are paid and the price is known."""
        return None

    @property
    def label(self) -> str:
        """The metric as people write it: `BLEU`, `chrF++`, `BLEU (tokenizer=char)`."""
        return format_label(self.title or self.name, self.parameters)

    def __str__(self) -> str:
        return self.spec

    @abstractmethod
    def score(self, batch: Batch) -> Scores:
        """One number per output; NaN where the definition has none."""

    def notes(self) -> tuple[str, ...]:
        """What a reader of its scores must know, once they are there."""
        return ()

    def orient_scores(self, scores: Scores) -> Scores:
        """The same scores, turned so that higher is better."""
        return scores if self.higher_is_better else -scores


def check_range(metric: str, parameter: str, value: float, low: float, high: float = math.inf) -> None:
    """An error where a parameter is not a number between `low` and `high`."""
    if low <= value <= high and math.isfinite(value):
        return
    bounds = f"of at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
    raise InputError(f"{metric}: {parameter} is {value}; it must be a number {bounds}.")


class StatisticsMetric(Metric):
    """A metric computed from sufficient statistics that add up over outputs.

    Corpus, bootstrap and jackknife scores come from sums of `statistics` and never touch text again.
    """

    @abstractmethod
    def statistics(self, batch: Batch) -> Scores:
        """Sufficient statistics, one row per output: [n, s]."""

    @abstractmethod
    def from_statistics(self, statistics: Scores) -> Scores:
        """Scores from (sums of) statistics: [..., s] to [...], as the corpus score is computed."""

    def segment_scores(self, statistics: Scores) -> Scores:
        """Scores of single outputs: [n, s] to [n]; differs from `from_statistics` where the official does."""
        return self.from_statistics(statistics)

    def describe_official_score(self, statistics: Scores, references: int) -> dict[str, Any] | None:
        """What the official program prints beside a corpus score: `name`, `signature`, counts.

        `references` is how many each output has, −1 where that varies. None where it has no such line.
        """
        del statistics, references
        return None

    def score(self, batch: Batch) -> Scores:
        """The segment score of each output."""
        return self.segment_scores(self.statistics(batch))

    def corpus_score(self, batch: Batch) -> float:
        """One score from the summed statistics of all outputs."""
        return float(self.from_statistics(self.statistics(batch).sum(axis=0)))
