"""Options that several commands share, as dataclasses that a command takes whole."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
import sys
import typing
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metassay.errors import InputError
from metassay.options import (
    CURRENT_COMMAND,
    DATA_PANEL,
    Option,
    OutputReadOptions,
    check_execution_options,
    check_number,
    get_options,
    parse_size,
)

if TYPE_CHECKING:
    from metassay.data.dataset import Dataset

OUTPUT, LLM = "Output", "Language model"
COMPLETED = ("metrics", "perturbations", "contexts", "context", "task", "human", "systems")
"""Options whose values the shell can offer."""
_REFERENCE_NAME = re.compile(r"(?<![a-z])(ref[a-z]?|references?|gold)(?![a-z])", re.IGNORECASE)
TYPED: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""What was typed after the command: only the order tells `score REFERENCE -i OUTPUT` from the reverse."""


def _option(*names: str, text: str, panel: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


@dataclass(frozen=True)
class DataOptions(OutputReadOptions):
    """Which data, and how to read it."""

    data: Annotated[
        list[str], typer.Argument(help="Files, folders or addresses; - is standard input.", metavar="DATA")
    ] = field(default_factory=list)
    reference: Annotated[
        list[str], _option("--reference", "-r", text="Plain text: a file of references.", panel=DATA_PANEL)
    ] = field(default_factory=list)
    hypothesis: Annotated[
        list[str],
        _option(
            "--hypothesis", "-i", text="Plain text: a file per system; more may follow.", panel=DATA_PANEL
        ),
    ] = field(default_factory=list)
    source: Annotated[
        str | None, _option("--source", text="Plain text: a file of sources.", panel=DATA_PANEL)
    ] = None

    def read(self, pairs: str | None = None) -> Dataset:
        """The data set that the options name, or one of pairs; a guessed task is said on standard error."""
        dataset = self._read() if pairs is None else self._read_pairs(pairs)
        if dataset.task_guess is not None:
            print(dataset.task_guess, file=sys.stderr)
        return dataset

    def _read(self) -> Dataset:
        from metassay.workflows.read import read, read_parallel_files

        if self.reference or self.hypothesis:
            references, hypotheses = self._sides()
            return read_parallel_files(
                references, hypotheses, self.source, task=self.task, language=self.language
            )
        if not self.data:
            raise InputError("no data was named.", remedy="Name a file, or try: metassay demo")
        return read(self.data, **self.keywords())

    def _sides(self) -> tuple[list[str], list[str]]:
        """References and outputs, as sacrebleu takes them: outputs may come on standard input."""
        if not self.reference:  # sacrebleu REFERENCE -i OUTPUT
            if len(self.data) != 1 or TYPED.get()[:1] != tuple(self.data):
                raise InputError(
                    "which of the files is the reference is not said.", remedy="Name it: --reference FILE"
                )
            print(f"{self.data[0]} is taken for the reference.", file=sys.stderr)
            return self.data, self.hypothesis
        hypotheses = [*self.hypothesis, *self.data]
        if not hypotheses:
            if sys.stdin is None or sys.stdin.isatty():
                raise InputError("no outputs were named.", remedy="Name a file of them beside the reference.")
            hypotheses = ["-"]
        for name in hypotheses:
            if _REFERENCE_NAME.search(name.rpartition("/")[2]):
                print(f"Note: {name} is scored as a system, though its name says reference.", file=sys.stderr)
        return self.reference, hypotheses

    def _read_pairs(self, file: str) -> Dataset:
        from metassay.workflows.read import read

        if self.data or self.reference or self.hypothesis:
            raise InputError("pairs that are brought along need no other data.", remedy="Leave DATA out.")
        return read(file, **self.keywords(), pairs=True)

    def keywords(self) -> dict[str, Any]:
        """The keywords of `read`."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(OutputReadOptions)}


@dataclass(frozen=True)
class OutputOptions:
    """Where results go, and how much is said."""

    json: Annotated[bool, _option("--json", text="One JSON object on standard output.", panel=OUTPUT)] = False
    seed: Annotated[int, _option("--seed", text="Same seed, same bytes.", panel=OUTPUT)] = 0
    out: Annotated[
        str | None,
        _option(
            "--out",
            "-o",
            text="Run folder or its address; the same run is resumed.",
            panel=OUTPUT,
            metavar="FOLDER",
        ),
    ] = None
    workers: Annotated[int | None, _option("--workers", text="Threads; default all cores.", panel=OUTPUT)] = (
        None
    )
    memory: Annotated[
        str | None,
        _option("--memory", text="Memory to aim at; default 4GB.", panel=OUTPUT, metavar="SIZE"),
    ] = None
    quiet: Annotated[bool, _option("--quiet", "-q", text="No progress.", panel=OUTPUT)] = False

    def __post_init__(self) -> None:
        check_execution_options(seed=self.seed, workers=self.workers)
        if self.memory is not None:
            size = parse_size(self.memory)
            from metassay.workflows.read import set_memory_target

            set_memory_target(size)


@dataclass(frozen=True)
class LlmOptions:
    """Which language model to ask, for the perturbation `llm` or as judge; the key is in the environment."""

    llm_url: Annotated[
        str | None,
        _option("--llm-url", text="OpenAI-compatible address; key in METASSAY_LLM_KEY.", panel=LLM),
    ] = None
    llm_model: Annotated[
        str | None,
        _option("--llm-model", text="Name of the model there, or for one on this machine.", panel=LLM),
    ] = None
    llm_local: Annotated[
        str | None, _option("--llm-local", text="Or a model on this machine: name or path.", panel=LLM)
    ] = None
    llm_prompt: Annotated[
        Path | None, _option("--llm-prompt", text="File with a prompt of your own.", panel=LLM)
    ] = None
    llm_concurrency: Annotated[int, _option("--llm-concurrency", text="Requests at a time.", panel=LLM)] = 8
    prices: Annotated[
        Path | None, _option("--prices", text="JSON: money per million tokens, by model.", panel=LLM)
    ] = None
    budget: Annotated[
        float | None, _option("--budget", text="The most to spend in this run; needs --prices.", panel=LLM)
    ] = None

    def __post_init__(self) -> None:
        check_number("llm_concurrency", self.llm_concurrency, 1, 1000)

    def settings(self) -> Any:
        """The settings of the workflow; None where no model was named."""
        from metassay.workflows.perturb import llm_settings

        return llm_settings(
            self.llm_url,
            self.llm_model,
            self.llm_local,
            self.llm_prompt,
            self.llm_concurrency,
            self.prices,
            self.budget,
        )


def expanded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with each parameter that is an options dataclass replaced by its fields.

    A command can then take `data: DataOptions, settings: AssaySettings`, and the parser sees the single
    options; one that two groups share is asked for once and given to both.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters |= {found.name: found for found in _field_parameters(groups[name])}
        else:
            keyword = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            parameters[name] = keyword

    @functools.wraps(function)
    def call(**values: Any) -> Any:
        made = {name: _made(kind, values) for name, kind in groups.items()}
        own = {name: values[name] for name in hints if name not in groups}
        given = {
            name: _plain(values[name]) for name, one in parameters.items() if values[name] != one.default
        }
        for name in ("out", "parts"):  # the folder itself, and what one of several processes does
            given.pop(name, None)
        if values.get("workers"):  # polars, which no command has imported yet, would take all cores
            os.environ.setdefault("POLARS_MAX_THREADS", str(values["workers"]))
        token = CURRENT_COMMAND.set({"command": function.__name__.removeprefix("run_"), **given})
        try:
            return function(**made, **own)
        finally:
            CURRENT_COMMAND.reset(token)

    call.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return call


def _plain(value: Any) -> Any:
    """What an option was given, as JSON has it."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    """The group of options, from what the command line took."""
    known = get_options(kind)
    found = {}
    for own in dataclasses.fields(kind):
        value = values[own.name]
        found[own.name] = _parsed(known[own.name], value) if own.name in known else value
    return kind(**found)


def _parsed(known: Option, value: Any) -> Any:
    """What an option holds; an error names the option."""
    if known.parse is None:
        return value
    try:
        return known.parse(value)
    except InputError as error:
        raise InputError(
            f"{(known.flags or ('',))[0]} {error.message}".strip(), remedy=error.remedy
        ) from None


def _field_parameters(group: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    known = get_options(group)
    found = []
    for own in dataclasses.fields(group):
        default = [] if own.default is dataclasses.MISSING else own.default
        annotation = hints[own.name]
        if own.name in known:
            annotation, default = _shown(known[own.name], own.name, annotation, default)
        kind = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(own.name, kind, default=default, annotation=annotation))
    return found


def _shown(known: Option, name: str, annotation: Any, default: Any) -> tuple[Any, Any]:
    """An option of settings as the parser takes it: its type, and the default as it is typed."""
    kind = known.command_line_type or typing.get_args(annotation)[0]
    if kind == list[str] and default is None:
        default = []
    if kind is str and not isinstance(default, str):
        default = ",".join(default)
    flags = known.flags or ("--" + name.replace("_", "-"),)
    shown = typer.Option(
        *flags,
        help=known.help,
        rich_help_panel=known.panel,
        metavar=known.metavar,
        autocompletion=_completing(name),
    )
    return Annotated[kind, shown], default


def _completing(name: str) -> Callable[..., list[str]] | None:
    """What the shell offers for an option; nothing is imported before it asks."""
    if name not in COMPLETED:
        return None

    def complete(incomplete: str) -> list[str]:
        from metassay.cli.app import completions

        return completions(name, incomplete)

    return complete
