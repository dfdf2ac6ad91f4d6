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


def run_judge(data: DataOptions, output: OutputOptions, model: LlmOptions, settings: JudgeSettings) -> None:
    """Measure how often an LLM judge agrees with people, and what it prefers."""
    from metassay.workflows.judge import judge

    if not data.data:
        raise InputError("no data was named.", remedy="Name a table with the columns item, judge and winner.")
    if data.systems or data.exclude_systems:
        raise InputError(
            "a verdict may be about two systems, so judge does not select systems.",
            remedy="Select rows with --where COLUMN=VALUE.",
        )
    result = judge(
        data.data,
        **settings.to_dict(),
        join=data.join,
        columns=data.columns,
        where=data.where,
        quoting=data.quoting,
        language=data.language,
        seed=output.seed,
        out=output.out,
        llm=model.build_settings(),
    )
    print_result(result, json=output.json, verbose=output.verbose, folder=output.out)
