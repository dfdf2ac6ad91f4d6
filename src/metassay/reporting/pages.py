"""What all pages share: one file that needs no network, with its style, its scripts and a strict policy.

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
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from metassay.errors import UnknownName
from metassay.reporting.charts.theme import (
    CATEGORY,
    FORMS,
    PAPER,
    SLOTS,
    TOKENS,
    Spec,
    config,
    drawn,
    file_name,
    for_paper,
    protect_name,
    with_legend,
)
from metassay.reporting.tables import ENDINGS, Grid, grid_text, plain_grids
from metassay.reporting.wording import Sentence, Span, in_labels, plural
from metassay.text.user_cache import load_or_compute

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class LegendEntry:
    """A metric in the legend that the page writes above a chart; a click brings it out."""

    name: str
    slot: int
    sentinel: bool = False


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification with a name and a caption; `sentinels` are listed in the legend too."""

    name: str
    spec: Spec
    caption: str = ""
    sentinels: Sequence[str] = ()

    @property
    def legend(self) -> list[LegendEntry]:
        """The metrics of a chart whose legend the page writes; empty where the chart draws its own."""
        slots = (self.spec.get("usermeta") or {}).get("slots") or {}
        entries = [LegendEntry(name, slot) for name, slot in slots.items()]
        return [*entries, *(LegendEntry(name, SLOTS, sentinel=True) for name in self.sentinels)]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return Vega-Lite for notebooks that draw it, and a picture for others."""
        spec = with_legend(self.spec) | {"config": config("light"), "width": 640}
        older = spec | {"$schema": str(spec["$schema"]).replace("/v6.", "/v5.")}
        return {
            "application/vnd.vegalite.v6+json": spec,
            "application/vnd.vegalite.v5+json": older,
            "image/svg+xml": drawn(with_legend(self.spec)),
            "text/plain": f"{self.name}: {self.spec['description']}",
        }


@dataclass(frozen=True)
class Footnote:
    """An explanation that sentences refer to by name (`{note:note}`)."""

    name: str
    title: str
    text: str | Sentence


@dataclass(frozen=True)
class Section:
    """A part of a page: sentences, then charts, tables and lists, then subsections.

    Of its `choices` one is shown at a time, and the reader picks which. `template` is a template that shows
    `content` in a way of its own.
    """

    title: str
    sentences: Sequence[str | Sentence] = ()
    charts: Sequence[Chart] = ()
    grids: Sequence[Grid] = ()
    folded: Sequence[Grid] = ()
    choices: Sequence[Section] = ()
    of: str = "metric"
    """What the choices are."""
    beside: bool = False
    """Whether charts stand beside each other where there is room."""
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

    def with_descendants(self) -> list[Section]:
        """Return this section, its choices and its subsections."""
        inner = [*self.choices, *self.subsections]
        return [self, *(each for section in inner for each in section.with_descendants())]


@dataclass(frozen=True)
class Page:
    """Everything that a page shows, top to bottom.

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

    def every_section(self) -> list[Section]:
        """Return all sections with their choices and subsections."""
        return [each for section in self.sections for each in section.with_descendants()]

    @property
    def footnote_numbers(self) -> dict[str, int]:
        """The number of each footnote, by name."""
        names = [footnote.name for section in self.every_section() for footnote in section.footnotes]
        return {name: number for number, name in enumerate(names, start=1)}


