"""Result of `models`: the neural models on this machine."""

from __future__ import annotations

import msgspec

from metassay.results.base import ResultStruct


class InstalledModel(msgspec.Struct, frozen=True):
    """A neural model that some metrics can use. A field is None if its value is not known."""

    model: str
    metrics: str
    """Names of the metrics that use it."""
    megabytes: float | None
    weights: str | None
    """A hash of the weights; None if they are not installed."""
    languages: list[str] | None
    licence: str | None
    commercial_use: bool | None
    """Whether the licence allows commercial use."""
    folder: str
    note: str | None


class ModelsContent(ResultStruct, frozen=True, kw_only=True):
    """The neural models that were found, and the folders that were searched."""

    models: list[InstalledModel]
    searched: list[str]
