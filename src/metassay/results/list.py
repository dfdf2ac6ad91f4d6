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
    """Base of all lists, each of which has one further field."""

    @property
    def listed_entries(self) -> Sequence[msgspec.Struct]:
        """The listed metrics, meta-metrics, perturbations, readers or resources."""
        entries: Sequence[msgspec.Struct] = getattr(self, self.__struct_fields__[-1])
        return entries
