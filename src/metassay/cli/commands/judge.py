"""`metassay judge`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import print_result
from metassay.errors import InputError
from metassay.workflows.options import JudgeSettings

EXAMPLE = "metassay judge verdicts.csv --context domain"
COMMON_OPTIONS = (
    "people",
    "context",
    "family",
    "columns",
    "judge",
    "llm_url",
    "llm_model",
    "llm_local",
    "out",
    "json",
)


def run_judge_command(
    data_options: DataOptions,
    output_options: OutputOptions,
    llm_options: LlmOptions,
    judge_options: JudgeSettings,
) -> None:
    """Measure how often an LLM judge agrees with people, and what it prefers."""
    from metassay.workflows.judge import judge

    if not data_options.data:
        raise InputError("no data was named.", remedy="Name a table with the columns item, judge and winner.")
    if data_options.systems or data_options.exclude_systems:
        raise InputError(
            "a verdict may be about two systems, so judge does not select systems.",
            remedy="Select rows with --where COLUMN=VALUE.",
        )
    result = judge(
        data_options.data,
        **judge_options.to_dict(),
        join=data_options.join,
        columns=data_options.columns,
        where=data_options.where,
        quoting=data_options.quoting,
        language=data_options.language,
        seed=output_options.seed,
        out=output_options.out,
        llm=llm_options.build_llm_settings(),
    )
    print_result(result, json=output_options.json, verbose=output_options.verbose, folder=output_options.out)
