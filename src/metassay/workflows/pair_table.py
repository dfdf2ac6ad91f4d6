"""Read the pairs of a run from its Parquet files, only the rows and columns that are needed.

`results/explorer.parquet` has one row per pair, in the order of `pairs.parquet`, which has the texts:

    item, system, perturbation      the pair (and `worse_system` where pairs were chosen by human scores)
    output                          the row of its output in `outputs.parquet`
    context/COLUMN                  its context
    human/NAME, human_worse/NAME    human scores of the output and of the worse output
    outcome/METRIC                  1 right, 0 tie, −1 wrong, null undefined
    score/METRIC, worse_score/METRIC  scores of the output and of the worse output
    margin/METRIC                   by how much the metric prefers the output (negative: the worse output)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import InputError, InputLocation, MetassayError
from metassay.results.pair_explorer import ContextAccuracy, MetricPairScores, StoredPair
from metassay.stats.arrays import pack_codes_into_two_bits, unpack_codes_from_two_bits
from metassay.store.run_folder import RunFolder, read_manifest

EXPLORER_FILE = "results/explorer.parquet"
OUTCOMES_FILE = "results/judgements.parquet"
PAIRS_FILE = "pairs.parquet"
OUTPUTS_FILE = "outputs.parquet"
ACCURACIES_FILE = "results/local_accuracy.parquet"

PAIR_KEY = ("item", "system", "perturbation")
# Outcomes as integers in memory; in files, undefined ones are null.
OUTCOME_CODES = {"right": 1, "tie": 0, "wrong": -1, "undefined": -2}
UNDEFINED = OUTCOME_CODES["undefined"]

# Pairs. Larger runs are not compared pair by pair.
LARGEST_COMPARED_RUN = 1_000_000
# Bytes of outcomes that are kept in memory.
OUTCOME_MEMORY = 30 * 2**20
# Rows of a column that are read at a time.
ROWS_PER_READ = 2**20
# Rows closer than this are read with one slice.
NEARBY_ROWS = 2048
# Slices that are read at once. Each takes a whole row group of the file into memory.
SLICES_PER_READ = 3

_METRIC_PREFIXES = ("outcome/", "score/", "worse_score/", "margin/")
_SHOWN_METRIC_PREFIXES = ("outcome/", "score/", "worse_score/")
_NUMERIC_PREFIXES = ("score/", "worse_score/", "margin/", "human/", "human_worse/")
_RUN_AGAIN = "Run the command of this run again: it continues from its scores."


@contextmanager
def report_unreadable_file(file: Path) -> Iterator[None]:
    """Context manager that turns errors from reading a file into an `InputError` which names the file."""
    try:
        yield
    except MetassayError:
        raise
    except (
        pl.exceptions.PolarsError,
        # Polars raises this for some damaged files. It is not a PolarsError.
        pl.exceptions.PanicException,
        OSError,
        ValueError,
        MemoryError,
    ) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        reason = " ".join(first_line.split())
        raise InputError(
            f"this cannot be read ({reason}).", location=InputLocation(file=str(file)), remedy=_RUN_AGAIN
        ) from None


class PairTable:
    """Reads the pairs of one run from the files in its run folder. Only what is asked for is read."""

    def __init__(self, run_folder: RunFolder) -> None:
        self.run = run_folder
        self._values: dict[str, list[str]] = {}
        self._packed_outcomes: OrderedDict[str, NDArray[Any]] = OrderedDict()
        pairs_file = run_folder.find_intact_file(PAIRS_FILE)
        if pairs_file is None:
            raise InputError("this run has no pairs.", location=InputLocation(file=str(run_folder.path)))
        self.file = run_folder.find_intact_file(EXPLORER_FILE) or pairs_file
        self.has_outcomes = self.file != pairs_file
        """Whether the run stored outcomes; runs of `perturb` did not."""
        with report_unreadable_file(self.file):
            # Without `glob=False`, brackets and asterisks in the path of the run would be read as patterns.
            self.texts = pl.scan_parquet(pairs_file, row_index_name="row", glob=False)
            self.index = pl.scan_parquet(self.file, row_index_name="row", glob=False)
            self.schema = self.index.collect_schema()
            self.total = _count_table_rows(self.index)
            self._check_columns_of_pair_files()

    def _check_columns_of_pair_files(self) -> None:
        """Raise an error if the files do not have the columns that an assay writes."""
        text_schema = self.texts.collect_schema()
        wrong = [name for name in PAIR_KEY if not _is_name_column_type(self.schema.get(name))]
        wrong += [name for name in ("output", "worse") if not _is_text_column_type(text_schema.get(name))]
        for name, dtype in self.schema.items():
            is_wrong_outcome = name.startswith("outcome/") and dtype != pl.Int8
            is_wrong_context = name.startswith("context/") and not _is_name_column_type(dtype)
            is_wrong_number = name.startswith(_NUMERIC_PREFIXES) and dtype not in {pl.Float32, pl.Float64}
            if is_wrong_outcome or is_wrong_context or is_wrong_number:
                wrong.append(name)
        if self.has_outcomes and self.schema.get("output") != pl.UInt32:
            wrong.append("output")
        if wrong:
            location = InputLocation(file=str(self.file), column=wrong[0])
            raise InputError(
                "this column does not have the format that assay writes.",
                location=location,
                remedy=_RUN_AGAIN,
            )
        if self.total != _count_table_rows(self.texts):
            location = InputLocation(file=str(self.file))
            raise InputError("this does not have one row per pair.", location=location, remedy=_RUN_AGAIN)

    def _list_column_names_without_prefix(self, prefix: str) -> list[str]:
        """Return the names of the columns that begin with a prefix, with the prefix removed. For `outcome/`,
        these are the names of metrics.
        """
        return [name.removeprefix(prefix) for name in self.schema if name.startswith(prefix)]

    @cached_property
    def compared_metrics(self) -> list[str]:
        """The metrics that the assay compares."""
        named = read_manifest(self.run.path).get("metrics")
        with_outcomes = self._list_column_names_without_prefix("outcome/")
        if not isinstance(named, dict):
            return with_outcomes
        return [name for name in named if name in with_outcomes]

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that the assay compares, followed by metrics that know nothing about quality."""
        return list(
            dict.fromkeys([*self.compared_metrics, *self._list_column_names_without_prefix("outcome/")])
        )

    @property
    def context_columns(self) -> list[str]:
        """The names of the columns of contexts, such as the domain."""
        return self._list_column_names_without_prefix("context/")

    def list_distinct_values(self, column: str) -> list[str]:
        """List the distinct values in a column of names, such as the systems."""
        dtype = self.schema[column]
        # An Enum lists its values in the schema, so that the column itself need not be read.
        if isinstance(dtype, pl.Enum):
            return [str(name) for name in dtype.categories]
        if column not in self._values:
            with report_unreadable_file(self.file):
                names = self.index.select(pl.col(column).unique()).collect().to_series()
            self._values[column] = sorted(name for name in names if name is not None)
        return self._values[column]

    def read_metric_accuracies(self, context_column: str) -> list[ContextAccuracy]:
        """Read the accuracy of each metric in each context of a column, such as each domain, from the result
        of the assay.
        """
        file = self.run.find_intact_file(ACCURACIES_FILE)
        if file is None:
            return []
        names = pl.col("context", "metric").cast(pl.String)
        numbers = pl.col("accuracy", "low", "high").cast(pl.Float64)
        with report_unreadable_file(file):
            rows = pl.scan_parquet(file, glob=False).filter(pl.col("column") == context_column)
            return [ContextAccuracy(*row) for row in rows.select(names, numbers).collect().iter_rows()]

    def read_margins(self, metric: str) -> Iterator[NDArray[Any]]:
        """Read the margins of a metric: its score of the better output of each pair minus that of the worse
        one. Yields one array per block of pairs.
        """
        for first in range(0, self.total, ROWS_PER_READ):
            rows = self.index.slice(first, ROWS_PER_READ).select(f"margin/{metric}")
            yield rows.collect().to_series().fill_null(float("nan")).to_numpy()

    def read_outcomes(self, metric: str) -> NDArray[np.int8]:
        """Read whether a metric ordered each pair correctly, as one of the numbers in `OUTCOME_CODES` for
        each pair.

        Outcomes that were read recently stay in memory, four to a byte.
        """
        if metric not in self._packed_outcomes:
            column = pl.col(f"outcome/{metric}").fill_null(UNDEFINED)
            outcomes = self.index.select(column).collect().to_series().to_numpy()
            # Codes from -2 to 1 become 0 to 3, which fit into two bits.
            self._packed_outcomes[metric] = pack_codes_into_two_bits(outcomes - UNDEFINED)
        self._packed_outcomes.move_to_end(metric)
        # The metric that was just read stays, even if it alone exceeds the limit.
        while (
            len(self._packed_outcomes) > 1
            and sum(array.nbytes for array in self._packed_outcomes.values()) > OUTCOME_MEMORY
        ):
            self._packed_outcomes.popitem(last=False)
        return unpack_codes_from_two_bits(self._packed_outcomes[metric], self.total) + np.int8(UNDEFINED)

    def find_pairs_with_value(self, column: str, value: str) -> NDArray[np.bool_]:
        """Return for every pair whether it has a value in a column."""
        dtype = self.schema[column]
        mask = np.zeros(self.total, dtype=np.bool_)
        if isinstance(dtype, pl.Enum) and value not in set(dtype.categories):
            return mask  # Polars refuses to compare an Enum with a name that is none of its categories
        rows = self.index.filter(pl.col(column) == value).select("row").collect()
        mask[rows.to_series().to_numpy()] = True
        return mask

    def read_output_pairs_at_rows(
        self, row_numbers: Sequence[int], metrics: Sequence[str]
    ) -> list[StoredPair | None]:
        """Read the pairs with the given row numbers, with texts and the scores of some metrics. A row that
        does not exist becomes None.
        """
        wanted = {f"{prefix}{metric}" for prefix in _SHOWN_METRIC_PREFIXES for metric in metrics}
        columns = [
            name
            for name in self.schema
            if name != "row" and (name in wanted or not name.startswith(_METRIC_PREFIXES))
        ]
        with report_unreadable_file(self.file):
            index_rows = _read_rows_in_order(self.index, row_numbers, columns)
            text_rows = _read_rows_in_order(self.texts, row_numbers, ("output", "worse"))
        output_rows = (
            [{} for _ in row_numbers]
            if not self.has_outcomes
            else self._read_sources_and_references(index_rows)
        )
        pairs: list[StoredPair | None] = []
        for index_row, text_row, output_row in zip(index_rows, text_rows, output_rows):
            if index_row and text_row:
                pairs.append(_combine_rows_to_output_pair(index_row, text_row, output_row, metrics))
            else:
                pairs.append(None)
        return pairs

    def _read_sources_and_references(self, pair_rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Read the source and the references of some pairs."""
        file = self.run.find_intact_file(OUTPUTS_FILE)
        if file is None:
            return [{} for _ in pair_rows]
        with report_unreadable_file(file):
            outputs = pl.scan_parquet(file, row_index_name="row", glob=False)
            schema = outputs.collect_schema()
            dtypes = {"source": pl.String, "references": pl.List(pl.String)}
            columns = [name for name, dtype in dtypes.items() if schema.get(name) == dtype]
            if not columns:
                return [{} for _ in pair_rows]
            # A missing pair has no output row; no row has the number -1, so nothing is read for it.
            return _read_rows_in_order(outputs, [row.get("output", -1) for row in pair_rows], columns)

    def find_rows_in_other_run(self, other_pair_table: PairTable) -> NDArray[np.int64]:
        """Find the row number of each pair in another run, or −1 if the other run does not have the pair."""
        for table in (self, other_pair_table):
            if table.total > LARGEST_COMPARED_RUN:
                raise InputError(
                    f"runs of more than {LARGEST_COMPARED_RUN:,} pairs are not compared pair by pair;"
                    f" this one has {table.total:,}.",
                    location=InputLocation(file=str(table.run.path)),
                )
        keys = [*PAIR_KEY, "worse_system", "occurrence"]
        matches = _read_columns_that_identify_pairs(self).join(
            _read_columns_that_identify_pairs(other_pair_table), on=keys, how="left", maintain_order="left"
        )
        return matches["row_right"].cast(pl.Int64).fill_null(-1).to_numpy()


def _is_name_column_type(dtype: pl.DataType | None) -> bool:
    """Return whether a column type is that of names, such as systems."""
    return isinstance(dtype, pl.String | pl.Enum)


def _is_text_column_type(dtype: pl.DataType | None) -> bool:
    """Return whether a column type is that of outputs: texts, or lists of document names for rankings."""
    if isinstance(dtype, pl.List):
        return isinstance(dtype.inner, pl.String | pl.Categorical | pl.Enum)
    return isinstance(dtype, pl.String)


def _count_table_rows(frame: pl.LazyFrame) -> int:
    """Count the rows of a table that is not loaded into memory."""
    return int(frame.select(pl.len()).collect().item())


def _read_columns_that_identify_pairs(pair_table: PairTable) -> pl.DataFrame:
    """Read the columns that together identify a pair of a run, such as item and system.

    `occurrence` numbers the pairs that have equal values in all other columns.
    """
    # Two runs have different Enums, which Polars does not join.
    names = [pl.col(name).cast(pl.String) for name in PAIR_KEY]
    worse_system = pl.lit("").alias("worse_system")
    if "worse_system" in pair_table.schema:
        worse_system = pl.col("worse_system").cast(pl.String)
    keys = pair_table.index.select("row", *names, worse_system).collect()
    return keys.with_columns(pl.int_range(pl.len()).over(*PAIR_KEY, "worse_system").alias("occurrence"))


def _combine_rows_to_output_pair(
    pair_row: dict[str, Any],
    text_row: dict[str, Any],
    source_and_references: dict[str, Any],
    metrics: Sequence[str],
) -> StoredPair:
    """Build a pair from its row in the table of scores, its texts, its source and its references."""
    contexts: dict[str, str] = {}
    human_scores: dict[str, tuple[float, float | None]] = {}
    for name, value in pair_row.items():
        if value is None:
            continue
        if name.startswith("context/"):
            contexts[name.removeprefix("context/")] = str(value)
        elif name.startswith("human/"):
            human = name.removeprefix("human/")
            human_scores[human] = (value, pair_row.get(f"human_worse/{human}"))
    metric_scores = {}
    for metric in metrics:
        metric_scores[metric] = MetricPairScores(
            outcome=pair_row.get(f"outcome/{metric}"),
            output=pair_row.get(f"score/{metric}"),
            worse_output=pair_row.get(f"worse_score/{metric}"),
        )
    return StoredPair(
        row=pair_row["row"],
        item=pair_row["item"],
        system=pair_row["system"],
        perturbation=pair_row["perturbation"],
        output=text_row["output"],
        worse_output=text_row["worse"],
        worse_system=pair_row.get("worse_system"),
        source=source_and_references.get("source"),
        references=tuple(source_and_references.get("references") or ()),
        contexts=contexts,
        human_scores=human_scores,
        metric_scores=metric_scores,
    )


def _read_rows_in_order(
    lazy_frame: pl.LazyFrame, row_numbers: Sequence[int], columns: Sequence[str]
) -> list[dict[str, Any]]:
    """Read rows of a file in the given order. A row that does not exist is empty.

    Nearby rows are read as one slice, so that few pages of the file are touched. The slice must come before
    the selection of columns: otherwise Polars does not push it down to the reader.
    """
    spans: list[tuple[int, int]] = []
    for row in sorted(set(row_numbers)):
        if row < 0:
            continue
        if spans and row - spans[-1][1] < NEARBY_ROWS:
            spans[-1] = (spans[-1][0], row)
        else:
            spans.append((row, row))
    slices = [lazy_frame.slice(first, last - first + 1).select("row", *columns) for first, last in spans]
    # The type of the row index of Polars.
    wanted = pl.Series(sorted({row for row in row_numbers if row >= 0}), dtype=pl.UInt32)
    row_by_number: dict[int, dict[str, Any]] = {}
    for first in range(0, len(slices), SLICES_PER_READ):
        for part in pl.collect_all(slices[first : first + SLICES_PER_READ]):
            # A slice also has the rows between the wanted ones.
            matching = part.filter(pl.col("row").is_in(wanted.implode()))
            row_by_number |= {row["row"]: row for row in matching.iter_rows(named=True)}
    return [row_by_number.get(row, {}) for row in row_numbers]
