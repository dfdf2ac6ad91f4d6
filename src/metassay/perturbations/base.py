"""`Perturbation`: a rule that makes an output worse, and `View`: what it may use to do so.

To add a perturbation, write a subclass and announce it under the entry point `metassay.perturbations`, or
list it in `PERTURBATIONS` of a module of this package (see `registry.py`).
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from metassay.specs import format_name_with_parameters
from metassay.stats.streams import Keys, Stream
from metassay.tasks.base import OutputKind

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


@dataclass(frozen=True)
class View(Generic[T_co]):
    """An output together with everything that a perturbation, which makes it worse, may read about it, such
    as its source and language.

    The system is not part of it, so that equal outputs of an item get equal perturbed outputs.
    """

    output: T_co
    """A text; for rankings a tuple of document ids, best first."""
    item: str = ""
    language: str | None = None
    source: str | None = None
    references: tuple[str, ...] = ()
    rivals: tuple[T_co, ...] = ()
    """Outputs of the same item that are worse according to human scores, worst first."""
    siblings: tuple[T_co, ...] = ()
    """All outputs of the same item, including this one."""
    grades: Mapping[str, int] = field(default_factory=dict)
    """Relevance grades of the documents that were judged for this item (rankings only)."""
    collected: Mapping[str, Any] = field(default_factory=dict)
    """What perturbations collected from all texts in this language, by name of the perturbation."""


@dataclass(frozen=True)
class Perturbation(ABC, Generic[T]):
    """A rule that makes an output worse. Perturbations of the same class with the same parameters are equal.

    A subclass is a frozen dataclass whose fields are the parameters, each with a default. `Perturbation[str]`
    changes texts, `Perturbation[tuple[str, ...]]` ranked lists. The random stream depends only on the seed,
    the item, the output and the name of the perturbation. So equal outputs get equal perturbed outputs,
    whatever the order of the rows, the number of workers or the other perturbations.
    """

    name: ClassVar[str]
    output_kind: ClassVar[OutputKind] = OutputKind.TEXT
    """What it changes."""
    tasks: ClassVar[frozenset[str]] = frozenset()
    """Names of the tasks that it suits. A task can also name its perturbations itself."""
    languages: ClassVar[frozenset[str] | None] = None
    """Languages that it supports; None for all (see `needs_spaces`)."""
    needs_spaces: ClassVar[bool] = True
    """Whether it applies only to languages with spaces between words."""
    tagged_languages: ClassVar[frozenset[str]] = frozenset()
    """Languages for which it runs a tagger over every text, which is slow."""
    needed_fields: ClassVar[frozenset[str]] = frozenset()
    """Which of the costly fields of `View` it reads: `rivals`, `siblings`, `grades`."""
    default: ClassVar[bool] = True
    """Whether it is used when the user names no perturbations."""
    stores_results: ClassVar[bool] = False
    """Whether it stores its results itself, so that the run need not."""
    summary: ClassVar[str] = ""
    """One line for `metassay list perturbations`."""

    @abstractmethod
    def apply(self, output_view: View[T], random_stream: Stream) -> T | None:
        """Return a worse version of an output, or None if the perturbation does not apply to this output."""

    def perturb_many_outputs(self, output_views: Sequence[View[T]], random_keys: Keys) -> list[T | None]:
        """Return a worse version of each output, or None where the perturbation does not apply. `random_keys`
        has a random seed for each output.

        A faster implementation must return exactly what `apply` returns.
        """
        return [self.apply(view, Stream(key)) for view, key in zip(output_views, random_keys.tolist())]

    def precompute_text_analyses(self, texts: Sequence[str], language: str | None) -> list[Any] | None:  # noqa: ARG002
        """Analyse each text of a data set before any is made worse. Return None if the perturbation needs no
        analysis.

        For work that takes long: it is shared among processes, and stored in the run. The results must be
        JSON-able.
        """
        return None

    def collect_replacement_material(
        self,
        texts: Sequence[str],  # noqa: ARG002
        language: str | None,  # noqa: ARG002
        text_analyses: Iterable[Any],  # noqa: ARG002
    ) -> Any:
        """Collect what the perturbation needs to know about all texts of a language, such as a vocabulary.
        Return None if it needs nothing.

        The texts are distinct and sorted. `text_analyses` are the results of `precompute_text_analyses` in
        the same order, empty if there are none. The result must be JSON-able; `apply` finds it in
        `view.collected[self.name]`.
        """
        return None

    @property
    def collection_name(self) -> str:
        """The name under which `View.collected` holds what this perturbation collected from all texts."""
        return self.name

    def get_installation_hint_for_language(self, language: str) -> str | None:  # noqa: ARG002
        """Return how to install a dictionary or package that a language needs, or None if none is missing."""
        return None

    @property
    def language_model_usage(self) -> dict[str, Any] | None:
        """Numbers of requests and tokens that the perturbation has used so far, or None if it uses no
        language model.
        """
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for readers of the results about how the perturbation was applied, such as how many
        requests failed.
        """
        return ()

    @classmethod
    def list_defaults(cls) -> tuple[Perturbation[T], ...]:
        """Return the perturbations of this class that are used if the user names none."""
        return (cls(),)

    @property
    def non_default_parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults, by name."""
        changed = {}
        for parameter in list_perturbation_parameters(type(self)):
            value = getattr(self, parameter.name)
            if value != parameter.default:
                changed[parameter.name] = value
        return changed

    @property
    def spec(self) -> str:
        """The canonical text form of the perturbation, such as `removal(strength=2)`."""
        return format_name_with_parameters(self.name, self.non_default_parameters)

    def __str__(self) -> str:
        return self.spec


AnyPerturbation = Perturbation[Any]


def list_perturbation_parameters(
    perturbation_class: type[AnyPerturbation],
) -> tuple[dataclasses.Field[Any], ...]:
    """Return the dataclass fields of a perturbation class that users can set."""
    return tuple(parameter for parameter in dataclasses.fields(perturbation_class) if parameter.compare)
