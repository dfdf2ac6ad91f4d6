"""Options of the commands. Each option is defined once, for Python and for the command line.

An option is a field of a frozen dataclass, annotated with an `Option` that holds its help text. From such a
class come

- the keywords of the Python function, with their types (`replace_options_parameter_by_keywords`),
- the options of the command line (`metassay.cli.options`),
- the configuration that a run folder records (`Settings.to_dict`).

Options for reading data are here because every command reads data. Options of single commands are in
`metassay.workflows.options`.
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
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from metassay.errors import InputError, UnknownName, is_remote_path
from metassay.specs import split_at_commas

if TYPE_CHECKING:
    from metassay.tasks.base import Task

    TaskChoice: TypeAlias = str | Task | None
else:
    # `Task` is in a layer above; the types of options are evaluated when a function that has them is defined.
    TaskChoice = Any

DataT = TypeVar("DataT")
OptionsT = TypeVar("OptionsT")
ResultT = TypeVar("ResultT")
OptionNames = ParamSpec("OptionNames")

# Names in one comma-separated text, or several such texts.
Names = str | Sequence[str]

# A path, or the address of a remote file.
FilePath = str | Path

FilePaths = FilePath | Sequence[FilePath]

# Called with a stage, the number of steps done and their total; (stage, 0, 0) announces a stage.
Progress = Callable[[str, int, int], None]

DATA_PANEL = "Data"
PERTURBED_PAIRS = "perturbed"
HUMAN_PAIRS = "human"
GIVEN_PAIRS = "given"

_LARGEST_COUNT = 10_000_000
_LARGEST_SEED = 2**63 - 1
_LARGEST_WORKERS = 4096
_SIZE_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

# The command that is running and the options it was given; a run folder records them for `resume`.
CURRENT_COMMAND: ContextVar[Mapping[str, Any] | None] = ContextVar("current_command", default=None)
# The run folder in which the running command keeps finished parts; None where it keeps nothing.
RESUMABLE_RUN: ContextVar[str | None] = ContextVar("resumable_run", default=None)


@dataclass(frozen=True)
class Option:
    """How a field of an options class appears on the command line: its help text, flags and allowed range."""

    help: str
    flags: tuple[str, ...] = ()
    command_line_type: Any = None
    """The type on the command line, where the Python keyword accepts more."""
    parse: Callable[[Any], Any] | None = None
    """Converts what the command line accepts to the value of the field."""
    metavar: str | None = None
    panel: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    """Ten million where only a minimum is given: more draws or resamples change no result."""


def declare_cli_option(help_text: str, *flags: str, **attributes: Any) -> Option:
    """Return the annotation that makes a field of a class a command-line option. Flags are needed only if
    they differ from the name of the field.
    """
    return Option(help_text, flags, **attributes)


def declare_repeatable_option(
    help_text: str,
    flag: str,
    metavar: str,
    parse_texts: Callable[[Any], Any] | None = None,
    **attributes: Any,
) -> Option:
    """Return the annotation that makes a field of a class a command-line option which may be given several
    times. Without the option, the field is None.
    """

    def parse_values_of_repeated_option(values: list[str]) -> Any:
        """Convert all values of the option, or return None if there are none."""
        return (parse_texts or list)(values) if values else None

    return declare_cli_option(
        help_text,
        flag,
        command_line_type=list[str],
        metavar=metavar,
        parse=parse_values_of_repeated_option,
        **attributes,
    )


class Settings:
    """Base class of groups of options. A group is a frozen dataclass whose fields are annotated with an
    `Option`.
    """

    def __post_init__(self) -> None:
        settings_class: Any = type(self)
        for name, field_option in get_cli_options(settings_class).items():
            value = getattr(self, name)
            if field_option.minimum is not None and value is not None:
                maximum = _LARGEST_COUNT if field_option.maximum is None else field_option.maximum
                check_number_option(name, value, field_option.minimum, maximum)

    def to_dict(self, only_fields_of: Any = None) -> dict[str, Any]:
        """Return the values of all fields by name, or only of the fields of one base class."""
        fields_class: Any = only_fields_of or type(self)
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(fields_class)}


@functools.cache
def get_cli_options(settings_class: Any) -> dict[str, Option]:
    """Return the command-line option of each field of a class, by the name of the field."""
    hints = typing.get_type_hints(settings_class, include_extras=True)
    options: dict[str, Option] = {}
    for field in dataclasses.fields(settings_class):
        annotations = getattr(hints[field.name], "__metadata__", ())
        for annotation in annotations:
            if isinstance(annotation, Option):
                options[field.name] = annotation
    return options


def replace_options_parameter_by_keywords(
    options_class: Callable[OptionNames, OptionsT],
) -> Callable[[Callable[[DataT, OptionsT], ResultT]], Callable[Concatenate[DataT, OptionNames], ResultT]]:
    """Decorate a function with the parameters `data` and `options`, so that callers pass the fields of
    `options` as keywords.

    Type checkers see the fields as keywords of the function, because a dataclass is a callable with exactly
    these parameters.
    """

    def replace_options_parameter(
        function: Callable[[DataT, OptionsT], ResultT],
    ) -> Callable[Concatenate[DataT, OptionNames], ResultT]:
        signature = _build_keyword_signature(function, options_class)
        names = list(signature.parameters)[1:]

        @functools.wraps(function)
        def call_with_keywords(
            data: DataT, /, *args: OptionNames.args, **keywords: OptionNames.kwargs
        ) -> ResultT:
            unknown = sorted(set(keywords) - set(names))
            if unknown:
                raise UnknownName(f"option of {function.__name__}", unknown[0], names)
            try:
                return function(data, options_class(*args, **keywords))
            except InputError as error:
                if CURRENT_COMMAND.get() is None:
                    error.replace_cli_options_in_message()
                raise

        call_with_keywords.__signature__ = signature  # type: ignore[attr-defined]
        return call_with_keywords

    return replace_options_parameter


def _build_keyword_signature(function: Callable[..., Any], options_class: Any) -> inspect.Signature:
    """Build the signature of a function of `data` and `options`, with keywords in place of `options`."""
    hints = typing.get_type_hints(options_class)
    data_parameter = next(iter(inspect.signature(function).parameters.values()))
    keywords = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(options_class)
    ]
    return inspect.Signature([data_parameter, *keywords])


def check_number_option(option_name: str, value: Any, minimum: float, maximum: float) -> None:
    """Raise an error unless the value of an option is a number between `minimum` and `maximum`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{option_name} is {value!r}, which is not a number.")
    if not value >= minimum:
        raise InputError(f"{option_name} is {value}; it must be at least {minimum:g}.")
    if value > maximum:
        raise InputError(f"{option_name} is {value}; it must be at most {maximum:,.0f}.")


