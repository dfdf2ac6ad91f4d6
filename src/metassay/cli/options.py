"""Options that several commands share, as dataclasses that a command takes whole."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metassay.errors import InputError

if TYPE_CHECKING:
    from metassay.data.dataset import Dataset

DATA, OUTPUT, LLM = "Data", "Output", "Language model"


def _option(*names: str, text: str, panel: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


@dataclass(frozen=True)
class DataOptions:
    """Which data, and how to read it."""

    data: Annotated[
        list[str], typer.Argument(help="Files or folders, or - for standard input.", metavar="DATA")
    ] = field(default_factory=list)
    task: Annotated[str | None, _option("--task", text="mt, asr or ranking; else guessed.", panel=DATA)] = (
        None
    )
    column: Annotated[
        list[str],
        _option("--column", text="ROLE=COLUMN, such as item=seg_id.", panel=DATA, metavar="ROLE=COLUMN"),
    ] = field(default_factory=list)
    where: Annotated[
        list[str], _option("--where", text="Keep rows with this value.", panel=DATA, metavar="COLUMN=VALUE")
    ] = field(default_factory=list)
    systems: Annotated[str | None, _option("--systems", text="Only these, comma-separated.", panel=DATA)] = (
        None
    )
    exclude_systems: Annotated[
        str | None, _option("--exclude-systems", text="Without these, comma-separated.", panel=DATA)
    ] = None
    join: Annotated[list[str], _option("--join", text="Add columns of FILE by shared keys.", panel=DATA)] = (
        field(default_factory=list)
    )
    quoting: Annotated[str, _option("--quoting", text="minimal or none (CSV, TSV).", panel=DATA)] = "minimal"
    references: Annotated[
        str, _option("--references", text="per-item, or per-output where rows may differ.", panel=DATA)
    ] = "per-item"
    language: Annotated[
        str | None, _option("--language", text="Target language, such as en.", panel=DATA)
    ] = None
    reference: Annotated[
        list[str], _option("--reference", "-r", text="Plain text: a file of references.", panel=DATA)
    ] = field(default_factory=list)
    hypothesis: Annotated[
        list[str], _option("--hypothesis", text="Plain text: a file per system; more may follow.", panel=DATA)
    ] = field(default_factory=list)
    source: Annotated[str | None, _option("--source", text="Plain text: a file of sources.", panel=DATA)] = (
        None
    )

    qrels: Annotated[
        str | None, _option("--qrels", text="Rankings: judgements, or a log of ratings.", panel=DATA)
    ] = None
    complete: Annotated[
        bool,
        _option(
            "--complete/--incomplete",
            text="Rankings: judged topics without a list count as 0, or are left out.",
            panel=DATA,
        ),
    ] = True
    relevant_from: Annotated[
        float, _option("--relevant-from", text="Ratings: relevant from here on.", panel=DATA)
    ] = 4.0

    def read(self) -> Dataset:
        """The data set that the options name."""
        from metassay.workflows.read import read, read_plain

        if self.reference or self.hypothesis:
            hypotheses = [*self.hypothesis, *self.data]
            return read_plain(self.reference, hypotheses, self.source, task=self.task, language=self.language)
        if not self.data:
            raise InputError("no data was named.", remedy="Name a file, or try: metassay demo")
        return read(
            self.data,
            **self._choices(),
            task=self.task,
            references=self.references,
            language=self.language,
            qrels=self.qrels,
            complete=self.complete,
            relevant_from=self.relevant_from,
        )

    def score_reading(self) -> dict[str, Any]:
        """The keywords of verbs that work on scores."""
        return {**self._choices(), "reference": self.reference}

    def _choices(self) -> dict[str, Any]:
        return {
            "columns": assignments(self.column, "--column"),
            "where": accepted_values(self.where),
            "systems": comma_list(self.systems),
            "exclude_systems": comma_list(self.exclude_systems),
            "join": self.join or None,
            "quoting": self.quoting,
        }


@dataclass(frozen=True)
class OutputOptions:
    """Where results go, and how much is said."""

    json: Annotated[bool, _option("--json", text="One JSON object on standard output.", panel=OUTPUT)] = False
    seed: Annotated[int, _option("--seed", text="Same seed, same bytes.", panel=OUTPUT)] = 0
    out: Annotated[
        Path | None, _option("--out", "-o", text="Run folder; one of the same run is resumed.", panel=OUTPUT)
    ] = None
    workers: Annotated[int | None, _option("--workers", text="Threads; default all cores.", panel=OUTPUT)] = (
        None
    )
    quiet: Annotated[bool, _option("--quiet", "-q", text="No progress.", panel=OUTPUT)] = False


@dataclass(frozen=True)
class LlmOptions:
    """Which language model to ask, for the perturbation `llm` or as judge; the key is in the environment."""

    llm_url: Annotated[
        str | None,
        _option("--llm-url", text="OpenAI-compatible address; key in METASSAY_LLM_KEY.", panel=LLM),
    ] = None
    llm_model: Annotated[str | None, _option("--llm-model", text="Name of the model there.", panel=LLM)] = (
        None
    )
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

    def settings(self) -> Any:
        """The settings of the workflow; None where no model was named."""
        from metassay.workflows.llm_settings import llm_settings

        return llm_settings(
            self.llm_url,
            self.llm_model,
            self.llm_local,
            self.llm_prompt,
            self.llm_concurrency,
            self.prices,
            self.budget,
        )


def comma_list(text: str | None) -> list[str] | None:
    """Parts between commas; None where the option was not used."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    """`["item=seg_id"]` as a dict."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{option} {text!r} is not NAME=VALUE.")
        found[name.strip()] = value
    return found


def criteria(texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """`["licence:bleu=1,comet=0"]` as numbers per metric, one entry a criterion."""
    found: dict[str, dict[str, float]] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        numbers = assignments([part for part in rest.split(",") if part], "--criterion")
        try:
            found[name] = {metric: float(number) for metric, number in numbers.items()}
        except ValueError:
            colon = ""
        if not colon or not numbers:
            raise InputError(f"--criterion {text!r} is not NAME:METRIC=NUMBER,….")
    return found


def accepted_values(texts: Sequence[str]) -> dict[str, list[str]]:
    """`["domain=news", "domain=social"]` as one list of accepted values per column."""
    found: dict[str, list[str]] = {}
    for text in texts:
        for name, value in assignments([text], "--where").items():
            found.setdefault(name, []).append(value)
    return found


def expanded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with each parameter that is an options dataclass replaced by its fields.

    A command can then take `data: DataOptions`, and the parser sees the single options.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += _field_parameters(groups[name])
        else:
            keyword = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            parameters.append(keyword)

    @functools.wraps(function)
    def call(**values: Any) -> Any:
        for name, kind in groups.items():
            values[name] = kind(**{f.name: values.pop(f.name) for f in dataclasses.fields(kind)})
        return function(**values)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _field_parameters(group: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    found = []
    for option in dataclasses.fields(group):
        default = [] if option.default is dataclasses.MISSING else option.default
        kind = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(option.name, kind, default=default, annotation=hints[option.name]))
    return found
