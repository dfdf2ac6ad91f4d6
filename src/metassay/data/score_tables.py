"""Build score cubes from tables with one row per output.

Wide tables have a column per metric, long ones the columns `metric` and `score`. The order of rows does not
matter: systems and items are sorted by their ids.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import polars as pl

from metassay.data import cells
from metassay.data.columns import (
    TEST_SET_COLUMNS,
    find_reference_columns,
    find_score_columns,
    is_unsupported_column_type,
    list_possible_column_names,
    select_columns_by_name,
)
from metassay.data.directions import RequestedDirections, decide_if_higher_is_better
from metassay.data.joins import drop_repeated_rows
from metassay.data.reference_systems import REFERENCE_SYSTEM_REASON, find_rows_with_reference_as_output
from metassay.data.score_cube import UNNAMED_DATASET, ScoreCube
from metassay.data.score_grid import ScoreGrid
from metassay.data.text_measures import measure_text_lengths_of_table
from metassay.errors import InputError, InputLocation
from metassay.results.data_summary import HUMAN_SCORE, LOWER, METRIC_SCORE
from metassay.stats.arrays import FloatArray


def build_score_cubes(
    table: pl.DataFrame,
    *,
    human: Sequence[str] = (),
    metrics: Sequence[str] = (),
    metadata: Sequence[str] = (),
    lower_is_better_metrics: Collection[str] = (),
    requested_directions: RequestedDirections | None = None,
    file: str = "",
    keep_references: bool = False,
) -> list[ScoreCube]:
    """Build a `ScoreCube`, the table of all scores, for each data set (year, language pair, test set) in a
    table with one row per output.

    Rows that repeat another exactly are dropped with a note. Systems whose output is the reference itself
    are left out unless `keep_references`.

    Args:
        table: One row per output, wide or long.
        human: Columns of human scores beside those known by name.
        metrics: Columns of metric scores whose name could also be that of a human score.
        metadata: Columns of numbers that are no scores.
        lower_is_better_metrics: Names of metrics of which lower is better.
        requested_directions: Directions that the user requested.
        file: The file to name in errors.
        keep_references: Keep systems whose output is the reference.
    """
    table, duplicate_notes = drop_repeated_rows(table)
    wide = pivot_long_scores(table, file)
    item_column = _find_column_of_role(wide, "item", file)
    system_column = _find_column_of_role(wide, "system", file)
    dataset_columns = [
        name for name in select_columns_by_name(wide.columns, TEST_SET_COLUMNS) if name != item_column
    ]
    human_columns, metric_columns = find_score_columns(wide, human, metrics, metadata)
    keyed = wide.with_columns(
        cells.parse_id_column(wide[item_column], file).alias("_item"),
        cells.parse_id_column(wide[system_column], file).alias("_system"),
        _build_dataset_name_of_each_row(wide, dataset_columns, file).alias("_dataset"),
    )
    keyed = keyed.with_columns(
        [cells.parse_score_column(wide[name], file) for name in (*human_columns, *metric_columns)]
    )
    directions = []
    for kind, names in ((HUMAN_SCORE, human_columns), (METRIC_SCORE, metric_columns)):
        for name in names:
            direction = decide_if_higher_is_better(
                name,
                keyed[name].to_numpy(),
                score_kind=kind,
                requested_directions=requested_directions,
                lower_is_better_metrics=lower_is_better_metrics,
            )
            directions.append(direction)
    other_columns = {*human_columns, *metric_columns, item_column, system_column}
    metadata_columns = [name for name in wide.columns if name not in other_columns]
    cubes = []
    for (dataset,), rows in sorted(keyed.group_by("_dataset"), key=lambda group: str(group[0])):
        _check_unique_outputs(rows, str(dataset), file)
        outputs, reference_notes = _drop_systems_equal_to_references(
            rows, str(dataset), keep_references=keep_references
        )
        cube = _build_score_cube_of_dataset(
            outputs, str(dataset), human_columns, metric_columns, metadata_columns
        )
        scores_in_cube = {*cube.human_scores, *cube.metric_scores}
        cube_directions = tuple(direction for direction in directions if direction.score in scores_in_cube)
        cube = replace(
            cube,
            lower_is_better=frozenset(d.score for d in cube_directions if d.better == LOWER),
            directions=cube_directions,
            left_out={REFERENCE_SYSTEM_REASON: rows.height - outputs.height},
            notes=(*duplicate_notes, *reference_notes),
        )
        cubes.append(cube)
    return cubes


def pivot_long_scores(table: pl.DataFrame, file: str = "") -> pl.DataFrame:
    """Convert a table with a row per metric to one with a column per metric. Other tables are returned
    unchanged.
    """
    columns = {name.lower(): name for name in table.columns}
    if not {"metric", "score"} <= columns.keys():
        return table
    metric_column = columns["metric"]
    score_column = columns["score"]
    key_names = (
        *TEST_SET_COLUMNS,
        *list_possible_column_names("item"),
        *list_possible_column_names("system"),
    )
    keys = [columns[name] for name in key_names if name in columns]
    table = table.with_columns(cells.parse_score_column(table[score_column], file))
    is_repeated = table.select([*keys, metric_column]).is_duplicated()
    if is_repeated.any():
        row = int(is_repeated.arg_max() or 0) + 1
        raise InputError(
            f"the table has several scores with the same {', '.join(keys)} and {metric_column}.",
            location=InputLocation(file or None, row),
        )
    clashing = [name for name in keys if (table[metric_column].cast(pl.String) == name).any()]
    if clashing:
        raise InputError(
            f"a metric has the same name as the column {clashing[0]}.",
            location=InputLocation(file or None, column=metric_column),
            remedy="Rename the metric.",
        )
    return table.pivot(on=metric_column, index=keys, values=score_column)


def _find_column_of_role(table: pl.DataFrame, role: str, file: str) -> str:
    """Find the column that holds the items or the systems, as `role` says. Raises an error if there is
    none.
    """
    names = list_possible_column_names(role)
    columns = select_columns_by_name(table.columns, names)
    if not columns:
        raise InputError(
            f"no column holds the {role} (looked for {', '.join(names)}).",
            location=InputLocation(file or None),
            remedy=f"Name it with --column {role}=COLUMN.",
        )
    return columns[0]


def _build_dataset_name_of_each_row(table: pl.DataFrame, name_columns: Sequence[str], file: str) -> pl.Series:
    """Return the name of the data set of each row. It joins the values of some columns by `/`, as in
    `2023/en-de`.
    """
    if not name_columns:
        return pl.Series([UNNAMED_DATASET]).new_from_index(0, table.height)
    return cells.join_id_columns(table, name_columns, file)


def _check_unique_outputs(rows: pl.DataFrame, dataset_name: str, file: str) -> None:
    """Raise an error if a data set has two rows for the same item and system."""
    is_repeated = rows.select("_item", "_system").is_duplicated()
    if is_repeated.any():
        row = rows.filter(is_repeated).row(0, named=True)
        raise InputError(
            f"item {row['_item']} of system {row['_system']} occurs more than once in {dataset_name}.",
            location=InputLocation(file or None),
            remedy="If rows come from several test sets, name the test set in a column year, lp or testset.",
        )


def _build_score_cube_of_dataset(
    rows: pl.DataFrame,
    dataset_name: str,
    human_columns: Sequence[str],
    metric_columns: Sequence[str],
    metadata_columns: Sequence[str],
) -> ScoreCube:
    """Build the `ScoreCube` of one data set from its rows. Columns without any score are left out."""
    grid = ScoreGrid.from_rows(rows["_system"], rows["_item"])

    def convert_columns_to_score_matrices(columns: Sequence[str]) -> dict[str, FloatArray]:
        """Return each column that has a score as an array with a row per system and a column per item."""
        filled = [column for column in columns if rows[column].is_not_null().any()]
        return {column: grid.arrange_as_system_by_item_matrix(rows[column].to_numpy()) for column in filled}

    text_measures = {
        name: grid.arrange_as_system_by_item_matrix(values.cast(pl.Float64).to_numpy())
        for name, values in measure_text_lengths_of_table(rows).items()
    }
    return ScoreCube(
        dataset_name,
        grid.systems,
        grid.items,
        human_scores=convert_columns_to_score_matrices(human_columns),
        metric_scores=convert_columns_to_score_matrices(metric_columns),
        item_metadata=_collect_metadata_of_items_or_systems(rows, metadata_columns, "_item", grid.items),
        system_metadata=_collect_metadata_of_items_or_systems(
            rows, metadata_columns, "_system", grid.systems
        ),
        text_measures=text_measures,
    )


def _collect_metadata_of_items_or_systems(
    rows: pl.DataFrame, columns: Sequence[str], key_column: str, key_values: Sequence[str]
) -> dict[str, tuple[str | None, ...]]:
    """Collect the columns that have a single value for each item (or each system), in the order of the given
    items or systems.
    """
    flat = [column for column in columns if not is_unsupported_column_type(rows.schema[column])]
    if not flat:
        return {}
    counts = rows.group_by(key_column).agg(pl.col(flat).n_unique())
    single_valued = [column for column in flat if (counts[column] == 1).all()]
    if not single_valued:
        return {}
    values = rows.group_by(key_column).agg(pl.col(single_valued).first().cast(pl.String))
    positions = {name: row for row, name in enumerate(values[key_column])}
    order = [positions[name] for name in key_values]
    return {column: tuple(values[column].gather(order)) for column in single_valued}


def _drop_systems_equal_to_references(
    rows: pl.DataFrame, dataset_name: str, *, keep_references: bool
) -> tuple[pl.DataFrame, list[str]]:
    """Drop the rows of systems whose outputs equal the references. Also returns a note for the user."""
    output_columns = select_columns_by_name(rows.columns, list_possible_column_names("output"))
    references = find_reference_columns(rows.columns)
    if keep_references or not output_columns or not references:
        return rows, []
    is_reference = find_rows_with_reference_as_output(
        rows, output_columns[0], references, group_columns=["_system"]
    )
    systems = rows.filter(is_reference)["_system"].unique().sort().to_list()
    if not systems:
        return rows, []
    kept = rows.filter(~pl.col("_system").is_in(systems))
    note = (
        f"{dataset_name}: systems whose outputs are the reference were left out: {', '.join(systems)} "
        f"({rows.height - kept.height:,} outputs). To keep them, add --keep-references."
    )
    return kept, [note]
