"""What a perturbation sees and is: from an output and a random stream to a worse output, or to nothing.

Which perturbations exist, from text to perturbation and back, and why one does nothing for a language.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from metassay import plugins
from metassay.errors import InputError, UnknownName
from metassay.specs import format_spec, parse_spec, reject_duplicates, split_specs
from metassay.stats.streams import Keys, Stream
from metassay.tasks.base import OutputKind, Task
from metassay.text.words import WITHOUT_SPACES

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class KeptTexts(Protocol):
    """Where finished parts of the work are kept, so that a stopped run goes on where it was."""

    def load(self, name: str) -> list[str | None] | None:
        """What is kept under a name that says all it depends on; None where nothing is."""
        ...

    def save(self, name: str, texts: Sequence[str | None]) -> None:
        """Keep a finished part."""
        ...

    def private(self) -> KeptTexts | None:
        """Where that is kept which code of the user makes, of which no hash knows all that it depends on."""
        ...


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
    tagged: ClassVar[frozenset[str]] = frozenset()
    """Languages in which a tagger must see every text first, which takes its time."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """Fields of the view that cost something to prepare and that it reads: `rivals`, `siblings`, `grades`."""
    default: ClassVar[bool] = True
    """Whether it is at work when no perturbation is named."""
    keepable: ClassVar[bool] = True
    """Whether its texts are kept in the run as they are made; False where it keeps them itself."""
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

    @property
    def gathers_for(self) -> str:
        """The name of the perturbation that uses what this one collects: its own."""
        return self.name

    def study(self, texts: Sequence[str], language: str | None, workers: int = 1) -> list[Any] | None:  # noqa: ARG002
        """What it finds in each text by itself, where that takes long; JSON-able, kept part by part.

        `collect` and `apply` use what was found before, see `recall`. None: nothing takes long.
        """
        return None

    def recall(self, texts: Sequence[str], language: str | None, found: Sequence[Any]) -> None:
        """Take what `study` found in these texts, now or in a run that was stopped."""

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


MODULES = (
    "words",
    "replacement",
    "entity",
    "negation",
    "llm",
    "ranking",
    "sentences",
    "facts",
    "senses",
)
"""The modules of this package that define perturbations; each lists its classes in `PERTURBATIONS`."""

AnyPerturbation = Perturbation[Any]


@functools.cache
def known_perturbations() -> dict[str, type[AnyPerturbation]]:
    """Every perturbation class by name: ours, then those of installed packages."""
    found: dict[str, type[AnyPerturbation]] = {}
    for module in MODULES:
        for perturbation in importlib.import_module(f"metassay.perturbations.{module}").PERTURBATIONS:
            found[perturbation.name] = perturbation
    for name, perturbation in plugins.load_entry_points("perturbations").items():
        found.setdefault(name, perturbation)
    return found


def is_ours(method: AnyPerturbation) -> bool:
    """Whether another process finds the very same method by its spec."""
    return known_perturbations().get(method.name) is type(method) and not plugins.hash_user_source(method)


def made_for(task: Task) -> dict[str, type[AnyPerturbation]]:
    """The perturbations that a task names, and those that name the task, by name."""
    return {
        name: perturbation
        for name, perturbation in known_perturbations().items()
        if name in task.perturbations or task.name in perturbation.tasks
    }


def default_perturbations(task: Task) -> tuple[AnyPerturbation, ...]:
    """Those at work for a task when none is named."""
    wanted = [p for p in made_for(task).values() if p.default]
    return tuple(perturbation for p in wanted for perturbation in p.defaults())


def parse_perturbation(text: str | AnyPerturbation) -> AnyPerturbation:
    """The perturbation that a spec such as `removal(strength=2)` names."""
    if isinstance(text, Perturbation):
        return text
    name, parameters = parse_spec(text)
    family = known_perturbations().get(name)
    if family is None:
        raise UnknownName("perturbation", name, known_perturbations())
    return family(**{key: _parameter(family, key, value) for key, value in parameters.items()})


def parse_perturbations(
    texts: str | AnyPerturbation | Iterable[str | AnyPerturbation], *, task: Task | None = None
) -> tuple[AnyPerturbation, ...]:
    """Several perturbations, from a comma-separated text or any mixture; none twice, all made for `task`."""
    found = tuple(parse_perturbation(part) for part in split_specs(texts))
    if not found:
        raise InputError("no perturbation was named.", remedy="See: metassay list perturbations")
    reject_duplicates([perturbation.spec for perturbation in found])
    if task is not None:
        _refuse_strangers(found, task)
    return found


def _refuse_strangers(found: Iterable[AnyPerturbation], task: Task) -> None:
    """An error for a perturbation that is not made for the task; an object of the user's own always is."""
    fitting, known = made_for(task), known_perturbations()
    for perturbation in found:
        if perturbation.name in known and perturbation.name not in fitting:
            remedy = f"Made for {task}: {', '.join(sorted(fitting))}."
            raise InputError(f"{perturbation.spec} is not made for {task}.", remedy=remedy)


def _parameter(family: type[AnyPerturbation], name: str, value: Any) -> Any:
    """The value of a parameter, checked against the kind of its default."""
    fields = {f.name: f for f in parameter_fields(family)}
    if name not in fields:
        raise UnknownName(f"parameter of {family.name}", name, fields)
    default = fields[name].default
    if isinstance(default, float) and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, int | float) and type(value) is not type(default):
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"{name} of {family.name} is {value!r}, not {kind}.")
    return value


_NAME_IT = "--language en, in Python language='en'"


def obstacle(method: Perturbation[Any], language: str | None, *, named: bool, strict: bool) -> str | None:
    """Why a method does nothing for a language; None where it works."""
    if method.edits is OutputKind.RANKING:
        return None
    if method.languages is None:
        spaceless = method.by_words and language is not None and language.partition("-")[0] in WITHOUT_SPACES
        return (
            f"{method.spec} does not apply to {language}, which is written without spaces" * spaceless or None
        )
    if language is None:
        if named:
            raise InputError(
                f"{method.spec} needs to know the language of the outputs.",
                remedy=f"Name it: {_NAME_IT}.",
            )
        return f"The language is not known, and methods that need it are left out; name it: {_NAME_IT}"
    if language not in method.languages:
        known = ", ".join(sorted(method.languages))
        return f"{method.spec} does not know the language {language}; it knows {known}"
    missing = method.missing(language)
    if missing is not None and strict:
        raise InputError(f"{method.spec} lacks a resource for {language}.", remedy=missing)
    return None if missing is None else f"{method.spec} does not apply to {language}: {missing}"