@cache
def templates() -> Environment:
    """The templates, in which every value is escaped and none may be missing."""
    environment = Environment(
        loader=PackageLoader("metassay.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data_block"] = data_block
    environment.filters["protect_name"] = protect_name
    return environment


def policy(style: str, scripts: Sequence[str] = ()) -> str:
    """The content security policy that allows exactly this style and these scripts, by their hashes."""
    allowed = " ".join(_hash(script) for script in scripts if script)
    return "; ".join(
        [
            "default-src 'none'",
            *([f"script-src {allowed}"] if allowed else []),
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def data_block(value: Any) -> Markup:
    """JSON for a `<script type="application/json">`: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text)  # noqa: S704 -- every character that HTML gives a meaning is escaped above


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def stylesheet(*names: str) -> str:
    """These stylesheets as one, with the colours of both schemes."""
    parts = [templates().get_template(name).render(tokens=TOKENS, category=CATEGORY) for name in names]
    return "\n".join(parts).strip()


@cache
def program(*names: str) -> str:
    """These scripts of ours as one; `tables.js` comes first, since the others stand on it."""
    folder = files("metassay.reporting") / "templates"
    return "\n".join((folder / name).read_text("utf-8").strip() for name in ("tables.js", *names))


@cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script that needs no network.

    Putting it together takes a second and a half, so it is kept among the user's caches, with its checksum.
    """
    return load_or_compute(f"vega-{version('vl-convert-python')}.js", _bundle).decode()


def _bundle() -> bytes:
    from vl_convert import javascript_bundle

    bundle: str = javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.strip().replace("</script", "<\\/script").replace("<!--", "<\\!--").encode()


def standing_alone(template: str, content: Mapping[str, Any], *, charts: bool) -> str:
    """A template with its content as one file."""
    style, script, vega = (
        stylesheet("report.css.j2"),
        program("examples.js", "report.js"),
        _vega() if charts else "",
    )
    return (
        templates()
        .get_template(template)
        .render(
            **content,
            policy=policy(style, [vega, script]),
            style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
            vega=Markup(vega),  # noqa: S704 -- the charts library, no user text
            program=Markup(script),  # noqa: S704 -- our own script, no user text
            themes={
                scheme: {"config": config(scheme), "tokens": TOKENS[scheme]} for scheme in ("light", "dark")
            },
        )
    )


def render_page(page: Page) -> str:
    """A page as one HTML file."""
    charts = any(section.charts for section in page.every_section())
    notes = list(dict.fromkeys(page.notes))
    return standing_alone("page.html.j2", {"page": page, "title": page.title, "notes": notes}, charts=charts)


@dataclass(frozen=True)
class Rendered:
    """A page as HTML, with every chart and table on it."""

    html: str
    charts: Sequence[Chart]
    grids: Sequence[Grid]


def rendered(page: Page) -> Rendered:
    """A page as HTML, with its charts and tables."""
    sections = page.every_section()
    return Rendered(
        render_page(page),
        [chart for section in sections for chart in section.charts],
        [grid for section in sections for grid in (*section.grids, *section.folded)],
    )


def paper_files(
    charts: Sequence[Chart], grids: Sequence[Grid], figures: str | None, tables: str | None
) -> dict[str, Any]:
    """Figures in the sizes of one and two columns, and tables, as files by their names."""
    files: dict[str, Any] = {}
    if figures is not None:
        if figures not in FORMS:
            raise UnknownName("form of figures", figures, FORMS)
        for name, chart in _distinct([(chart.name, chart) for chart in charts]):
            for columns in PAPER:
                files[f"figures/{name}-{columns}.{figures}"] = for_paper(chart.spec, figures, columns)
    if tables is not None:
        for name, grid in _distinct([(grid.name, grid) for grid in grids]):
            files[f"tables/{name}.{ENDINGS.get(tables, tables)}"] = grid_text(grid, tables).encode()
    return files


def _distinct(named: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Each thing under a name for a file; a name that is taken gets a number."""
    taken: dict[str, int] = {}
    for text, thing in named:
        name = file_name(text)
        taken[name] = taken.get(name, 0) + 1
        yield (name if taken[name] == 1 else f"{name}-{taken[name]}"), thing


def plain_page(name: str, result: Mapping[str, Any]) -> Page:
    """A result that has no page of its own: its tables."""
    return Page(name, name, (), [Section(name, grids=plain_grids(in_labels(result)))])


def in_two_lines(name: str, frame: pl.DataFrame, said: Sequence[str | Sentence]) -> str:
    """A result as Python shows it: how many rows of what, and the first that there is to say of it."""
    columns = f"{', '.join(frame.columns[:6])}{' …' if frame.width > 6 else ''}"
    held = f"{name}: {plural(frame.height, 'row')} of {columns}"
    return f"{held}\n{' '.join(str(said[0]).split()) if said else 'to_frame(), to_dict()'}"


def fragment(page: Page, *, sentences: int = 3, at_most: int = 20) -> str:
    """What a notebook shows of a result: the first sentences and tables, without styles or scripts."""
    grids = page.main_tables or [grid for section in page.sections for grid in section.grids]
    cut = [
        replace(grid, rows=grid.rows[:at_most], left=grid.left + max(0, len(grid.rows) - at_most))
        for grid in grids
    ]
    lead = [text if isinstance(text, Sentence) else Sentence((Span(text),)) for text in page.lead[:sentences]]
    return templates().get_template("fragment.html.j2").render(answer=lead, grids=cut)
