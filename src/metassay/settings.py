"""Settings of verbs: each option spelled once, as a field of a frozen dataclass.

From such a class come the keywords of the Python function (`takes`), the options of the command line
(`metassay.cli.options.expanded`) and the configuration in the manifest (`Settings.to_dict`). How data is
read is said here, since every verb reads.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from metassay.errors import InputError, UnknownName, is_remote
from metassay.specs import split_list

R = TypeVar("R")
Named = str | Sequence[str]
"""Names in one comma-separated text, or several."""
DATA = "Data"
PERTURBED, HUMAN, GIVEN = "perturbed", "human", "given"
"""Where pairs come from."""
_LARGEST = 10_000_000
_LARGEST_SEED = 2**63 - 1
_MOST_WORKERS = 4096


@dataclass(frozen=True)
class Option:
    """How the command line shows a setting: what it says of it, and where it differs from the field."""

    text: str
    flags: tuple[str, ...] = ()
    kind: Any = None
    """The type on the command line, where the field takes more than that."""
    parse: Callable[[Any], Any] | None = None
    """From what the command line takes to what the field holds."""
    metavar: str | None = None
    panel: str | None = None
    least: float | None = None
    """The smallest number that makes sense."""
    most: float | None = None
    """The largest; without one, ten million where there is a smallest: more draws say nothing new."""


CALLED: ContextVar[Mapping[str, Any] | None] = ContextVar("called", default=None)
"""The command at work and its options as they were given, so that a run folder can say how to go on."""


def option(text: str, *flags: str, **more: Any) -> Option:
    """An option with its help text and, where it is not the field's name, its flags."""
    return Option(text, flags, **more)


def check_number(name: str, value: Any, least: float, most: float) -> None:
    """An error where a setting is no number, or none between `least` and `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} is {value!r}, which is no number.")
    if not value >= least:
        raise InputError(f"{name} is {value}; at least {least:g} is needed.")
    if value > most:
        raise InputError(f"{name} is {value}; at most {most:,.0f} makes sense.")


_BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def bytes_of(text: str) -> int:
    """A size such as `4GB` in bytes.

    >>> bytes_of("4GB"), bytes_of("1.5 GiB")
    (4000000000, 1610612736)
    """
    found = re.fullmatch(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*([MGT]i?B)\s*", text, re.IGNORECASE)
    size = 0 if found is None else int(float(found[1]) * _BYTES[found[2].upper()])
    if size < _BYTES["MB"]:
        raise InputError(f"memory is {text!r}, which is no size.", remedy="Write it as 4GB or 500MB.")
    return size


def check_common(*, seed: Any = None, workers: Any = None) -> None:
    """The same for what every verb takes."""
    if seed is not None:
        check_number("seed", seed, 0, _LARGEST_SEED)
    if workers is not None:
        check_number("workers", workers, 1, _MOST_WORKERS)


def several(
    text: str, flag: str, metavar: str, parse: Callable[[Any], Any] | None = None, **more: Any
) -> Any:
    """An option that may be given several times; None where it never was."""
    return option(
        text, flag, kind=list[str], metavar=metavar, parse=lambda v: (parse or list)(v) if v else None, **more
    )


class Settings:
    """Base of the settings of a verb: a frozen dataclass whose fields are annotated with an `Option`."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, known in options_of(kind).items():
            value = getattr(self, name)
            if known.least is not None and value is not None:
                check_number(name, value, known.least, _LARGEST if known.most is None else known.most)

    def to_dict(self) -> dict[str, Any]:
        """The settings as they were asked for, in the order of the fields."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: getattr(self, field.name) for field in fields}


@functools.cache
def options_of(settings: Any) -> dict[str, Option]:
    """The option of each field, by the field's name."""
    hints = typing.get_type_hints(settings, include_extras=True)
    found = {}
    for field in dataclasses.fields(settings):
        known = [part for part in getattr(hints[field.name], "__metadata__", ()) if isinstance(part, Option)]
        if known:
            found[field.name] = known[0]
    return found


