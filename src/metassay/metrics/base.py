"""What a metric is: a value with parameters that scores a batch of outputs."""

from __future__ import annotations

import copy
import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay import plugins
from metassay.data.directions import orient_scores
from metassay.errors import InputError
from metassay.metrics.shared_cache import SharedCache
from metassay.specs import (
    format_name_with_parameters,
    format_settings_by_language,
    format_title_with_parameters,
)

if TYPE_CHECKING:
    from metassay.results.official_score import OfficialScore

Scores = NDArray[np.float64]
ParameterValue = str | int | float | bool | None
# Parameters of a metric, by name.
Parameters = dict[str, ParameterValue]
T = TypeVar("T")

# What using a metric takes, cheapest first: arithmetic on words, a tagger, a network that runs on a CPU, one
# that needs a GPU, requests that somebody pays for.
COST_CLASSES = ("cheap", "tagger", "neural CPU", "neural GPU", "paid requests")
# How the names of the cost classes of neural metrics begin.
NEURAL_PREFIX = "neural"


@dataclass(frozen=True)
class Batch:
    """The outputs that a metric scores in one call, with their references, sources and other fields.

    `references[i]` is the list of references of output i. (sacrebleu's corpus functions take the transposed
    shape, one list per reference stream: it is refused when the lengths show it.)
    Fields in use: `output`, `references`, `source`, `system`, `item`; rankings have `output` as a sequence
    of document ids and `qrels` as a mapping from document to grade.
    """

    fields: Mapping[str, Sequence[Any]]
    language: str | None = None
    shared_cache: SharedCache = field(default_factory=SharedCache, repr=False, compare=False)
    size: int = field(init=False)
    _cache: dict[Hashable, Any] = field(init=False, default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "output" not in self.fields:
            raise InputError("a batch needs the field 'output'.")
        size = len(self.fields["output"])
        object.__setattr__(self, "size", size)
        for name, column in self.fields.items():
            _check_column_length(name, column, size)
        if "references" in self.fields:
            _check_every_output_has_references(self.fields["references"])

    @classmethod
    def from_texts(
        cls,
        output: Sequence[str],
        references: Sequence[Sequence[str]] | None = None,
        *,
        source: Sequence[str] | None = None,
        language: str | None = None,
    ) -> Batch:
        """Make a batch from lists of texts. `references` has a list of references for each output, as in
        `Batch.from_texts(outputs, [[reference] for reference in references])`.
        """
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
        """The texts of the outputs."""
        return self["output"]

    @property
    def references(self) -> Sequence[Sequence[str]]:
        """The references of each output."""
        return self["references"]

    def compute_once(self, cache_key: Hashable, compute: Callable[[], T]) -> T:
        """Return what `compute()` returns, but call it only once for each key. The result is stored in this
        batch, so that several metrics can share it.
        """
        if cache_key not in self._cache:
            self._cache[cache_key] = compute()
        result: T = self._cache[cache_key]
        return result

    def apply_to_distinct_rows(self, function: Callable[[str, tuple[str, ...]], Sequence[float]]) -> Scores:
        """Call `function(output, references)` for each output of the batch, but only once for equal rows.
        Returns an array with one row per output.
        """
        position_of_key: dict[tuple[str, tuple[str, ...]], int] = {}
        results: list[Sequence[float]] = []
        position_of_row = np.empty(self.size, dtype=np.int64)
        for row, (output, references) in enumerate(zip(self.output, self.references)):
            key = (output, tuple(references))
            if key not in position_of_key:
                position_of_key[key] = len(results)
                results.append(function(*key))
            position_of_row[row] = position_of_key[key]
        table = np.asarray(results, dtype=np.float64).reshape(len(results), -1)
        return table[position_of_row]


def _check_column_length(field_name: str, values: Sequence[Any], output_count: int) -> None:
    """Raise an error unless a field of a batch has one value for each output."""
    if isinstance(values, str):
        raise InputError(
            f"{field_name} is one bare string; a list of {output_count} was expected.",
            remedy=f"Write [{field_name}] for one output.",
        )
    if len(values) != output_count:
        remedy = None
        if field_name == "references" and all(len(stream) == output_count for stream in values):
            remedy = "This is the transposed shape: references[i] must be the list of references of output i."
        raise InputError(f"{field_name} has {len(values)} entries for {output_count} outputs.", remedy=remedy)


def _check_every_output_has_references(references: Sequence[Sequence[str]]) -> None:
    """Raise an error unless each output has a list of at least one reference."""
    for i, output_references in enumerate(references):
        if isinstance(output_references, str):
            raise InputError(
                f"references[{i}] is a bare string; a list of references was expected.",
                remedy="Write [[ref] for ref in references] when each output has one.",
            )
        if len(output_references) == 0:
            raise InputError(f"output {i} has no reference.")


@dataclass(frozen=True)
class Metric(ABC):
    """Base class of all metrics, which give each output a score. Two metrics with equal parameters are equal.

    A subclass is a frozen dataclass. Its fields are the parameters, each with a default. Its class attributes
    say what the rest of the program must know about the metric. Only `name`, `task` and `score` are required.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """The name as researchers write it, if different from `name`: `BLEU`, `ROUGE-L`."""
    task: ClassVar[str]
    """The task whose outputs the metric scores, such as `mt`, or `any`."""
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"output", "references"})
    """Fields of a batch that the metric needs."""
    optional_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of a batch that the metric also reads if the data has them."""
    tie_tolerance: ClassVar[float] = 0.0
    """Two scores that differ by no more than this are a tie."""
    oracle: ClassVar[str] = ""
    """The official implementation that gives the same numbers, with its version."""
    implementation: ClassVar[int] = 1
    """A number that is increased whenever the scores of this implementation change."""
    summary: ClassVar[str] = ""
    """One line for `metassay list metrics`."""
    is_cacheable: ClassVar[bool] = True
    """False if scores are never stored: for sentinels, and for code that no hash can identify."""
    can_share_cache: ClassVar[bool] = True
    """False if other runs must not reuse the scores, which depend on more than signature and versions."""
    is_trivial: ClassVar[bool] = False
    """Whether computing a score costs less than looking it up."""
    can_be_timed: ClassVar[bool] = True
    """False if the metric cannot be timed on a sample, because that would cost money or mean nothing."""
    dictionary_languages: ClassVar[frozenset[str]] = frozenset()
    """Languages whose dictionaries the metric reads. Scores depend on the versions of the dictionaries."""
    languages: ClassVar[tuple[str | None, ...]] = ()
    """Languages of the data, set by `copy_metric_for_languages`. None stands for an unknown language."""
    preprocessing: ClassVar[str] = ""
    """What was done to the texts before the metric reads them, set by `copy_metric_for_languages`."""

    @abstractmethod
    def score(self, batch: Batch) -> Scores:
        """Return the score of each output of a batch. Undefined scores are NaN."""

    def copy_metric_for_languages(self, languages: Iterable[str | None], preprocessing: str = "") -> Self:
        """Return a copy of the metric that chooses settings, such as a tokeniser, for these languages.

        `preprocessing` says what was done to the texts before.

        Settings that the user left open may then depend on the language of each batch. The signature names
        the settings in use and the preprocessing. The spec stays as the user wrote it.
        """
        bound = copy.copy(self)
        ordered_languages = tuple(sorted(set(languages), key=lambda language: language or ""))
        # Metrics are frozen dataclasses; these two are no parameters and take no part in comparisons.
        object.__setattr__(bound, "languages", ordered_languages)
        object.__setattr__(bound, "preprocessing", preprocessing)
        return bound

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return the values of all parameters, by name, for texts of a language. Parameters that the user did
        not set have their defaults.

        Metrics that choose a setting by language, such as a tokeniser, choose it here.
        """
        del language
        return {parameter.name: getattr(self, parameter.name) for parameter in dataclasses.fields(self)}

    def choose_language_for_parameters(self, batch: Batch) -> str | None:
        """Return the language of a batch if the metric chooses settings, such as a tokeniser, by language;
        otherwise None.

        A metric chooses by language only after `copy_metric_for_languages`, because only then its signature
        names the chosen settings.
        """
        return batch.language if self.languages else None

    @property
    def non_default_parameters(self) -> Parameters:
        """The parameters whose values differ from the defaults, by name."""
        changed: Parameters = {}
        for parameter in dataclasses.fields(self):
            value = getattr(self, parameter.name)
            if value != parameter.default:
                changed[parameter.name] = value
        return changed

    @property
    def spec(self) -> str:
        """The metric as a user would write it in an option, such as `chrf(word_order=2)`."""
        return format_name_with_parameters(self.name, self.non_default_parameters)

    @property
    def label(self) -> str:
        """The name of the metric in reports: `BLEU`, `chrF++` or `BLEU (tokenizer=char)`."""
        return format_title_with_parameters(self.title or self.name, self.non_default_parameters)

    @property
    def signature(self) -> str:
        """A text with everything that affects the scores. Scores with equal signatures are comparable.

        It has every parameter, the version of the official implementation (`oracle`), our implementation
        number, for metrics that users wrote a hash of the source code, and what was done to the texts first.
        """
        settings_by_language = {
            language: self.get_parameters_for_language(language) for language in self.languages or (None,)
        }
        parts = [self.name]
        parts += [
            f"{name}:{format_settings_by_language(settings_by_language, name)}"
            for name in self.get_parameters_for_language(None)
        ]
        if self.oracle:
            parts.append(f"equals:{self.oracle}")
        parts.append(f"implementation:{self.implementation}")
        source_hash = plugins.hash_user_code(self)
        if source_hash:
            parts.append(f"source:{source_hash}")
        if self.preprocessing:
            parts.append(f"text:{self.preprocessing}")
        return "|".join(parts)

    @property
    def cost_class(self) -> str:
        """How expensive the metric is to compute, such as "cheap" or "neural GPU": one of `COST_CLASSES`."""
        return COST_CLASSES[0]

    @property
    def price_per_million_tokens(self) -> tuple[float, float] | None:
        """Prices of a million tokens in requests and of a million in answers. None if requests are free or
        their price is unknown.
        """
        return None

    def list_notes_on_scores(self) -> tuple[str, ...]:
        """Return sentences to show with the scores, such as how many requests failed."""
        return ()

    def orient_scores(self, scores: Scores) -> Scores:
        """Return the scores so that higher is better: with the opposite sign if lower scores are better."""
        return orient_scores(scores, higher_is_better=self.higher_is_better)

    def __str__(self) -> str:
        return self.spec


class StatisticsMetric(Metric):
    """Base class of metrics such as BLEU that are computed from counts. To score a whole corpus, the counts
    of all outputs are added up.

    Corpus, bootstrap and jackknife scores come from sums of `statistics` and never touch text again.
    """

    @abstractmethod
    def statistics(self, batch: Batch) -> Scores:
        """Count what the score is computed from, such as matching n-grams. Returns an array with one row per
        output.
        """

    @abstractmethod
    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute the scores of corpora from the summed counts of their outputs. The last axis holds the
        counts of one corpus.
        """

    def compute_segment_scores(self, statistics: Scores) -> Scores:
        """Compute the score of each single output from the row of its counts."""
        return self.from_statistics(statistics)

    def score(self, batch: Batch) -> Scores:
        """Compute the score of each single output of a batch."""
        return self.compute_segment_scores(self.statistics(batch))

    def corpus_score(self, batch: Batch) -> float:
        """Compute one score for all outputs of a batch together, from the sum of their counts."""
        return float(self.from_statistics(self.statistics(batch).sum(axis=0)))

    def describe_score_like_sacrebleu(self, statistics: Scores, reference_count: int) -> OfficialScore | None:
        """Return what the official program prints with a corpus score, such as its signature. None if there
        is no such program.

        `reference_count` is the number of references per output, −1 where it varies.
        """
        del statistics, reference_count
        return None


def check_parameter_range(
    metric_name: str, parameter_name: str, value: float, low: float, high: float = math.inf
) -> None:
    """Raise an error unless the value of a metric's parameter is a finite number between `low` and `high`."""
    if low <= value <= high and math.isfinite(value):
        return
    bounds = f"of at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
    raise InputError(f"{metric_name}: {parameter_name} is {value}; it must be a number {bounds}.")
