"""`judge`: measure how far judges can be trusted, and which families of systems they favour."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from metassay.data.directions import RequestedDirections
from metassay.data.reading import Source
from metassay.data.summary import summarize_verdicts
from metassay.data.verdict_types import GRADE
from metassay.data.verdicts import VerdictTable, parse_verdicts
from metassay.errors import UnknownName
from metassay.llm.asker import Asker
from metassay.llm.settings import LlmSettings
from metassay.meta.judges.agreement import TIES
from metassay.meta.judges.analysis import measure_judge_accuracy_and_biases
from metassay.metrics.judge import Judge
from metassay.options import replace_options_parameter_by_keywords, split_comma_separated_names
from metassay.reporting.judge_page import (
    build_judge_page,
    describe_judge_result,
    describe_verdicts_not_compared_with_people,
    list_main_findings_on_judges,
)
from metassay.reporting.result_display import ResultDisplay
from metassay.results.judge import AskedModel, JudgeContent, JudgeEntry
from metassay.store.run_folder import RunFolder
from metassay.workflows.ask_judge import (
    ask_judge_about_rows,
    choose_llm_judge,
    compute_price_of_model_answers,
)
from metassay.workflows.options import JudgeOptions
from metassay.workflows.perturb import cache_llm_answers_in_run_folder
from metassay.workflows.run_files import VERDICTS, write_result_to_run_folder
from metassay.workflows.verdict_files import hash_verdict_rows, read_verdicts

_ONE_OUTPUT_PER_ITEM = (
    "Each item has one output, so outputs of different items are compared. A judge that only recognises which"
    " items are easy is right in more than half of such pairs."
)
NESTED_FIELDS = ("corrected", "intervals")


class JudgeResult(ResultDisplay, JudgeContent, frozen=True, kw_only=True):
    """Result of `judge`: how well judges agree with human labels, with each other, and with their own
    repeated verdicts.
    """

    build_page = build_judge_page
    describe_result_for_terminal = describe_judge_result

    def to_frame(self) -> pl.DataFrame:
        """Return a table with one row per judge and one column for each measure of reliability."""
        return pl.DataFrame(
            [_build_table_row_of_judge(entry) for entry in self.judges], infer_schema_length=None
        )

    def describe(self) -> list[str]:
        """Return the sentences about the judges that stand at the top of the report page and of the terminal
        output.

        >>> rows = [{"item": n, "judge": "j", "winner": 1, "better": 1 + n % 2} for n in range(40)]
        >>> judge(pl.DataFrame(rows)).describe()[0].partition(".")[0]
        'No judge is shown to agree with people better than chance'
        """
        return [claim.sentence for claim in self.verdict]


def _build_table_row_of_judge(judge_result: JudgeEntry) -> dict[str, Any]:
    """Build the table row of one judge."""
    row = {
        name: value
        for name, value in msgspec.structs.asdict(judge_result).items()
        if name not in NESTED_FIELDS
    }
    return row | {"corrected": None if judge_result.corrected is None else judge_result.corrected.value}


@replace_options_parameter_by_keywords(JudgeOptions)
def judge(verdicts: Source, options: JudgeOptions) -> JudgeResult:
    """Measure how reliable LLM judges and human raters are, from a table of their verdicts.

    Each row of the table is a verdict: `item, judge, winner` for the better of two outputs, or `item, judge,
    score` for one output. Tables without a column of judges, such as pairs with the better output or human
    scores, are joined to it by the columns that they share.

    - `llm` says which language model to ask for verdicts first. It is asked `repeats` times about every row
      of a table of pairs (`output_1, output_2`) or of outputs, in the way that `judge` says, such as
      `"judge(mode=pairwise)"`.
    - `human` names the column of human labels with which judges are compared.
    - `people` names the columns or judges that are single people. The alternative annotator test compares the
      judges with them, and `epsilon` is how much worse than a person a judge may be.
    - `family` names the column of the model family of each system, to find out whether judges favour their
      own.
    - `context` names columns within whose values accuracy is measured as well.
    - `ties` says how a verdict counts that changes with the order of the two outputs: half right (`"half"`)
      or wrong (`"strict"`). With `"judgebench"` the verdicts in both orders are added up, so that a
      preference and a tie count as the preference.
    - `verdict_type` is `"pairwise"`, `"grade"` (ordered numbers) or `"label"` (unordered). By default it is
      guessed from the table.
    - `letters` says whether the winners A and B name outputs or positions. By default it is guessed from the
      table.
    - `lower_is_better` and `higher_is_better` name columns of grades, to say which direction is good.
    - `out` is a folder for the report page and the result as JSON and CSV.

    >>> verdicts = [{"item": n, "judge": "j", "winner": 1 + n % 2, "better": 1} for n in range(10)]
    >>> judge(pl.DataFrame(verdicts)).judges[0].accuracy
    0.5
    """
    if options.ties not in TIES:
        raise UnknownName("treatment of ties", options.ties, TIES)
    judge_column = (options.columns or {}).get("judge")
    source = read_verdicts(
        verdicts, join=options.join, where=options.where, quoting=options.quoting, judge_column=judge_column
    )
    model_judge = None
    if options.llm is not None:
        model_judge = choose_llm_judge(options.judge, source.frame).fill_missing_model_name(options.llm)
    run = _create_or_resume_run_folder(source.frame, model_judge, options)
    frame = source.frame
    notes = list(source.notes)
    asked = None
    if model_judge is not None and options.llm is not None:
        frame, asked, model_notes = _ask_model_for_verdicts(
            source.frame, model_judge, options.llm, run, options
        )
        notes += model_notes
    table = _parse_verdict_rows(frame, source.file, options, is_from_model=asked is not None)
    notes += table.notes
    analysis = measure_judge_accuracy_and_biases(
        table,
        contexts=None if options.context is None else split_comma_separated_names(options.context),
        ties=options.ties,
        epsilon=options.epsilon,
        seed=options.seed,
        price=None if asked is None else asked.cost,
    )
    if analysis.compares_items and table.gold is not None:
        notes.append(_ONE_OUTPUT_PER_ITEM)
    summary = summarize_verdicts(table, frame)
    notes += describe_verdicts_not_compared_with_people(summary)
    result = JudgeResult(
        kind=table.kind,
        gold=table.gold,
        ties=options.ties,
        items=analysis.items,
        compares_items=analysis.compares_items,
        judges=analysis.judges,
        contexts=analysis.contexts,
        alt_test=analysis.alt_test,
        self_preference=analysis.self_preference,
        drift=analysis.drift,
        asked=asked,
        notes=notes,
        data=summary,
    )
    result = msgspec.structs.replace(result, verdict=list_main_findings_on_judges(result))
    if run is not None:
        write_result_to_run_folder(run, "judge", result, None if asked is None else {VERDICTS: frame})
    return result


def _parse_verdict_rows(
    verdict_rows: pl.DataFrame, file: str, options: JudgeOptions, *, is_from_model: bool
) -> VerdictTable:
    """Parse the verdicts in the rows of a table. `is_from_model` says whether a language model was asked for
    them in this run.
    """
    verdict_type = options.verdict_type
    # A few whole numbers could also be labels, as far as the table shows.
    if verdict_type is None and is_from_model and "winner" not in verdict_rows.columns:
        verdict_type = GRADE  # our prompts ask for numbers of which higher is better
    return parse_verdicts(
        verdict_rows,
        columns=options.columns,
        human=options.human,
        raters=split_comma_separated_names(options.people),
        family=options.family,
        verdict_type=verdict_type,
        letters=options.letters,
        directions=RequestedDirections.parse_direction_options(
            options.lower_is_better, options.higher_is_better
        ),
        file=file,
    )


def _create_or_resume_run_folder(
    rows_to_judge: pl.DataFrame, model_judge: Judge | None, options: JudgeOptions
) -> RunFolder | None:
    """Create a run folder for the results where the user wants it, or resume the run that is already there.
    Returns None if the user named no folder.

    The options and the rows of the table, in any order, identify the run.
    """
    if options.out is None:
        return None
    configuration: dict[str, Any] = {
        "ties": options.ties,
        "epsilon": options.epsilon,
        "seed": options.seed,
        "family": options.family,
        "verdict_type": options.verdict_type,
        "letters": options.letters,
        "lower_is_better": list(split_comma_separated_names(options.lower_is_better)),
        "higher_is_better": list(split_comma_separated_names(options.higher_is_better)),
        "people": list(split_comma_separated_names(options.people)),
        "context": None if options.context is None else list(split_comma_separated_names(options.context)),
    }
    if model_judge is not None:
        configuration["judge"] = model_judge.signature
        configuration["repeats"] = options.repeats
        configuration["language"] = options.language
    inputs = {"table": hash_verdict_rows(rows_to_judge)}
    identity = {"command": "judge", "configuration": configuration, "inputs": inputs}
    return RunFolder.open_for_writing(options.out, identity)


def _ask_model_for_verdicts(
    rows_to_judge: pl.DataFrame,
    model_judge: Judge,
    llm_settings: LlmSettings,
    run_folder: RunFolder | None,
    options: JudgeOptions,
) -> tuple[pl.DataFrame, AskedModel, list[str]]:
    """Ask a language model about every row of a table. Returns the rows with verdicts, a summary of what was
    asked, and notes for the user.
    """
    asker = Asker.from_settings(cache_llm_answers_in_run_folder(llm_settings, run_folder) or llm_settings)
    rows_to_judge, connected_judge = ask_judge_about_rows(
        rows_to_judge, model_judge, asker, repeats=options.repeats, language=options.language
    )
    asked = AskedModel(
        judge=connected_judge.spec,
        signature=connected_judge.signature,
        prompt=connected_judge.prompt_text,
        cost=compute_price_of_model_answers(asker),
    )
    return rows_to_judge, asked, list(connected_judge.list_notes_on_scores())
