"""What a perturbation sees and is: from an output and a random stream to a worse output, or to nothing."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from metassay.specs import format_spec
from metassay.stats.random import Keys, Stream
from metassay.tasks.base import OutputKind

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


@dataclass(frozen=True)
class View(Generic[T_co]):
    """One output and what surrounds it: a text, or for rankings a tuple of document ids, best first.

    Only what is equal for equal outputs of an item is here, never the system: that is what makes equal
    outputs get equal copies.
    """

    output: T_co
    item: str = ""
    language: str | None = None
    source: str | None = None
    references: tuple[str, ...] = ()
    rivals: tuple[T_co, ...] = ()
    """Other outputs for the same item that are known to be worse than this one, worst first."""
    siblings: tuple[T_co, ...] = ()
    """All outputs for the same item, this one among them."""
    grades: Mapping[str, int] = field(default_factory=dict)
    """Rankings: relevance of the documents judged for this item."""
    collected: Mapping[str, Any] = field(default_factory=dict)
    """What perturbations gathered from all texts in this language, by name of the perturbation."""


@dataclass(frozen=True)
class Perturbation(ABC, Generic[T]):
    """One way to make an output worse, as a value: equal parameters make equal perturbations.

    A subclass is a frozen dataclass whose fields are the parameters, each with a default: `Perturbation[str]`
    edits texts, `Perturbation[tuple[str, ...]]` ranked lists. The stream depends only on (seed, item, text of
    the output, name), so equal outputs get equal copies, whatever the order, the shard, the number of workers
    or the other perturbations at work.
    """

    name: ClassVar[str]
    edits: ClassVar[OutputKind] = OutputKind.TEXT
    """What it makes worse."""
    tasks: ClassVar[frozenset[str]] = frozenset()
    """Names of tasks that it is made for and that do not name it themselves, as a plug-in says it."""
    languages: ClassVar[frozenset[str] | None] = None
    """The target languages it knows; None for all, or by words for all that are written with spaces."""
    by_words: ClassVar[bool] = True
    """Whether it edits words between spaces, and so has nothing to do in languages without them."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """Fields of the view that cost something to prepare and that it reads: `rivals`, `siblings`, `grades`."""
    default: ClassVar[bool] = True
    """Whether it is at work when no perturbation is named."""
    summary: ClassVar[str] = ""
    """One line for `metassay list perturbations`."""

    @abstractmethod
    def apply(self, view: View[T], stream: Stream) -> T | None:
        """The worse output, or None where this perturbation does not apply."""

    def apply_all(self, views: Sequence[View[T]], keys: Keys) -> list[T | None]:
        """`apply` on many outputs, with the stream that each key starts; a faster way must agree exactly."""
        return [self.apply(view, Stream(key)) for view, key in zip(views, keys.tolist())]

    def collect(self, texts: Sequence[str], language: str | None, workers: int = 1) -> Any:  # noqa: ARG002
        """What it gathers from all texts of a language (distinct, sorted); JSON-able, kept in the run.

        `apply` finds it in `view.collected[self.name]`. None: nothing is needed.
        """
        return None

    def missing(self, language: str) -> str | None:  # noqa: ARG002
        """The dictionary or package that it lacks for a language, and how to get it; None: nothing."""
        return None

    def usage(self) -> dict[str, Any] | None:
        """What it cost so far (requests, tokens …), for the manifest; None where it costs but time."""
        return None

    def notes(self) -> tuple[str, ...]:
        """What a reader of the results must know of how it went, once it is done."""
        return ()

    @classmethod
    def defaults(cls) -> tuple[Perturbation[T], ...]:
        """What is at work when no perturbation is named: one of each, or several copies of a lone method."""
        return (cls(),)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        fields = {f.name: (getattr(self, f.name), f.default) for f in parameter_fields(type(self))}
        return {name: value for name, (value, default) in fields.items() if value != default}

    @property
    def spec(self) -> str:
        """The canonical text form, such as `removal(strength=2)`."""
        return format_spec(self.name, self.parameters)

    def __str__(self) -> str:
        return self.spec


def parameter_fields(family: type[Perturbation[Any]]) -> tuple[dataclasses.Field[Any], ...]:
    """The fields that are parameters; those left out of comparison, such as connections, are not."""
    return tuple(f for f in dataclasses.fields(family) if f.compare)
