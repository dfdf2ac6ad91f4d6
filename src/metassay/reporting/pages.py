"""Report pages: what they contain, and how they become one HTML file that needs no network.

A page is an answer, what to doubt about it, and sections of sentences, charts and tables. Templates escape
every text, and the policy lets nothing run but what the page was made with. The same charts and tables leave
as files for papers.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from metassay.errors import UnknownName
from metassay.reporting.charts.theme import (
    CATEGORY,
    FORMS,
    PAPER,
    SLOTS,
    TOKENS,
    Spec,
    add_chart_legend,
    build_vega_config,
    escape_name_for_vega,
    make_safe_file_name,
    render_figure,
    render_svg,
)
from metassay.reporting.tables import ENDINGS, Grid, build_tables_of_row_lists, format_grid
from metassay.reporting.wording import Sentence, Span, format_plural
from metassay.text.user_cache import load_cached_file_or_compute

if TYPE_CHECKING:
    from jinja2 import Environment

# Sentences, and rows of a table, that a notebook shows.
_NOTEBOOK_SENTENCES = 5
_NOTEBOOK_ROWS = 20
# HTML gives a meaning to the first three. JavaScript may read the last two as line breaks.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class LegendEntry:
    """A metric in the legend above a chart. Clicking on it highlights the line of the metric."""

    name: str
    slot: int
    sentinel: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart of a report page: a Vega-Lite specification with a name, a caption and a legend."""

    name: str
    spec: Spec
    caption: str = ""
    sentinels: Sequence[str] = ()

    @property
    def legend_entries(self) -> list[LegendEntry]:
        """The entries of the legend above the chart. Empty if the chart draws a legend itself."""
        slots = (self.spec.get("usermeta") or {}).get("slots") or {}
        entries = [LegendEntry(name, slot) for name, slot in slots.items()]
        return [*entries, *(LegendEntry(name, SLOTS, sentinel=True) for name in self.sentinels)]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the chart as Vega-Lite for notebooks that can draw it, and as a picture for others."""
        spec = add_chart_legend(self.spec) | {"config": build_vega_config("light"), "width": 640}
        # Some notebooks know only version 5, which draws these charts as well.
        older = spec | {"$schema": str(spec["$schema"]).replace("/v6.", "/v5.")}
        return {
            "application/vnd.vegalite.v6+json": spec,
            "application/vnd.vegalite.v5+json": older,
            "image/svg+xml": render_svg(add_chart_legend(self.spec)),
            "text/plain": f"{self.name}: {self.spec['description']}",
        }


@dataclass(frozen=True)
class Footnote:
    """An explanation at the end of a page, to which sentences refer by its name."""

    name: str
    title: str
    text: str | Sentence


@dataclass(frozen=True)
class Section:
    """A section of a report page: sentences, then charts, tables and lists, then subsections.

    Of its `choices` one is shown at a time, and the reader picks which. `template` is a template that shows
    `content` in a way of its own.
    """

    title: str
    sentences: Sequence[str | Sentence] = ()
    charts: Sequence[Chart] = ()
    grids: Sequence[Grid] = ()
    folded: Sequence[Grid] = ()
    """Tables of which only the caption is shown until the reader opens them."""
    choices: Sequence[Section] = ()
    choice_noun: str = "metric"
    """What the choices are: the reader is asked to show one of them."""
    charts_side_by_side: bool = False
    """Whether charts are next to each other if there is room."""
    subsections: Sequence[Section] = ()
    bullets: Sequence[str | Sentence] = ()
    footnotes: Sequence[Footnote] = ()
    anchor: str = ""
    """Name for links to this section; by default its number."""
    contents_title: str = ""
    """Shorter title for the table of contents."""
    template: str = ""
    content: Any = None
    collapsed: bool = False
    """Whether only its title is shown until the reader opens it."""

    def list_nested_sections(self) -> list[Section]:
        """List this section and all sections within it, at any depth."""
        inner = [*self.choices, *self.subsections]
        return [self, *(each for section in inner for each in section.list_nested_sections())]


@dataclass(frozen=True)
class Page:
    """The content of a report page, from top to bottom.

    `lead` are the lines at the top, `questions` a table below them, and `closing` the lines below the table.
    `main_tables` are what a notebook shows of the page; by default the tables of its sections.
    """

    kicker: str
    title: str
    lead: Sequence[str | Sentence]
    sections: Sequence[Section]
    doubts: Sequence[str | Sentence] = ()
    notes: Sequence[str] = ()
    questions: Grid | None = None
    closing: Sequence[str | Sentence] = ()
    main_tables: Sequence[Grid] = ()

    def list_all_sections(self) -> list[Section]:
        """List all sections of the page, including the sections within other sections."""
        return [each for section in self.sections for each in section.list_nested_sections()]

    @property
    def footnote_numbers(self) -> dict[str, int]:
        """The numbers of the footnotes by name, in the order of the page."""
        names = [footnote.name for section in self.list_all_sections() for footnote in section.footnotes]
        return {name: number for number, name in enumerate(names, start=1)}


@cache
def load_templates() -> Environment:
    """Load the Jinja templates of all pages. They escape all values, and raise an error if a value is
    missing.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("metassay.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["encode_json_for_html"] = encode_json_for_html
    environment.filters["escape_name_for_vega"] = escape_name_for_vega
    return environment


def build_content_security_policy(stylesheet: str, scripts: Sequence[str] = ()) -> str:
    """Build a content security policy (CSP) that allows only the given stylesheet and scripts, which it
    identifies by hashes.
    """
    allowed = " ".join(_compute_source_hash(script) for script in scripts if script)
    return "; ".join(
        [
            # Nothing is allowed that is not listed below: reports contain texts of users and may be opened by
            # anybody.
            "default-src 'none'",
            *([f"script-src {allowed}"] if allowed else []),
            f"style-src {_compute_source_hash(stylesheet)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def encode_json_for_html(value: Any) -> Markup:
    """Encode a value as JSON that can be placed safely in a `<script type="application/json">` element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text)  # noqa: S704 -- every character that HTML gives a meaning is escaped above


def _compute_source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def render_stylesheets(*names: str) -> str:
    """Read and join the stylesheets, and insert the colours of the light and the dark scheme."""
    parts = [load_templates().get_template(name).render(tokens=TOKENS, category=CATEGORY) for name in names]
    return "\n".join(parts).strip()


@cache
def read_scripts(*names: str) -> str:
    """Read and join the JavaScript files of the report. `tables.js` comes first because other files use
    it.
    """
    folder = files("metassay.reporting") / "templates"
    return "\n".join((folder / name).read_text("utf-8").strip() for name in ("tables.js", *names))


@cache
def _load_vega_script() -> str:
    """Load the libraries Vega, Vega-Lite and Vega-Embed as one script that works without a network.

    Putting it together takes a second and a half, so it is kept among the user's caches, with its checksum.
    """
    return load_cached_file_or_compute(
        f"vega-{version('vl-convert-python')}.js", _bundle_vega_script
    ).decode()


def _bundle_vega_script() -> bytes:
    from vl_convert import javascript_bundle

    bundle: str = javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # Both would end or change the script element, even inside a JavaScript string.
    return bundle.strip().replace("</script", "<\\/script").replace("<!--", "<\\!--").encode()


def render_page(page: Page) -> str:
    """Render a page as one HTML file that contains its stylesheet, scripts and charts library."""
    has_charts = any(section.charts for section in page.list_all_sections())
    style = render_stylesheets("report.css.j2")
    script = read_scripts("examples.js", "report.js")
    vega = _load_vega_script() if has_charts else ""
    return (
        load_templates()
        .get_template("page.html.j2")
        .render(
            page=page,
            title=page.title,
            notes=list(dict.fromkeys(page.notes)),
            policy=build_content_security_policy(style, [vega, script]),
            style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
            vega=Markup(vega),  # noqa: S704 -- the charts library, no user text
            program=Markup(script),  # noqa: S704 -- our own script, no user text
            themes={
                scheme: {"config": build_vega_config(scheme), "tokens": TOKENS[scheme]}
                for scheme in ("light", "dark")
            },
        )
    )


def render_paper_files(page: Page, figure_format: str | None, table_format: str | None) -> dict[str, bytes]:
    """Render the charts and tables of a page as files for a paper. Returns the contents by file name."""
    sections = page.list_all_sections()
    charts = [chart for section in sections for chart in section.charts]
    grids = [grid for section in sections for grid in (*section.grids, *section.folded)]
    files: dict[str, bytes] = {}
    if figure_format is not None:
        if figure_format not in FORMS:
            raise UnknownName("form of figures", figure_format, FORMS)
        for name, chart in _assign_file_names([(chart.name, chart) for chart in charts]):
            for columns in PAPER:
                files[f"figures/{name}-{columns}.{figure_format}"] = render_figure(
                    chart.spec, figure_format, columns
                )
    if table_format is not None:
        for name, grid in _assign_file_names([(grid.name, grid) for grid in grids]):
            files[f"tables/{name}.{ENDINGS.get(table_format, table_format)}"] = format_grid(
                grid, table_format
            ).encode()
    return files


def _assign_file_names(named_values: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield each value with a unique file name. A name that is already used gets a number."""
    taken: dict[str, int] = {}
    for text, value in named_values:
        name = make_safe_file_name(text)
        taken[name] = taken.get(name, 0) + 1
        yield (name if taken[name] == 1 else f"{name}-{taken[name]}"), value


def build_page_of_tables(title: str, result: Mapping[str, Any]) -> Page:
    """Build a report page that contains only the tables of a result."""
    return Page(title, title, (), [Section(title, grids=build_tables_of_row_lists(result))])


def format_result_repr(class_name: str, main_table: pl.DataFrame, sentences: Sequence[str | Sentence]) -> str:
    """Write the `repr` of a result: the size and columns of its main table, then the first sentence of its
    report page.
    """
    columns = f"{', '.join(main_table.columns[:6])}{' …' if main_table.width > 6 else ''}"
    size = f"{class_name}: {format_plural(main_table.height, 'row')} of {columns}"
    return f"{size}\n{' '.join(str(sentences[0]).split()) if sentences else 'to_frame(), to_dict()'}"


def render_notebook_html(page: Page) -> str:
    """Render the part of a page that a notebook shows, without styles and scripts.

    The parts are the first sentences, the main tables, the closing lines and doubts, and the first chart.
    """
    grids = page.main_tables or [grid for section in page.sections for grid in section.grids]
    short_grids = [
        replace(
            grid,
            rows=grid.rows[:_NOTEBOOK_ROWS],
            rows_left_out=grid.rows_left_out + max(0, len(grid.rows) - _NOTEBOOK_ROWS),
        )
        for grid in grids
    ]
    charts = [chart for section in page.list_all_sections() for chart in section.charts]
    drawing = render_svg(add_chart_legend(charts[0].spec)) if charts else ""
    return (
        load_templates()
        .get_template("fragment.html.j2")
        .render(
            answer=_convert_texts_to_sentences(page.lead[:_NOTEBOOK_SENTENCES]),
            grids=short_grids,
            closing=_convert_texts_to_sentences(page.closing),
            doubts=_convert_texts_to_sentences(page.doubts),
            drawing=Markup(drawing),  # noqa: S704 -- Vega escapes the texts of a drawing
            caption=charts[0].caption if charts else "",
        )
    )


def _convert_texts_to_sentences(texts: Sequence[str | Sentence]) -> list[Sentence]:
    return [text if isinstance(text, Sentence) else Sentence((Span(text),)) for text in texts]
