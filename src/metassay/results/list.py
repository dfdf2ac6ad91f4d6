"""Results of `list`: metrics, meta-metrics, perturbations, readers and resources that are installed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.results.base import ResultStruct


class ListedMetric(msgspec.Struct, frozen=True):
    """A metric that can be computed."""

    metric: str
    label: str
    task: str
    better: str
    """`higher` or `lower`."""
    needs: str
    equals: str
    """The reference implementation whose scores it equals."""
    what: str


class ListedMetaMetric(msgspec.Struct, frozen=True):
    """A measure of agreement with human scores that `rank` can use."""

    meta_metric: str
    levels: str
    """Levels at which it is defined, the default first."""
    what: str


class ListedPerturbation(msgspec.Struct, frozen=True):
    """A perturbation that can be applied."""

    perturbation: str
    tasks: str
    languages: str
    default: str
    """`yes`, or `on request`."""
    what: str


class ListedReader(msgspec.Struct, frozen=True):
    """A file format that can be read."""

    reader: str
    files: str
    what: str


class ListedResource(msgspec.Struct, frozen=True):
    """A dictionary or model that some perturbations need."""

    resource: str
    language: str
    purpose: str = msgspec.field(name="for")
    location: str | None = msgspec.field(name="found")
    """Where it is installed; None if it is not."""
    installation: str = msgspec.field(name="get")
    """How to install it."""


class ListContent(ResultStruct, frozen=True, kw_only=True):
    """Base of all lists."""

    @property
    def listed_entries(self) -> Sequence[msgspec.Struct]:
        """The listed metrics, meta-metrics, perturbations, readers or resources."""
        raise NotImplementedError


class MetricList(ListContent, frozen=True, kw_only=True):
    """All metrics, sorted by task and name."""

    metrics: list[ListedMetric]

    @property
    def listed_entries(self) -> Sequence[ListedMetric]:
        """The listed metrics."""
        return self.metrics


class MetaMetricList(ListContent, frozen=True, kw_only=True):
    """All meta-metrics."""

    meta_metrics: list[ListedMetaMetric]

    @property
    def listed_entries(self) -> Sequence[ListedMetaMetric]:
        """The listed meta-metrics."""
        return self.meta_metrics


class PerturbationList(ListContent, frozen=True, kw_only=True):
    """All perturbations, sorted by name."""

    perturbations: list[ListedPerturbation]

    @property
    def listed_entries(self) -> Sequence[ListedPerturbation]:
        """The listed perturbations."""
        return self.perturbations


class ReaderList(ListContent, frozen=True, kw_only=True):
    """All file formats."""

    readers: list[ListedReader]

    @property
    def listed_entries(self) -> Sequence[ListedReader]:
        """The listed readers."""
        return self.readers


class ResourceList(ListContent, frozen=True, kw_only=True):
    """All language resources."""

    resources: list[ListedResource]

    @property
    def listed_entries(self) -> Sequence[ListedResource]:
        """The listed resources."""
        return self.resources
