"""The page of every verb in a real browser: wide and narrow, by eye and by axe; hostile text stays text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metassay.workflows.aggregate import aggregate
from metassay.workflows.assay import assay
from metassay.workflows.depend import depend
from metassay.workflows.judge import judge
from metassay.workflows.rank import rank
from metassay.workflows.report import report
from metassay.workflows.score import score

pytestmark = pytest.mark.browser

ATTACK = "</script></style><script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=2>{{7*7}}"
FREE = {
    "notes",
    "warnings",
    "signature",
    "sentence",
    "sentences",
    "why",
    "gold",
    "caption",
}
"""Keys of a result under which any text may stand."""
JOINED = ("assay", "rank", "depend", "aggregate")
VERBS = ("assay", "rank", "depend", "aggregate", "judge", "score", "joined")
WORDS = ["the", "cat", "sat", "on", "a", "mat", "with", "two", "red", "birds", "over", "hill"]


def make(folder: Path, name: str = "{}") -> dict[str, Path]:
    """A run of each verb on a small table in which every name is made from the pattern; the pages by verb."""
    folder.mkdir()

    def called(text: str) -> str:
        return name.format(text)

    rows = [
        {
            "seg_id": called(f"{n}"), "system": called(s), "domain": called("ab"[n % 2]), "src": called("src"),
            "hyp": called(" ".join(WORDS[(n + k) % 5 : (n + k) % 5 + 6])), "ref": called(" ".join(WORDS[n % 5 : n % 5 + 7])),
            "mqm": -float((n * 7 + k * 3) % 11), called("m1"): float((n * 5 + k * 2) % 13), called("m2"): float(n % 7 + k),
        }
        for n in range(12) for k, s in enumerate(("one", "two", "three"))
    ]  # fmt: skip
    table = folder / "table.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)))
    texts = folder / "texts.jsonl"
    metrics = {called("m1"), called("m2")}
    texts.write_text("\n".join(json.dumps({k: v for k, v in r.items() if k not in metrics}) for r in rows))
    few: dict[str, Any] = {"resamples": 20, "permutations": 19, "perturbations": "removal,swapping"}
    assay(texts, metrics="bleu,chrf", contexts=["system", "domain"], out=folder / "assay", **few)
    rank(table, metrics=[called("m1"), called("m2")], meta="spa,acc_eq", draws=39, out=folder / "rank")
    both = [called("m1"), called("m2")]
    depend(table, metrics=both, draws=19, bootstraps=10, out=folder / "depend")
    aggregate(texts, metrics="bleu,chrf", resamples=20, repeats=20, out=folder / "aggregate")
    verdicts = [
        {
            "item": r["seg_id"],
            "judge": called("j"),
            "winner": str(1 + n % 2),
            "better": 1,
            "domain": r["domain"],
        }
        for n, r in enumerate(rows[::3])
    ]
    judge(pl.DataFrame(verdicts), out=folder / "judge")
    score(texts, metrics="bleu,chrf", test="bootstrap", draws=50, out=folder / "score")
    report(*(folder / verb for verb in JOINED), out=folder / "joined" / "report.html")
    return {verb: folder / verb / "report.html" for verb in VERBS}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make(tmp_path_factory.mktemp("plain") / "runs")


class Reader:
    """A browser without a network, and what happened while it looked at pages."""

    def __init__(self, browser: Any, width: int, scheme: str) -> None:
        size = {"width": width, "height": 900}
        self.context = browser.new_context(
            viewport=size, color_scheme=scheme, offline=True, accept_downloads=True
        )
        self.said: list[str] = []

    def open(self, path: Path) -> Any:
        page = self.context.new_page()
        page.on("console", lambda message: self.said.append(f"{path.parent.name}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"{path.parent.name}: {error}"))
        page.on("request", lambda request: self._asked(path, request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
        return page

    def _asked(self, path: Path, url: str) -> None:
        if not url.startswith(("file:", "blob:")):
            self.said.append(f"{path.parent.name} asked for {url[:80]}")

    def close(self, page: Any) -> None:
        self.said += page.evaluate("window.trouble")
        page.close()


def used(page: Any) -> None:
    """Look at what is folded away, choose, sort and search as a reader does."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for chooser in page.locator("select[data-choose]").all():
        options = [each.get_attribute("value") for each in chooser.locator("option").all()]
        chooser.select_option(options[-1])
        place = chooser.get_attribute("data-choose")
        assert page.locator(f".choice[data-of='{place}']:not([hidden])").count() == 1
    heading = page.locator(".table thead th:nth-child(2) button").first
    heading.click()
    assert page.locator("th[aria-sort=ascending]").count() == 1
    heading.click()
    assert page.locator("th[aria-sort=descending]").count() == 1
    for field in page.locator(".table > .find input").all()[:1]:
        field.fill("no row has this text")
        block = field.locator("xpath=ancestor::div[contains(@class, 'table')][1]")
        assert block.locator("tbody tr:not([hidden])").count() == 0
        field.fill("")
        assert block.locator("tbody tr[hidden]").count() == 0
    if page.locator("#look").count():
        everything = int(page.locator("#matches").inner_text().split()[2])
        page.locator("#look [name=metric]").select_option("")
        assert page.locator("#matches").inner_text().endswith(f" of {everything} pairs")
        assert page.locator("#pairs .pair").count() > 0
        page.locator("#look [name=text]").fill("no pair has this text")
        assert page.locator("#matches").inner_text().startswith("0 of ")
        page.locator("#look [name=text]").fill("")
        page.locator("#look [name=context]").select_option(index=1)
        assert 0 < int(page.locator("#matches").inner_text().split()[0]) < everything
    page.wait_for_function(
        "[...document.querySelectorAll('figure.chart')].every(f => !f.querySelector('.canvas').clientWidth || f.querySelector('svg'))"
    )


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_every_page_is_drawn_and_can_be_used(browser, pages, width, scheme):
    reader = Reader(browser, width, scheme)
    for path in pages.values():
        page = reader.open(path)
        assert page.locator("h1").count() == 1
        used(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        if page.locator("figure.chart svg").count():
            colour = "getComputedStyle(document.body).backgroundColor"
            before = page.evaluate(colour)
            other = "dark" if scheme == "light" else "light"
            page.emulate_media(color_scheme=other)
            page.wait_for_selector(f"html[data-ready={other}]", state="attached")
            assert page.evaluate(colour) != before
        reader.close(page)
    assert reader.said == []
    reader.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(browser, pages, axe, width, scheme):
    reader = Reader(browser, width, scheme)
    for verb, path in pages.items():
        page = reader.open(path)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.evaluate(axe)
        rules = "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"
        result = page.evaluate(rules)
        serious = [
            (each["id"], [node["html"][:120] for node in each["nodes"]][:3])
            for each in result["violations"]
            if each["impact"] in {"serious", "critical"}
        ]
        assert serious == [], verb
        assert len(result["passes"]) > 10
        page.close()
    reader.context.close()


def edited(value: Any, key: str = "") -> Any:
    """A result or manifest in which somebody wrote the attack wherever any text may stand."""
    if isinstance(value, dict):
        return {name: edited(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [edited(inner, key) for inner in value] + ([ATTACK] if key in {"notes", "warnings"} else [])
    return f"{value}{ATTACK}" if isinstance(value, str) and key in FREE else value


def test_hostile_names_and_hostile_edits_are_text_on_every_page(browser, tmp_path):
    """Names in the data are attacks; then results and manifests are edited, and the pages made again."""
    pages = make(tmp_path / "runs", "{}" + ATTACK.replace("{", "{{").replace("}", "}}"))
    reader = Reader(browser, 1400, "light")
    for again in (False, True):
        for verb, path in pages.items():
            if again:
                _made_again(path.parent, verb)
            page = reader.open(path)
            used(page)
            assert page.evaluate("window.hacked") is None, verb
            assert (
                page.evaluate("document.querySelectorAll('iframe, img, svg[onload], [onerror]').length") == 0
            )
            assert "window.hacked=1" in page.evaluate("document.body.innerText"), verb
            assert "49" not in page.locator("h1").inner_text()
            reader.close(page)
    assert reader.said == []
    reader.context.close()


def _made_again(folder: Path, verb: str) -> None:
    """The page of a run whose result and manifest somebody edited; the joined one of the edited runs."""
    if verb == "joined":
        report(*(folder.parent / each for each in JOINED), out=folder / "report.html")
        return
    for file in (folder / "results" / f"{verb}.json", folder / "manifest.json"):
        file.write_text(json.dumps(edited(json.loads(file.read_text("utf-8")))))
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest |= {"seed": ATTACK, ATTACK: [ATTACK, {ATTACK: ATTACK}]}
    del manifest["files"]  # with checksums, an edited file would not be read at all
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "report.html").unlink()
    report(folder)
