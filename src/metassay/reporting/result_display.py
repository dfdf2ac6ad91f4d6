"""How results show themselves in Python and in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from metassay.errors import InputError, UnknownName

if TYPE_CHECKING:
    from metassay.reporting.pages import Chart, Page


class ResultDisplay:
    """Base class that gives a result a report page, charts, a main table and a view in notebooks.

    A verb returns a class that combines the struct of its content with this mixin:

        class RankResult(ResultDisplay, RankContent):
            def to_frame(self) -> pl.DataFrame: ...
            def build_page(self) -> Page: ...
            def describe_result_for_terminal(self) -> list[Block]: ...

    All results can be used alike, for example a ranking of two metrics by their agreement with human scores:

    >>> import json, metassay
    >>> quality = {"a": 0.0, "b": -1.0, "c": -2.0}
    >>> rows = [
    ...     {"seg_id": n, "system": system, "mqm": score, "M": score + n, "N": -score}
    ...     for n in range(9)
    ...     for system, score in quality.items()
    ... ]
    >>> result = metassay.rank(rows, human="mqm", meta="pa", significance="none")
    >>> result.to_frame().select("metric", "value").row(0)
    ('M', 1.0)
    >>> json.loads(result.to_json()) == result.to_dict(), result.plot().name in result.charts()
    (True, True)
    >>> result.build_page().title
    'Which metric agrees best with people?'
    >>> result.describe_result_for_terminal()[0].text.partition(" (")[0]
    'M agrees best with people'
    """

    __slots__ = ()  # a struct can only inherit from classes without fields of their own

    def to_frame(self) -> pl.DataFrame:
        """Return the main table of the result."""
        raise NotImplementedError

    def build_page(self) -> Page:
        """Build the report page of the result. By default it contains all tables of the result."""
        from metassay.reporting.pages import build_page_of_tables

        return build_page_of_tables(type(self).__name__, msgspec.to_builtins(self))

    def charts(self) -> dict[str, Chart]:
        """Return the charts of the report page by their names."""
        charts = {}
        for section in self.build_page().list_all_sections():
            for chart in section.charts:
                charts[chart.name] = chart
        return charts

    def plot(self, name: str | None = None) -> Chart:
        """Return the chart of the report page with this name. Without a name, return the first chart."""
        charts = self.charts()
        if not charts:
            raise InputError("this result has no chart.", remedy="Its table: to_frame()")
        if name is None:
            name = next(iter(charts))
        if name not in charts:
            raise UnknownName("chart", name, charts)
        return charts[name]

    def __repr__(self) -> str:
        """Return a short description: the size of the main table, and the first sentence of the report
        page.
        """
        from metassay.reporting.pages import format_result_repr

        return format_result_repr(type(self).__name__, self.to_frame(), self.build_page().lead)

    def _repr_html_(self) -> str:
        from metassay.reporting.pages import render_notebook_html

        return render_notebook_html(self.build_page())