def check_seed_and_worker_count(*, seed: Any = None, workers: Any = None) -> None:
    """Raise an error unless the seed and the number of workers are valid."""
    if seed is not None:
        check_number_option("seed", seed, 0, _LARGEST_SEED)
    if workers is not None:
        check_number_option("workers", workers, 1, _LARGEST_WORKERS)


def parse_byte_size(text: str) -> int:
    """Convert a size such as `4GB` to bytes.

    >>> parse_byte_size("4GB"), parse_byte_size("1.5 GiB")
    (4000000000, 1610612736)
    """
    match = re.fullmatch(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*([MGT]i?B)\s*", text, re.IGNORECASE)
    size = 0 if match is None else int(float(match[1]) * _SIZE_UNITS[match[2].upper()])
    if size < _SIZE_UNITS["MB"]:
        raise InputError(f"memory is {text!r}, which is not a size.", remedy="Write it as 4GB or 500MB.")
    return size


def parse_comma_separated_list(text: str | None) -> list[str] | None:
    """Split a text at commas that are not in parentheses. None is returned unchanged."""
    return None if text is None else split_at_commas(text)


def parse_name_value_pairs(assignments: Sequence[str]) -> dict[str, str]:
    """Convert `["item=seg_id"]` to `{"item": "seg_id"}`."""
    values: dict[str, str] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{text!r} is not NAME=VALUE.")
        values[name.strip()] = value
    return values


def parse_column_filters(filters: Sequence[str]) -> dict[str, list[str]]:
    """Convert `["domain=news", "domain=social"]` to `{"domain": ["news", "social"]}`."""
    accepted: dict[str, list[str]] = {}
    for text in filters:
        for name, value in parse_name_value_pairs([text]).items():
            accepted.setdefault(name, []).append(value)
    return accepted


def split_comma_separated_names(names: Names | None) -> tuple[str, ...]:
    """Split one or several texts of comma-separated names into single names. Commas in parentheses do not
    split.
    """
    if names is None:
        return ()
    texts = [names] if isinstance(names, str) else names
    return tuple(name for text in texts for name in split_at_commas(text))


def get_single_human_name(names: Names | None) -> str | None:
    """Return the human score that the option `human` names, or None. Several names raise an error, because
    most commands compare metrics with one human score.
    """
    distinct_names = list(dict.fromkeys(split_comma_separated_names(names)))
    if len(distinct_names) > 1:
        raise InputError(
            f"--human names several human scores: {', '.join(distinct_names)}.",
            remedy="Name one human column.",
        )
    return next(iter(distinct_names), None)


def are_pairs_read_from_table(pairs_option: Any) -> bool:
    """Return whether the option `pairs` names a table of pairs, not one of the built-in kinds of pairs."""
    if not isinstance(pairs_option, str):
        return True
    if pairs_option in {PERTURBED_PAIRS, HUMAN_PAIRS}:
        return False
    if not is_remote_path(pairs_option) and not Path(pairs_option).exists():
        raise UnknownName("kind or file of pairs", pairs_option, (PERTURBED_PAIRS, HUMAN_PAIRS))
    return True


@dataclass(frozen=True, kw_only=True)
class RunOptions(Settings):
    """Options that say how a command runs and where it writes. Of these, only `seed` can change results."""

    seed: int = 0
    workers: int | None = None
    out: str | Path | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seed_and_worker_count(seed=self.seed, workers=self.workers)


@dataclass(frozen=True, kw_only=True)
class TableReadOptions(Settings):
    """Options that say how a table is read."""

    task: Annotated[
        TaskChoice,
        declare_cli_option(
            "Kind of data: mt, asr, ranking, text or a task of a plug-in. By default "
            "guessed from the columns.",
            command_line_type=str | None,
            panel=DATA_PANEL,
        ),
    ] = None
    columns: Annotated[
        Mapping[str, str] | None,
        declare_repeatable_option(
            "Use COLUMN for ROLE if its name is not recognised, for example item=seg_id. Repeatable.",
            "--column",
            "ROLE=COLUMN",
            parse_name_value_pairs,
            panel=DATA_PANEL,
        ),
    ] = None
    where: Annotated[
        Mapping[str, Names] | None,
        declare_repeatable_option(
            "Read only rows with this value in this column. Repeatable.",
            "--where",
            "COLUMN=VALUE",
            parse_column_filters,
            panel=DATA_PANEL,
        ),
    ] = None
    systems: Annotated[
        Sequence[str] | None,
        declare_cli_option(
            "Read only these systems, comma-separated.",
            command_line_type=str | None,
            parse=parse_comma_separated_list,
            panel=DATA_PANEL,
        ),
    ] = None
    exclude_systems: Annotated[
        Sequence[str] | None,
        declare_cli_option(
            "Leave out these systems, comma-separated.",
            command_line_type=str | None,
            parse=parse_comma_separated_list,
            panel=DATA_PANEL,
        ),
    ] = None
    join: Annotated[
        FilePaths | None,
        declare_repeatable_option(
            "Add the columns of FILE to the rows with the same ids. Repeatable.",
            "--join",
            "FILE",
            panel=DATA_PANEL,
        ),
    ] = None
    quoting: Annotated[
        str,
        declare_cli_option(
            "Whether quotes enclose cells of CSV and TSV files: minimal (they may) or none (they are text).",
            panel=DATA_PANEL,
        ),
    ] = "minimal"
    language: Annotated[
        str | None,
        declare_cli_option(
            "Language of the outputs, such as en. By default read from the column lp.", panel=DATA_PANEL
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class OutputReadOptions(TableReadOptions):
    """Options that say how a table with outputs of systems is read."""

    references: Annotated[
        str,
        declare_cli_option(
            "Whether all outputs of an item have the same references (per-item) or their own (per-output).",
            panel=DATA_PANEL,
        ),
    ] = "per-item"
    qrels: Annotated[
        FilePath | None,
        declare_cli_option(
            "Rankings: file of relevance judgements, or of ratings by users.",
            panel=DATA_PANEL,
        ),
    ] = None
    complete: Annotated[
        bool,
        declare_cli_option(
            "Rankings: count a judged topic for which a system has no list as 0, or leave it out.",
            "--complete/--incomplete",
            panel=DATA_PANEL,
        ),
    ] = True
    relevant_from: Annotated[
        float, declare_cli_option("Rankings: lowest rating that counts as relevant.", panel=DATA_PANEL)
    ] = 4.0
    human: Annotated[
        Names | None,
        declare_cli_option(
            "Columns of human scores, comma-separated. By default known names such as mqm.",
            panel=DATA_PANEL,
        ),
    ] = None
