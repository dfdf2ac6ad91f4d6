"""`annotate`: choose which items people should rate next, and estimate how many ratings are needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import polars as pl

from metassay.data.annotation_file import (
    TEXT_COLUMNS,
    AnnotationFile,
    OutputToRate,
    format_annotation_file,
)
from metassay.data.columns import (
    TEST_SET_COLUMNS,
    find_reference_columns,
    list_possible_column_names,
    select_columns_by_name,
)
from metassay.data.readers.files import reject_overwriting_inputs
from metassay.data.score_table_reading import read_score_table
from metassay.errors import InputError, UnknownName
from metassay.meta.decisions.item_choice import ChosenItems, choose_items_to_label
from metassay.meta.decisions.sample_size import (
    NeededItems,
    count_items_needed_for_difference,
    count_items_needed_for_interval_width,
)
from metassay.options import replace_options_parameter_by_keywords
from metassay.reporting.annotate_page import (
    build_annotate_page,
    build_annotate_verdict,
    describe_annotate_result,
    explain_items_needed_for_interval_width,
    explain_items_needed_to_show_difference,
    explain_number_of_items_to_rate,
)
from metassay.reporting.result_display import ResultDisplay
from metassay.results.annotate import AnnotateContent, ItemToRate
from metassay.store.files import write_bytes
from metassay.store.remote import convert_to_local_path
from metassay.store.run_folder import RunFolder
from metassay.workflows.labelled_scores import LabelledData, read_labelled_scores
from metassay.workflows.options import AnnotateOptions
from metassay.workflows.read import Source
from metassay.workflows.run_files import write_result_to_run_folder

# The fewest labelled items from which it can be said how many more are needed.
SMALLEST_PILOT = 20
RATINGS_FILE = "ratings.csv"


class AnnotateResult(ResultDisplay, AnnotateContent, frozen=True, kw_only=True):
    """Result of `annotate`: the items that people should rate next, each with the probability of having been
    chosen.
    """

    build_page = build_annotate_page
    describe_result_for_terminal = describe_annotate_result

    def to_frame(self) -> pl.DataFrame:
        """Return a table with one row per item to rate."""
        rows = [[entry.item, entry.probability] for entry in self.items]
        return pl.DataFrame(rows, schema={"item": pl.String, "probability": pl.Float64}, orient="row")


@replace_options_parameter_by_keywords(AnnotateOptions)
def annotate(human_and_metric_scores: Source, options: AnnotateOptions) -> AnnotateResult:
    """Choose the items that people should rate next, so that `estimate` needs few ratings.

    `human_and_metric_scores` has metric scores for every output, and may have human scores for some items.
    Items on which the metrics are likely to be wrong are chosen with a higher probability, which `estimate`
    takes into account.

    Name one goal:

    - `count` is the number of items to choose.
    - `width` is the width of the 95 % interval of every system's mean human score that the ratings should
      reach.
    - `difference` is the difference between two systems that should be detected, with the probability
      `power`.

    The last two are planned from items that have human scores already, of which there must be at least 20.

    - `csv` is the file to write for the raters. When its last column is filled in, pass it as `labels` to
      `estimate`, or to `annotate` to choose further items. By default it is `ratings.csv` in the folder
      `out`.

    >>> rows = [
    ...     {"seg_id": n, "system": system, "M": n % 7 * bonus}
    ...     for n in range(50)
    ...     for system, bonus in (("a", 0.5), ("b", 0.2))
    ... ]
    >>> result = annotate(rows, count=10)
    >>> result.needed, len(result.items)
    (10, 10)
    """
    _check_annotate_options(human_and_metric_scores, options)
    labelled_data = read_labelled_scores(human_and_metric_scores, options, needs_labels=False)
    scores = labelled_data.scores
    labelled = int(scores.labelled_items.sum())
    needed, reason = _count_needed_labels(labelled_data, labelled, options)
    run = _create_or_resume_run_folder(labelled_data, options)
    chosen = None
    if needed > labelled and labelled < len(scores.items):
        chosen = choose_items_to_label(scores, needed - labelled, np.random.default_rng(options.seed))
    items = []
    file = None
    if chosen is not None:
        names = labelled_data.cube.qualified_items
        for position in chosen.positions:
            items.append(ItemToRate(names[position], float(chosen.probabilities[position])))
        if options.csv is not None:
            file = str(options.csv)
        elif options.out is not None:
            file = f"{options.out}/{RATINGS_FILE}"
    result = AnnotateResult(
        needed=needed,
        reason=reason,
        items=items,
        human=labelled_data.human,
        labelled=labelled,
        file=file,
        notes=list(labelled_data.notes),
        data=labelled_data.selected_scores.summary,
    )
    result = msgspec.structs.replace(result, verdict=build_annotate_verdict(result))
    ratings = b""
    if chosen is not None and result.file is not None:
        texts, text_columns = _read_texts_of_outputs(human_and_metric_scores, options)
        ratings = format_annotation_file(_build_annotation_table(labelled_data, chosen, texts, text_columns))
        if options.csv is not None:
            write_bytes(convert_to_local_path(options.csv), ratings)
    if run is not None:
        write_result_to_run_folder(
            run, "annotate", result, {RATINGS_FILE: ratings.decode()} if ratings else None
        )
    return result


def _check_annotate_options(data_source: Source, options: AnnotateOptions) -> None:
    """Raise an error if options are missing or contradict each other."""
    goals = [goal for goal in (options.count, options.width, options.difference) if goal is not None]
    if len(goals) != 1 or goals[0] == 0:
        raise InputError(
            "exactly one of --count, --width and --difference is needed.",
            remedy="One of: --count 100, --width 0.5, --difference 0.3 --power 0.8",
        )
    if options.csv is not None:
        sources = data_source if isinstance(data_source, list | tuple) else [data_source]
        files = [str(source) for source in sources if not isinstance(source, Mapping)]
        inputs = [*files, *([] if options.labels is None else [str(options.labels)])]
        reject_overwriting_inputs(options.csv, inputs)


def _count_needed_labels(
    labelled_data: LabelledData, labelled_count: int, options: AnnotateOptions
) -> tuple[int, str]:
    """Return how many items must be labelled in total to reach the goal of the user, and a sentence that
    explains the number.
    """
    scores = labelled_data.scores
    if options.count is not None:
        needed = min(labelled_count + options.count, len(scores.items))
        return needed, explain_number_of_items_to_rate(
            needed - labelled_count, len(scores.items) - labelled_count
        )
    if labelled_count < SMALLEST_PILOT:
        labelled = "1 item has a label" if labelled_count == 1 else f"{labelled_count} items have labels"
        raise InputError(
            f"only {labelled}, but at least {SMALLEST_PILOT} are needed for planning.",
            remedy="Have some items rated first: metassay annotate DATA --count 50",
        )
    if options.width is not None:
        plan: NeededItems = count_items_needed_for_interval_width(scores, options.width, options.seed)
        return plan.count, explain_items_needed_for_interval_width(
            plan.count, labelled_count, len(scores.items), options.width, plan.hardest
        )
    if len(scores.systems) < 2:
        raise InputError("a difference needs two systems.", remedy="Use --width for a single system.")
    difference = options.difference or 0.0
    plan = count_items_needed_for_difference(scores, difference, options.power, options.seed)
    reason = explain_items_needed_to_show_difference(
        plan.count, labelled_count, len(scores.items), difference, options.power, plan.hardest
    )
    return plan.count, reason


def _create_or_resume_run_folder(labelled_data: LabelledData, options: AnnotateOptions) -> RunFolder | None:
    """Create a run folder for the results where the user wants it, or resume the run that is already there.
    Returns None if the user named no folder.

    The options and the data identify the run.
    """
    if options.out is None:
        return None
    configuration: dict[str, Any] = {
        "human": labelled_data.human,
        "metrics": list(labelled_data.selected_scores.metrics),
        "count": options.count,
        "width": options.width,
        "difference": options.difference,
        "power": options.power,
        "unit": labelled_data.scores.unit,
        "seed": options.seed,
    }
    inputs = {**labelled_data.selected_scores.hashes, "labels": labelled_data.cube.content_hash}
    identity = {"command": "annotate", "configuration": configuration, "inputs": inputs}
    return RunFolder.open_for_writing(
        options.out, identity, data_fingerprint=labelled_data.selected_scores.fingerprint
    )


# The texts for the raters, by item and system.
TextsByOutput = dict[tuple[str, str], tuple[str, ...]]


def _read_texts_of_outputs(
    data_source: Source, options: AnnotateOptions
) -> tuple[TextsByOutput, tuple[str, ...]]:
    """Read the source, the reference and the text of every output. Returns the texts by item and system, and
    which of the three columns the data has.
    """
    table = read_score_table(data_source, options, references=options.reference).frame

    def find_column_by_synonym(standard_name: str) -> str | None:
        """Return the column whose name is a standard name, such as `source`, or one of its synonyms. Returns
        None if there is none.
        """
        return next(
            iter(select_columns_by_name(table.columns, list_possible_column_names(standard_name))), None
        )

    references = find_reference_columns(table.columns)
    columns = {
        "source": find_column_by_synonym("source"),
        "reference": references[0] if references else None,
        "output": find_column_by_synonym("output"),
    }
    text_columns = [name for name in TEXT_COLUMNS if columns[name] is not None]
    item = find_column_by_synonym("item")
    system = find_column_by_synonym("system")
    if item is None or system is None:
        raise UnknownName("column", "item", table.columns)
    prefix = [name for name in select_columns_by_name(table.columns, TEST_SET_COLUMNS) if name != item]
    qualified = pl.concat_str([pl.col(name).cast(pl.String) for name in (*prefix, item)], separator="/")
    test_set = pl.concat_str([pl.format("{}/", name) for name in prefix]) if prefix else pl.lit("")
    # The items of a `Dataset` begin with their test set already.
    is_qualified = pl.col(item).cast(pl.String).str.starts_with(test_set)
    keys = table.select(
        pl.when(is_qualified).then(pl.col(item).cast(pl.String)).otherwise(qualified).alias("item"),
        pl.col(system).cast(pl.String).alias("system"),
        *[_convert_column_to_texts(table[str(columns[name])]).alias(name) for name in text_columns],
    )
    texts = {(row[0], row[1]): tuple(row[2:]) for row in keys.iter_rows()}
    return texts, tuple(text_columns)


def _convert_column_to_texts(column: pl.Series) -> pl.Series:
    """Convert a column to texts. A missing value becomes an empty text, and a list of references becomes its
    first reference.
    """
    texts = column.list.first() if isinstance(column.dtype, pl.List) else column
    return texts.cast(pl.String).fill_null("")


def _build_annotation_table(
    labelled_data: LabelledData,
    chosen_items: ChosenItems,
    texts: TextsByOutput,
    text_columns: tuple[str, ...],
) -> AnnotationFile:
    """Build the table that raters fill in, with the chosen items and the items that have labels already.

    Earlier items are in the file because their probability of being labelled has changed with this round.
    """
    scores = labelled_data.scores
    cube = labelled_data.cube
    names = cube.qualified_items
    human_scores = cube.human_scores.get(labelled_data.human)
    # A copy, because chosen items are added.
    is_listed = scores.labelled_items.copy()
    is_listed[chosen_items.positions] = True
    rows = []
    for position in np.flatnonzero(is_listed):
        for row, system in enumerate(scores.systems):
            score = None
            if human_scores is not None and not np.isnan(human_scores[row, position]):
                score = float(human_scores[row, position])
            key = (names[position], system)
            output = OutputToRate(
                item=names[position],
                system=system,
                texts=texts.get(key, ("",) * len(text_columns)),
                probability=float(chosen_items.probabilities[position]),
                score=score,
            )
            rows.append(output)
    return AnnotationFile(labelled_data.human, text_columns, tuple(rows))
