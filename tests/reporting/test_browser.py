"""The page in a real browser: charts are drawn, hostile text does nothing, the network is never asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scripts.pictures import IMAGES, open_report, read_shown_text

pytestmark = pytest.mark.browser

HOSTILE = {
    "ends the script": "</script><script>window.hacked = 1</script>\"><img src=x onerror='window.hacked = 2'>",
    "is a template": "{{7*7}}{% raw %}${7*7}' onmouseover='window.hacked = 3' x='\u2028\u2029",
    "ends the style": "</style><style>body{display:none}</style></title><svg onload=window.hacked=4>",
    "opens a frame": "]]>\\u003c/script\\u003e<iframe srcdoc='<script>parent.hacked=5</script>'><!--<script>//",
}


class Opened:
    """A page that was opened, and what happened while it was."""

    def __init__(self, context: Any, path: Path) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"pageerror: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
        self.page.evaluate(
            "document.querySelectorAll('.collapsed > details').forEach((each) => { each.open = true })"
        )
        shown = "[...document.querySelectorAll('figure.chart')].filter((each) => each.offsetParent)"
        self.page.wait_for_function(f"{shown}.every((each) => each.dataset.drawn)", timeout=60_000)

    def settled(self) -> list[str]:
        """Everything that went wrong, once nothing is under way any more."""
        self.page.wait_for_timeout(200)
        requests = [f"request: {url[:80]}" for url in self.asked if not url.startswith(("file:", "blob:"))]
        return [*self.said, *requests, *self.page.evaluate("window.trouble")]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts = []

    def open_page(report: Any, **options: Any) -> Opened:
        """Open a report: its input, or its file."""
        path = tmp_path / f"report-{len(contexts)}.html"
        text = report.read_text("utf-8") if isinstance(report, Path) else report.render()
        path.write_text(text, encoding="utf-8")
        contexts.append(browser.new_context(offline=True, accept_downloads=True, **options))
        return Opened(contexts[-1], path)

    yield open_page
    for context in contexts:
        context.close()


def test_charts_are_drawn_and_nothing_goes_wrong(opened, result):
    report = opened(result)
    points = report.page.locator("#accuracy-0-chart-0 svg .mark-symbol path").count()
    cells = report.page.locator("#agreement-1-chart-0 svg .mark-rect path").count()
    methods = report.page.locator("#perturbations-chart-0 svg .mark-rect path").count()
    assert points == 4 * 8  # metrics under assay × systems
    assert cells == 5 * 5  # global and four domains
    assert methods == 7 * 4  # metrics and sentinels × perturbations
    assert report.settled() == []


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_in_every_field_does_nothing(opened, results, kind):
    attack = HOSTILE[kind]
    result = results(text=lambda text: f"{text} {attack}")
    contexts = {}
    for name, column in result.content.contexts.items():
        agreement = msgspec.structs.replace(column.h2, statistic=attack)
        contexts[name] = msgspec.structs.replace(column, h2=agreement)
    manifest = {**result.manifest, "configuration": {attack: [attack, {attack: attack}]}}
    report = opened(replace(result.change(task=attack, contexts=contexts), manifest=manifest))
    page = report.page
    page.locator("#perturbations-chart-0 svg .mark-rect path").first.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    page.evaluate("document.querySelectorAll('summary, button:not(.tool)').forEach((each) => each.click())")
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('iframe, img, svg[onload], [onerror]').length") == 0
    assert page.evaluate("getComputedStyle(document.body).display") != "none"
    assert "49" not in page.locator("h1").inner_text()
    assert report.settled() == []


def test_names_of_javascript_properties_break_no_chart(opened, tmp_path):
    from metassay.workflows.assay import assay

    names = ["__proto__", "constructor", "toString"]
    rows = [
        {"id": str(n), "system": name, "hyp": f"word {n} {name} more of it", "ref": f"word {n} most of it"}
        for n in range(8)
        for name in names
    ]
    table = tmp_path / "names.jsonl"
    table.write_text("\n".join(json.dumps(row) for row in rows))
    options = {"resamples": 20, "permutations": 19, "perturbations": "removal,insertion,swapping"}
    assay(table, metrics="bleu,chrf", contexts=["system"], out=tmp_path / "run", **options)
    report = opened(tmp_path / "run" / "report.html")
    assert report.page.locator("#accuracy-0-chart-0 svg .mark-symbol path").count() == 2 * 3
    assert report.settled() == []


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_data_through_a_whole_run_do_nothing(opened, tmp_path, kind):
    """From a table whose every text, name and column is an attack to the page of its run."""
    from metassay.workflows.assay import assay

    attack = HOSTILE[kind]
    rows = [
        {"id": f"{n} {attack}", "system": f"{s} {attack}", attack: f"{n % 2} {attack}", "src": attack,
         "hyp": f"word {n} {s} {attack} more", "ref": f"word {n} {attack} most"}
        for n in range(8) for s in "ab"
    ]  # fmt: skip
    table = tmp_path / "hostile.jsonl"
    table.write_text("\n".join(json.dumps(row) for row in rows))
    options = {"resamples": 20, "permutations": 19, "perturbations": "removal,insertion,swapping"}
    label = lambda row: row[attack]  # noqa: E731
    label.__name__ = attack
    assay(table, metrics="bleu,chrf", contexts=["system", label], out=tmp_path / "run", **options)
    report = opened(tmp_path / "run" / "report.html")
    report.page.evaluate(
        "document.querySelectorAll('summary, button:not(.tool)').forEach((each) => each.click())"
    )
    assert report.page.evaluate("window.hacked") is None
    assert (
        report.page.evaluate("document.querySelectorAll('iframe, img, svg[onload], [onerror]').length") == 0
    )
    assert report.page.evaluate("getComputedStyle(document.body).display") != "none"
    assert report.settled() == []


def test_the_policy_stops_a_script_that_got_in_after_all(opened, result):
    report = opened(result)
    report.page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))"
    )
    assert report.page.evaluate("window.hacked") is None
    assert any("script-src" in trouble for trouble in report.page.evaluate("window.trouble"))


def test_dark_scheme_redraws_the_charts(opened, result):
    report = opened(result, color_scheme="light")
    light = report.page.locator("#perturbations-chart-0 svg .mark-rect path").first.get_attribute("fill")
    report.page.emulate_media(color_scheme="dark")
    report.page.wait_for_selector("html[data-ready=dark]", state="attached")
    dark = report.page.locator("#perturbations-chart-0 svg .mark-rect path").first.get_attribute("fill")
    assert light != dark
    assert report.settled() == []


def test_printing_in_the_dark_gives_light_charts(opened, result):
    report = opened(result, color_scheme="dark")
    report.page.evaluate(
        "addEventListener('beforeprint', () => { window.printed = document.documentElement.dataset.ready; })"
    )
    report.page.pdf()
    assert report.page.evaluate("window.printed") == "light"
    report.page.wait_for_selector("html[data-ready=dark]", state="attached")


def test_tooltips_can_be_read(opened, result):
    report = opened(result)
    report.page.locator("#perturbations-chart-0 svg .mark-rect path").first.hover(force=True)
    report.page.wait_for_selector("#vg-tooltip-element.visible")
    colours = report.page.evaluate(
        "['#vg-tooltip-element', 'td.key', 'td.value'].map((part, n) => getComputedStyle(document.querySelector("
        "n ? '#vg-tooltip-element ' + part : part))[n ? 'color' : 'backgroundColor'])"
    )
    assert colours[0] not in colours[1:]


def test_a_name_in_the_legend_brings_its_line_out(opened, result):
    report = opened(result)
    key = report.page.locator("#accuracy-0-chart-0 .pick").first
    faint = "[...document.querySelectorAll('#accuracy-0-chart-0 .mark-symbol path')].filter(p => +p.getAttribute('opacity') < .5).length"
    key.press("Enter")
    report.page.wait_for_timeout(200)
    assert key.get_attribute("aria-pressed") == "true"
    assert report.page.evaluate(faint) == 3 * 8  # every metric but the one in focus
    key.press("Enter")
    report.page.wait_for_timeout(200)
    assert report.page.evaluate(faint) == 0


def test_sentinels_outside_the_frame_are_named_and_not_in_the_legend(opened, result):
    report = opened(result)
    figure = report.page.locator("#accuracy-0-chart-0")
    assert "constant" in figure.locator("figcaption").inner_text()
    assert "constant" not in figure.locator(".legend").inner_text()


def test_tables_sort_by_value_with_missing_ones_last(opened, result):
    overall = list(result.content.overall)
    overall[2] = msgspec.structs.replace(overall[2], micro=None)
    report = opened(result.change(overall=overall))
    table = report.page.locator(".table[data-name=overall]")
    names = [heading.inner_text() for heading in table.locator("thead th").all()]
    column = names.index("micro")
    heading = table.locator("thead th").nth(column)
    for direction in ("ascending", "descending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        raw = [
            row.locator("th, td").nth(column).get_attribute("data-v")
            for row in table.locator("tbody tr").all()
        ]
        values = [float(value) for value in raw if value]
        assert raw[-1] == ""
        assert values == sorted(values, reverse=direction == "descending")


def test_tables_download_as_csv_in_full_precision(opened, result):
    report = opened(result)
    with report.page.expect_download() as download:
        report.page.locator(".table[data-name=overall] > .tool").click()
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert download.value.suggested_filename == "overall.csv"
    assert lines[0].startswith("metric,accuracy,")
    assert len(lines) == 1 + len(result.content.overall) + len(result.content.sentinels)
    best = max(result.content.overall, key=lambda row: row.accuracy)
    assert lines[1].split(",")[:3] == [best.metric, str(best.accuracy), str(best.low)]


def test_charts_download_as_svg(opened, result):
    report = opened(result)
    report.page.locator("#perturbations-chart-0").hover()
    with report.page.expect_download() as download:
        report.page.locator("#perturbations-chart-0 .tool").click()
    assert Path(download.value.path()).read_text("utf-8").startswith("<svg")


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_the_page_never_scrolls_sideways(opened, results, width):
    long = "an-exceedingly-long-name-without-any-space-" * 3
    result = results(columns={"system": [f"{long}{n}" for n in range(5)], long: ["a", "b"]})
    report = opened(result, viewport={"width": width, "height": 900})
    assert report.page.evaluate("document.documentElement.scrollWidth") <= width
    assert report.settled() == []


ODD = {
    "one metric": {"metrics": ("bleu",)},
    "one context": {"columns": {"domain": ["news"]}},
    "hundred contexts": {"columns": {"speaker": [f"speaker {n}" for n in range(100)]}},
    "thousand contexts": {
        "columns": {"topic": [f"topic {n}" for n in range(1000)]},
        "metrics": ("bleu", "chrf"),
    },
    "many metrics": {"metrics": tuple(f"metric_{n}" for n in range(25))},
    "buckets": {"columns": {"mqm": ["[-25,-10]", "[-10,-3]", "[-3,0]"]}},
    "sentinels only": {"metrics": ("length", "constant")},
}


@pytest.mark.parametrize("case", ODD)
def test_odd_results_make_a_page_too(opened, results, case):
    report = opened(results(**ODD[case]))
    assert report.page.locator("figure.chart svg").count() == report.page.locator("figure.chart").count()
    assert report.settled() == []


@pytest.mark.parametrize("task", ["mt", "asr", "ranking"])
def test_the_report_of_the_bundled_sample(opened, tmp_path, task):
    from metassay.workflows.assay import demo

    demo(task=task, out=tmp_path / "run")
    report = opened(tmp_path / "run" / "report.html")
    for part in (
        "answer",
        "accuracy",
        "agreement",
        "perturbations",
        "choice",
        "tests",
        "numbers",
        "provenance",
    ):
        assert report.page.locator(f"#{part}").count() == 1
    assert report.page.locator("figure.chart svg").count() == report.page.locator("figure.chart").count() >= 3
    assert report.settled() == []


FIRST_SCREEN = """height => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.height && box.top < height && node.parentElement.checkVisibility()) texts.push(node.textContent);
  }
  return texts.join(" ");
}"""


def test_the_first_screen_of_the_demo_is_the_verdict(browser, tmp_path):
    """Limits of words, numbers and pixels, at two sizes of the window."""
    from metassay.workflows.assay import demo

    demo(out=tmp_path / "run")
    for width, height, screens in ((1400, 900, 1), (390, 844, 2)):
        context = browser.new_context(offline=True, viewport={"width": width, "height": height})
        page = context.new_page()
        page.goto((tmp_path / "run" / "report.html").as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
        assert page.locator(".closing").bounding_box()["y"] < screens * height
        bottom = page.evaluate("document.querySelector('.closing').getBoundingClientRect().bottom")
        assert bottom <= screens * height
        text = page.evaluate(FIRST_SCREEN, height)
        assert len(text.split()) < 130
        assert len(re.findall(r"\d[\d\u202f.,]*", text)) < 25
        assert len(page.inner_text("main").split()) < 2000
        context.close()
    shown = read_shown_text(open_report(browser, tmp_path / "run"), "report")
    assert shown == (IMAGES / "report.txt").read_text("utf-8"), "python -m scripts.pictures"


def test_headings_tables_and_charts_are_labelled(opened, result):
    report = opened(result)
    page = report.page
    assert page.locator("h1").count() == 1
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.caption && t.tHead.rows.length)"
    )
    assert page.evaluate("[...document.querySelectorAll('tbody tr')].every(r => r.cells[0].scope === 'row')")
    assert page.evaluate("[...document.querySelectorAll('.canvas')].every(c => c.getAttribute('aria-label'))")
    targets = "[...document.querySelectorAll('a[href^=\"#\"]')].every(a => document.getElementById(a.hash.slice(1)))"
    assert page.evaluate(targets)
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size") > 10
