"""Groups of options that several commands share. A command takes each group as one argument."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metassay.cli.parameters import TYPED_ARGUMENTS
from metassay.errors import InputError
from metassay.options import (
    DATA_PANEL,
    OutputReadOptions,
    Settings,
    check_seed_and_worker_count,
    declare_cli_option,
    parse_byte_size,
)

if TYPE_CHECKING:
    from metassay.data.dataset import Dataset
    from metassay.llm.settings import LlmSettings
    from metassay.workflows.options import ScoreReadOptions

OUTPUT_PANEL = "Output"
LLM_PANEL = "Language model"

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Print all tables and notes.")]
MetricFilesOption = Annotated[
    list[str],
    typer.Option(
        "--metric-file", help="Load your own metric: FILE.py:NAME or a program. Repeatable.", metavar="FILE"
    ),
]
_NAMED_LIKE_A_REFERENCE = re.compile(r"(?<![a-z])(ref[a-z]?|references?|gold)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class DataOptions(OutputReadOptions):
    """Command-line options that name the data and say how it is read."""

    data: Annotated[
        list[str], typer.Argument(help="Files, folders or addresses; - is standard input.", metavar="DATA")
    ] = field(default_factory=list)
    reference: Annotated[
        list[str],
        declare_cli_option(
            "Plain text: file of references, one per line. Repeatable.", "--reference", "-r", panel=DATA_PANEL
        ),
    ] = field(default_factory=list)
    hypothesis: Annotated[
        list[str],
        declare_cli_option(
            "Plain text: files of outputs, one file per system.", "--hypothesis", "-i", panel=DATA_PANEL
        ),
    ] = field(default_factory=list)
    source: Annotated[
        str | None, declare_cli_option("Plain text: file of source texts, one per line.", panel=DATA_PANEL)
    ] = None

    @property
    def has_plain_text_files(self) -> bool:
        """Whether the user named plain text files, one line per item, instead of tables."""
        return bool(self.reference or self.hypothesis)

    def read_dataset(self) -> Dataset:
        """Read the outputs that the command line names, from tables or plain text files."""
        from metassay.workflows.read import read, read_parallel_files

        if self.has_plain_text_files:
            references, hypotheses = self._find_plain_text_files()
            dataset = read_parallel_files(
                references, hypotheses, self.source, task=self.task, language=self.language, join=self.join
            )
        elif self.data:
            dataset = read(self.data, **self.to_dict(OutputReadOptions))
        else:
            raise InputError("no data was named.", remedy="Name a file, or try: metassay demo")
        return _print_guessed_task(dataset)

    def get_score_data_and_read_options(self, read_options: ScoreReadOptions) -> tuple[Any, dict[str, Any]]:
        """Return the data for a command that compares scores, such as `rank`, and the options for reading it.

        Plain text files are read here. A reference that is no file is the name of one in mt-metrics-eval.
        """
        options = read_options.to_dict()
        has_reference_files = bool(self.reference) and all(Path(name).is_file() for name in self.reference)
        if not self.hypothesis and not has_reference_files:
            return self.data, options
        return self.read_dataset(), options | {"reference": (), "join": None}

    def read_output_pairs(self, table_file: str) -> Dataset:
        """Read a table of pairs of a better and a worse output."""
        from metassay.workflows.read import read

        if self.data or self.has_plain_text_files:
            raise InputError("--pairs FILE and DATA exclude each other.", remedy="Leave DATA out.")
        dataset = read(table_file, **self.to_dict(OutputReadOptions), pairs=True)
        return _print_guessed_task(dataset)

    def _find_plain_text_files(self) -> tuple[list[str], list[str]]:
        """Return the files with references and the files with outputs. They can be typed in the same order as
        for sacrebleu.
        """
        if not self.reference:
            # `sacrebleu REFERENCE -i OUTPUT` names the reference first; any other order is ambiguous.
            is_first = len(self.data) == 1 and TYPED_ARGUMENTS.get()[:1] == tuple(self.data)
            if not is_first:
                raise InputError(
                    "it is not clear which file is the reference.", remedy="Name it: --reference FILE"
                )
            print(f"{self.data[0]} is used as the reference.", file=sys.stderr)
            return self.data, self.hypothesis
        hypotheses = [*self.hypothesis, *self.data]
        if not hypotheses:
            # On a terminal, reading would wait for the user without saying so.
            if sys.stdin is None or sys.stdin.isatty():
                raise InputError("no outputs were named.", remedy="Name a file of outputs.")
            hypotheses = ["-"]
        for file in hypotheses:
            if _NAMED_LIKE_A_REFERENCE.search(file.rpartition("/")[2]):
                print(
                    f"Note: {file} is scored as a system, although its name suggests a reference. To use it"
                    " as the reference, add --reference.",
                    file=sys.stderr,
                )
        return self.reference, hypotheses


def _print_guessed_task(dataset: Dataset) -> Dataset:
    """Print the task, such as translation, if it was guessed from the data. Returns the data unchanged."""
    if dataset.task_guess is not None:
        print(dataset.task_guess, file=sys.stderr)
    return dataset


@dataclass(frozen=True)
class OutputOptions(Settings):
    """Command-line options for output files, printing, memory and the number of threads."""

    json: Annotated[
        bool, declare_cli_option("Print the result as one JSON object.", "--json", panel=OUTPUT_PANEL)
    ] = False
    seed: Annotated[
        int,
        declare_cli_option(
            "Seed of random numbers. The same seed gives the same results.", panel=OUTPUT_PANEL
        ),
    ] = 0
    out: Annotated[
        str | None,
        declare_cli_option(
            "Write the results to this run folder. An interrupted run of the same command is resumed.",
            "--out",
            "-o",
            metavar="FOLDER",
            panel=OUTPUT_PANEL,
        ),
    ] = None
    workers: Annotated[
        int | None,
        declare_cli_option(
            "Number of threads for metrics and statistics. By default one per core. Reading"
            " and reports use one.",
            panel=OUTPUT_PANEL,
        ),
    ] = None
    memory: Annotated[
        str | None,
        declare_cli_option(
            "Approximate limit of memory use, such as 500MB. By default 4GB.",
            metavar="SIZE",
            panel=OUTPUT_PANEL,
        ),
    ] = None
    quiet: Annotated[bool, declare_cli_option("Print no progress.", "--quiet", "-q", panel=OUTPUT_PANEL)] = (
        False
    )
    verbose: Annotated[
        bool, declare_cli_option("Print all tables and notes.", "--verbose", "-v", panel=OUTPUT_PANEL)
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seed_and_worker_count(seed=self.seed, workers=self.workers)
        if self.memory is not None:
            size = parse_byte_size(self.memory)
            from metassay.workflows.read import set_memory_target

            set_memory_target(size)


@dataclass(frozen=True)
class LlmOptions(Settings):
    """Command-line options that choose a language model and limit its use."""

    llm_url: Annotated[
        str | None,
        declare_cli_option(
            "Address of an OpenAI-compatible server. The key is read from METASSAY_LLM_KEY.", panel=LLM_PANEL
        ),
    ] = None
    llm_model: Annotated[
        str | None, declare_cli_option("Name of the model on the server.", panel=LLM_PANEL)
    ] = None
    llm_local: Annotated[
        str | None,
        declare_cli_option("Model on this machine, by name or path, instead of a server.", panel=LLM_PANEL),
    ] = None
    llm_prompt: Annotated[Path | None, declare_cli_option("File with your own prompt.", panel=LLM_PANEL)] = (
        None
    )
    llm_concurrency: Annotated[
        int, declare_cli_option("Number of simultaneous requests.", panel=LLM_PANEL, minimum=1, maximum=1000)
    ] = 8
    prices: Annotated[
        Path | None,
        declare_cli_option("JSON file with the price of a million tokens, by model.", panel=LLM_PANEL),
    ] = None
    budget: Annotated[
        float | None, declare_cli_option("Stop before this run costs more. Needs --prices.", panel=LLM_PANEL)
    ] = None

    def build_llm_settings(self) -> LlmSettings | None:
        """Return the settings of the language model, or None if the user named no model."""
        from metassay.workflows.perturb import build_llm_settings

        return build_llm_settings(
            self.llm_url,
            self.llm_model,
            self.llm_local,
            self.llm_prompt,
            self.llm_concurrency,
            self.prices,
            self.budget,
        )