def takes(*kinds: type[Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """A verb `f(data, settings, …, *, workers, …)` that takes the fields of its settings as keywords."""

    def decorate(verb: Callable[..., R]) -> Callable[..., R]:
        signature = _signature(verb, kinds)

        @functools.wraps(verb)
        def call(data: Any, **keywords: Any) -> R:
            unknown = sorted(set(keywords) - set(signature.parameters))
            if unknown:
                raise UnknownName(f"option of {verb.__name__}", unknown[0], list(signature.parameters)[1:])
            check_common(**{name: keywords[name] for name in ("seed", "workers") if name in keywords})
            groups = []
            for kind in kinds:
                own = [field.name for field in dataclasses.fields(kind)]
                groups.append(kind(**{name: keywords.pop(name) for name in own if name in keywords}))
            return verb(data, *groups, **keywords)

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate


def _signature(verb: Callable[..., Any], kinds: tuple[type[Any], ...]) -> inspect.Signature:
    """The verb's own parameters, with the fields in place of the settings."""
    own = list(inspect.signature(verb).parameters.values())
    fields = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(field),
            annotation=typing.get_type_hints(kind)[field.name],
        )
        for kind in kinds
        for field in dataclasses.fields(kind)
    ]
    return inspect.Signature([own[0], *fields, *own[1 + len(kinds) :]])


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def comma_list(text: str | None) -> list[str] | None:
    """Parts between commas, those in parentheses left whole; None where the option was not used."""
    return None if text is None else split_list(text)


def assignments(texts: Sequence[str]) -> dict[str, str]:
    """`["item=seg_id"]` as a dict."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{text!r} is not NAME=VALUE.")
        found[name.strip()] = value
    return found


def accepted_values(texts: Sequence[str]) -> dict[str, list[str]]:
    """`["domain=news", "domain=social"]` as one list of accepted values per column."""
    found: dict[str, list[str]] = {}
    for text in texts:
        for name, value in assignments([text]).items():
            found.setdefault(name, []).append(value)
    return found


def names_of(texts: Named | None) -> tuple[str, ...]:
    """Names from a comma-separated text or a list of such; commas in parentheses do not split."""
    if texts is None:
        return ()
    parts = [texts] if isinstance(texts, str) else texts
    return tuple(name for part in parts for name in split_list(part))


def names_a_source(pairs: Any) -> bool:
    """Whether `pairs` is a table of pairs or the path of one, and not a word for how pairs are made."""
    if not isinstance(pairs, str):
        return True
    if pairs not in {PERTURBED, HUMAN} and not is_remote(pairs) and not Path(pairs).exists():
        raise UnknownName("kind or file of pairs", pairs, (PERTURBED, HUMAN))
    return pairs not in {PERTURBED, HUMAN}


@dataclass(frozen=True)
class Reading(Settings):
    """How any data is read."""

    task: Annotated[Any, option("mt, asr, ranking, text …; else guessed.", kind=str | None, panel=DATA)] = (
        None
    )
    columns: Annotated[
        Mapping[str, str] | None,
        several("ROLE=COLUMN, such as item=seg_id.", "--column", "ROLE=COLUMN", assignments, panel=DATA),
    ] = None
    where: Annotated[
        Mapping[str, Named] | None,
        several("Keep rows with this value.", "--where", "COLUMN=VALUE", accepted_values, panel=DATA),
    ] = None
    systems: Annotated[
        Sequence[str] | None,
        option("Only these, comma-separated.", kind=str | None, parse=comma_list, panel=DATA),
    ] = None
    exclude_systems: Annotated[
        Sequence[str] | None,
        option("Without these, comma-separated.", kind=str | None, parse=comma_list, panel=DATA),
    ] = None
    join: Annotated[Any, several("Add columns of FILE by shared keys.", "--join", "FILE", panel=DATA)] = None
    quoting: Annotated[str, option("minimal or none (CSV, TSV).", panel=DATA)] = "minimal"
    language: Annotated[str | None, option("Target language, such as en.", panel=DATA)] = None


@dataclass(frozen=True)
class ReadSettings(Reading):
    """How outputs are read."""

    references: Annotated[str, option("per-item, or per-output where rows may differ.", panel=DATA)] = (
        "per-item"
    )
    qrels: Annotated[
        Any, option("Rankings: judgements, or a log of ratings.", kind=str | None, panel=DATA)
    ] = None
    complete: Annotated[
        bool,
        option(
            "Rankings: judged topics without a list count as 0, or are left out.",
            "--complete/--incomplete",
            panel=DATA,
        ),
    ] = True
    relevant_from: Annotated[float, option("Ratings: relevant from here on.", panel=DATA)] = 4.0
    human: Annotated[
        Named | None, option("Columns of human scores, comma-separated.", kind=str | None, panel=DATA)
    ] = None
