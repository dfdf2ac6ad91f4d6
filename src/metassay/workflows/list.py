"""`list`: list the metrics, meta-metrics, perturbations, readers and resources that are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import polars as pl

from metassay.errors import UnknownName
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.terminal.inventory import describe_installed_components
from metassay.results.list import (
    ListContent,
    ListedMetaMetric,
    ListedMetric,
    ListedPerturbation,
    ListedReader,
    ListedResource,
)


class ListResult(ResultDisplay, ListContent, frozen=True, kw_only=True):
    """Result of `list`: all metrics, perturbations or other things of one kind that are installed."""

    describe_result_for_terminal = describe_installed_components

    def to_frame(self) -> pl.DataFrame:
        """Return a table with one row for each listed thing."""
        return pl.DataFrame(
            [msgspec.to_builtins(entry) for entry in self.listed_entries], infer_schema_length=None
        )


class MetricList(ListResult, frozen=True, kw_only=True):
    """All metrics that can be computed, sorted by task and name."""

    metrics: list[ListedMetric]


class MetaMetricList(ListResult, frozen=True, kw_only=True):
    """All meta-metrics (measures of how well a metric agrees with human scores) that `rank` can use."""

    meta_metrics: list[ListedMetaMetric]


class PerturbationList(ListResult, frozen=True, kw_only=True):
    """All perturbations (rules that make an output worse) that can be applied, sorted by name."""

    perturbations: list[ListedPerturbation]


class ReaderList(ListResult, frozen=True, kw_only=True):
    """All file formats that can be read."""

    readers: list[ListedReader]


class ResourceList(ListResult, frozen=True, kw_only=True):
    """All language resources, such as dictionaries, whether they are installed or not."""

    resources: list[ListedResource]


def list_installed_components(kind: str) -> ListResult:
    """List everything of one kind that is installed: metrics, meta-metrics, perturbations, readers or
    resources.
    """
    if kind not in LISTS:
        raise UnknownName("list", kind, LISTS)
    return LISTS[kind]()


def list_task_names() -> list[str]:
    """Return the names of all tasks, including those of plug-ins."""
    from metassay.tasks import load_tasks

    return list(load_tasks())


def list_metrics() -> MetricList:
    """List all metrics, sorted by task and name."""
    from metassay.metrics.registry import format_metric_name, load_metric_classes

    metrics = [
        ListedMetric(
            metric=format_metric_name(metric),
            label=format_metric_name(metric, metric.title or metric.name),
            task=metric.task,
            better="higher" if metric.higher_is_better else "lower",
            needs=", ".join(sorted(metric.needs)),
            equals=metric.oracle or "–",
            what=metric.summary,
        )
        for metric in load_metric_classes().values()
    ]
    return MetricList(metrics=sorted(metrics, key=lambda metric: (metric.task, metric.metric)))


def list_meta_metrics() -> MetaMetricList:
    """List all meta-metrics (measures of how well a metric agrees with human scores), including those of
    plug-ins.
    """
    from metassay.meta.people.meta_metrics.registry import SPANS, SPANS_SUMMARY, load_meta_metric_classes

    entries = [
        ListedMetaMetric(name, ", ".join(meta_metric.levels), meta_metric.summary)
        for name, meta_metric in load_meta_metric_classes().items()
    ]
    entries.append(ListedMetaMetric(SPANS, "item", SPANS_SUMMARY))
    return MetaMetricList(meta_metrics=entries)


def list_perturbations() -> PerturbationList:
    """List all perturbations (rules that make an output worse), sorted by name."""
    from metassay.perturbations.registry import find_perturbations_for, load_perturbations
    from metassay.tasks import load_tasks

    entries = []
    for name, perturbation in sorted(load_perturbations().items()):
        tasks = [task.name for task in load_tasks().values() if name in find_perturbations_for(task)]
        languages = ", ".join(sorted(perturbation.languages or ()))
        if not languages:
            languages = "any with spaces" if perturbation.needs_spaces else "any"
        entry = ListedPerturbation(
            perturbation=name,
            tasks=", ".join(tasks),
            languages=languages,
            default="yes" if perturbation.default else "on request",
            what=perturbation.summary,
        )
        entries.append(entry)
    return PerturbationList(perturbations=entries)


def list_readers() -> ReaderList:
    """List all file formats that can be read. Formats that consist of several files come last."""
    from metassay.data.readers.registry import MULTI_FILE_FORMATS, load_all_readers

    readers = [ListedReader(reader.name, reader.files, reader.summary) for reader in load_all_readers()]
    readers += [
        ListedReader(multi_file.name, multi_file.options, multi_file.summary)
        for multi_file in MULTI_FILE_FORMATS
    ]
    return ReaderList(readers=readers)


def list_resources() -> ResourceList:
    """List all language resources such as dictionaries, and how to install those that are missing."""
    from metassay.text.resources import list_resources

    resources = [
        ListedResource(
            resource=resource.name,
            language=resource.language,
            purpose=resource.purpose,
            location=resource.locate(),
            installation="; ".join(f"{system}: {command}" for system, command in resource.commands.items()),
        )
        for resource in list_resources()
    ]
    return ResourceList(resources=resources)


LISTS: Mapping[str, Callable[[], ListResult]] = {
    "metrics": list_metrics,
    "meta_metrics": list_meta_metrics,
    "perturbations": list_perturbations,
    "readers": list_readers,
    "resources": list_resources,
}
