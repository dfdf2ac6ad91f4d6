"""Results of `list`: metrics, meta-metrics, perturbations, readers and resources that are installed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.results.base import ResultStruct


class ListedMetric(msgspec.Struct, frozen=True):
    """A metric, as the command `list` shows it."""

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
    """A meta-metric (a measure of how well metrics agree with human scores), as the command
    `list` shows it.
    """

    meta_metric: str
    levels: str
    """Levels at which it is defined, the default first."""
    what: str


class ListedPerturbation(msgspec.Struct, frozen=True):
    """A perturbation (a rule that makes an output worse), as the command `list` shows it."""

    perturbation: str
    tasks: str
    languages: str
    default: str
    """`yes`, or `on request`."""
    what: str


class ListedReader(msgspec.Struct, frozen=True):
    """A file format that can be read, as the command `list` shows it."""

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
    """Base class of the lists of installed metrics, meta-metrics, perturbations, readers and resources. Each
    subclass adds one field.
    """

    @property
    def listed_entries(self) -> Sequence[msgspec.Struct]:
        """The entries of the list, for example the listed metrics."""
        entries: Sequence[msgspec.Struct] = getattr(self, self.__struct_fields__[-1])
        return entries
