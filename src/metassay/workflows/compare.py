"""`compare`: find out what changed between finished assays, and whether by more than chance."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import polars as pl

from metassay.errors import InputError, format_path_for_user
from metassay.meta.contexts.run_comparison import compare_runs
from metassay.options import HUMAN_PAIRS, FilePaths
from metassay.reporting.comparison_sentences import (
    build_compare_verdict,
    describe_comparisons,
    describe_run_changes,
    describe_unshared_outputs_and_metrics,
)
from metassay.reporting.result_display import ResultDisplay
from metassay.results.assay import AssayContent
from metassay.results.compare import CompareContent, RunComparison, SharedOutputs
from metassay.store.run_folder import RunFolder
from metassay.workflows.changed_options import read_configuration, reject_runs_with_other_options
from metassay.workflows.cluster_accuracy_files import read_accuracy_sums_by_cluster
from metassay.workflows.pair_table import OUTPUTS_FILE, report_unreadable_file
from metassay.workflows.run_files import RESULT, find_run_folders, load_assay_run


class CompareResult(ResultDisplay, CompareContent, frozen=True, kw_only=True):
    """Result of `compare`: what changed from each assay run to the next."""

    describe_result_for_terminal = describe_comparisons

    def to_frame(self) -> pl.DataFrame:
        """Return a table of the changes of accuracy, with one row for each metric and context (such as a
        domain) in each comparison.
        """
        rows = []
        for comparison in self.comparisons:
            for change in comparison.accuracies:
                runs = {"before_run": comparison.before, "after_run": comparison.after}
                rows.append(runs | msgspec.structs.asdict(change))
        return pl.DataFrame(rows, infer_schema_length=None)


def compare(*runs: FilePaths) -> CompareResult:
    """Compare each of several finished assay runs with the run before it.

    `runs` are run folders, or a list of them, compared in the given order. A single folder that contains runs
    stands for all of them, sorted by name. Runs that were made with other options raise an error, except for
    options that do not change what is measured, such as `resamples` and `seed`.

    >>> import tempfile
    >>> from metassay.workflows.assay import assay, read_bundled_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "rouge1,rougel", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_bundled_sample("text"), resamples=20, permutations=19, out=run, **few)
    >>> compare(run, run).changed
    False
    """
    folders = find_run_folders(runs)
    if len(folders) < 2:
        raise InputError(
            "there is only one run.", remedy="Name two or more runs, or a folder that holds them."
        )
    opened = [load_assay_run(folder) for folder in folders]
    results = [run.read_result(RESULT, AssayContent) for run in opened]
    tasks = sorted({result.task for result in results})
    if len(tasks) > 1:
        raise InputError(f"these runs are of different tasks ({', '.join(tasks)}).")
    names = [format_path_for_user(folder) for folder in folders]
    comparisons = []
    for earlier, later in pairwise(zip(names, opened, results)):
        earlier_name, earlier_run, earlier_result = earlier
        later_name, later_run, later_result = later
        comparison = compare_run_folders(earlier_run, later_run, earlier_result, later_result)
        comparisons.append(msgspec.structs.replace(comparison, before=earlier_name, after=later_name))
    changed = any(comparison.changed for comparison in comparisons)
    result = CompareResult(runs=names, changed=changed, comparisons=comparisons)
    return msgspec.structs.replace(result, verdict=build_compare_verdict(result))


def compare_run_folders(
    earlier_run: RunFolder, later_run: RunFolder, earlier_result: AssayContent, later_result: AssayContent
) -> RunComparison:
    """Compare the results of two assay runs. If both have the same items and systems, the accuracies are
    compared item by item (or document by document). Runs that measured different things raise an error.
    """
    reject_runs_with_other_options(earlier_run, later_run)
    shared = _count_outputs_in_both_runs(earlier_run, later_run)
    cluster_sums = None
    is_same_cluster = earlier_result.cluster.column == later_result.cluster.column
    # Only then can differences be taken cluster by cluster, which is more precise than two separate
    # intervals.
    if shared.have_same_items_and_systems and is_same_cluster:
        cluster_sums = (read_accuracy_sums_by_cluster(earlier_run), read_accuracy_sums_by_cluster(later_run))
    with later_run.report_unreadable_results():
        comparison = compare_runs(earlier_result, later_result, cluster_sums)
    return msgspec.structs.replace(
        comparison,
        shared_outputs=shared,
        sentences=describe_run_changes(comparison),
        warnings=describe_unshared_outputs_and_metrics(comparison, shared),
    )


def _count_outputs_in_both_runs(earlier_run: RunFolder, later_run: RunFolder) -> SharedOutputs:
    """Count the outputs of two runs that have the same item and system, and how many of these are identical:
    their texts, and the human scores that pairs are made from.
    """
    old = _read_output_hashes(earlier_run)
    new = _read_output_hashes(later_run)
    key = ["item", "system"]
    same_key = old.join(new, on=key, how="semi")
    identical = old.join(new, on=[*key, "content"], how="semi")
    return SharedOutputs(
        before=old.height, after=new.height, in_both=same_key.height, identical=identical.height
    )


def _read_output_hashes(run_folder: RunFolder) -> pl.DataFrame:
    """Read the item and the system of every output of a run, and a hash of what was compared: its texts, and
    its human score if pairs are made from human scores.
    """
    file = run_folder.find_result_file(OUTPUTS_FILE)
    compared = {"output", "source", "references", "worse"}
    configuration = read_configuration(run_folder)
    if configuration.get("pairs") == HUMAN_PAIRS:
        compared.add(str(configuration.get("human")))
    with report_unreadable_file(file):
        outputs = pl.scan_parquet(file, glob=False)
        columns = sorted(compared.intersection(outputs.collect_schema().names()))
        names = pl.col("item", "system").cast(pl.String)
        content = pl.struct(columns).hash().alias("content")
        return outputs.select(names, content).unique().collect()
