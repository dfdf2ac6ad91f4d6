"""What every verb returns: an object that can be a dict, a table, and a picture in a notebook."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

import polars as pl

SCHEMA_VERSION = 1


class Result(ABC):
    """A result: `to_dict()` is the JSON of the command line, `to_frame()` its main table."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, beginning with `schema_version`."""

    @abstractmethod
    def to_frame(self) -> pl.DataFrame:
        """The main table of the result."""

    def to_json(self) -> str:
        """The JSON object that the command line prints."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        from metassay.reporting.html import render_fragment

        return render_fragment(self.to_dict())
