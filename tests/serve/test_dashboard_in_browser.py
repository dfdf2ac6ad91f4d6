"""The dashboard in a real browser: it is used as people use it, and nothing runs or leaves that should not."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metassay.sample import get_bundled_sample_path
from metassay.serve.server import RunServer
from metassay.workflows.assay import assay, demo
from metassay.workflows.read import read
from run_copies import copy_without_checksums

pytestmark = pytest.mark.browser

FAST = {"resamples": 60, "permutations": 39, "perturbations": "removal,swapping"}
HOSTILE = {
    "ends the script": "</script><script>window.hacked = 1</script>\"><img src=x onerror='window.hacked = 2'>",
    "is a template": "{{7*7}}{% raw %}${7*7}' onmouseover='window.hacked = 3' x='\u2028\u2029",
    "ends the style": "</style><style>body{display:none}</style></title><svg onload=window.hacked=4>",
    "ends the field": '</textarea></select></option>" autofocus onfocus=window.hacked=5 <a href=javascript:window.hacked=6>',
}
WIDTHS = {"wide": 1400, "narrow": 390}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    data = read(get_bundled_sample_path("mt"))
    for seed in (1, 2):
        assay(data, metrics="bleu,chrf,ter", seed=seed, out=folder / f"run-{seed}", **FAST)
    demo(task="asr", out=folder / "speech")
    demo(task="ranking", out=folder / "rankings")
    assay(data, pairs="human", metrics="bleu,chrf", out=folder / "people", resamples=60, permutations=39)
    return folder


class Visit:
    """A browser at a server, and what happened while it was there."""

    def __init__(self, context: Any, url: str) -> None:
        self.url = url.rstrip("/")
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"pageerror: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def go(self, path: str) -> Any:
        assert self.page.goto(self.url + path).status < 400
        return self.page

    def trouble(self) -> list[str]:
        """Everything that went wrong, and every request that went elsewhere."""
        self.page.wait_for_timeout(100)
        away = [url for url in self.requests if not url.startswith((self.url, "data:", "blob:"))]
        return [*self.messages, *away, *self.page.evaluate("window.trouble")]


@pytest.fixture
def visiting(browser: Any) -> Iterator[Callable[..., Visit]]:
    contexts, servers = [], []

    def visit(runs: Path, width: str = "wide", **options: Any) -> Visit:
        server = RunServer([runs], port=0)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        contexts.append(browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, **options))
        return Visit(contexts[-1], server.url)

    yield visit
    for context in contexts:
        context.close()
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.socket.close()


def found(page: Any) -> int:
    """How many pairs the page says fit."""
    return int("".join(c for c in page.locator(".found strong").inner_text() if c.isdigit()))


def open_filters(page: Any) -> None:
    """On a phone the filters are folded."""
    panel = page.locator("#filters > details")
    if panel.get_attribute("open") is None:
        panel.locator("summary").first.click()


def choose(page: Any, name: str, value: str) -> None:
    open_filters(page)
    with page.expect_navigation():
        page.locator(f"#filters select[name={name}]").select_option(value)


PAGES_FOR_AXE = ("/", "/runs/run-1/?metric=bleu&outcome=wrong&order=worst&column=domain", "/runs/rankings/")
"""One page per template: axe takes three seconds for each."""
PAGES = (
    "/",
    "/runs/run-1/",
    "/runs/run-1/?metric=bleu&outcome=wrong&order=worst&column=domain",
    "/runs/run-1/?metric=bleu&outcome=wrong&other_run=run-2&other_metric=bleu&other_outcome=right",
    "/runs/run-1/?system=nobody",
    "/runs/speech/?metric=wer",
    "/runs/rankings/",
    "/runs/people/",
    "/runs/run-1/report",
)


@pytest.mark.parametrize(("width", "scheme"), [("wide", "light"), ("narrow", "dark")])
def test_every_page_is_drawn_without_a_complaint(visiting, made, width, scheme):
    visit = visiting(made, width, color_scheme=scheme)
    for path in PAGES:
        if "report" in path:
            continue
        page = visit.go(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width], path
        assert page.locator("h1").count() == 1
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, ground.strip("rgb()").split(","))) < 200) == (scheme == "dark")
        assert visit.trouble() == [], path


def test_reports_work_in_their_sandbox(visiting, made):
    visit = visiting(made, accept_downloads=True)
    page = visit.go("/runs/run-1/report")
    page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    page.evaluate("document.querySelectorAll('.collapsed > details').forEach((each) => { each.open = true })")
    drawn = "[...document.querySelectorAll('figure.chart')].every((each) => each.dataset.drawn)"
    page.wait_for_function(drawn, timeout=60_000)
    with page.expect_download() as download:
        page.locator(".table[data-name=overall] > .tool").click()
    assert Path(download.value.path()).read_text("utf-8").startswith("metric,")
    assert visit.trouble() == []


def test_a_foreign_report_reads_nothing_of_this_server(visiting, made, tmp_path):
    copy_without_checksums(made / "run-1", tmp_path / "runs" / "foreign")
    script = """
    window.got = [];
    const tried = [];
    for (const path of ["/api/overview", "/runs/foreign/", "/"]) {
      tried.push(fetch(path).then((r) => r.text()).then((t) => window.got.push(t), () => {}));
      tried.push(fetch(path, {mode: "no-cors"}).then((r) => r.text()).then((t) => t && window.got.push(t), () => {}));
      const frame = document.body.appendChild(document.createElement("iframe"));
      tried.push(new Promise((done) => { setTimeout(done, 500); frame.onload = done; frame.src = path; }).then(() => {
        try { window.got.push(frame.contentDocument.body.textContent || 0); } catch {} }));
    }
    tried.push(fetch("/runs/foreign/notes", {method: "POST", mode: "no-cors", body: "text=x"}).catch(() => {}));
    try { window.got.push(document.cookie); } catch {}
    try { window.got.push(localStorage.length); } catch {}
    Promise.all(tried).then(() => { document.title = "done"; });
    """
    (tmp_path / "runs/foreign/report.html").write_text(f"<body><p>hello</p><script>{script}</script>")
    visit = visiting(tmp_path / "runs")
    page = visit.go("/runs/foreign/report")
    page.wait_for_function("document.title === 'done'")
    assert [each for each in page.evaluate("window.got") if each] == []
    assert not (tmp_path / "runs/foreign/notes.txt").exists()


@pytest.mark.parametrize("width", WIDTHS)
def test_filters_narrow_down_and_back_and_forward_walk_through_them(visiting, made, width):
    judged = pl.read_parquet(made / "run-1/results/judgements.parquet").filter("sampled")
    domains = pl.read_parquet(made / "run-1/outputs.parquet").select("item", "system", "domain")
    wrong = judged.filter(pl.col("bleu") == -1)
    news = wrong.join(domains, on=["item", "system"]).filter(pl.col("domain") == "news")
    visit = visiting(made, width)
    page = visit.go("/runs/run-1/")
    seen = [(found(page), page.url)]
    for name, value in (("metric", "bleu"), ("outcome", "wrong"), ("column", "domain"), ("context", "news")):
        choose(page, name, value)
        seen.append((found(page), page.url))
    assert [count for count, _ in seen] == [judged.height] * 2 + [wrong.height] * 2 + [news.height]
    assert (
        page.url.endswith("?metric=bleu&outcome=wrong&column=domain&context=news")
        or "context=news" in page.url
    )
    assert page.locator(".chip").all_inner_texts() == ["BLEU wrong ×", "domain: news ×"]
    for count, url in reversed(seen[:-1]):
        page.go_back()
        assert (found(page), page.url) == (count, url)
        open_filters(page)
        for name in ("metric", "outcome"):  # what the form shows is what the address asks
            assert (page.locator(f"#filters [name={name}]").input_value() != "") == (f"{name}=" in url)
    for count, url in seen[1:]:
        page.go_forward()
        assert (found(page), page.url) == (count, url)
    page.locator(".chip").first.click()
    assert (
        found(page) == domains.join(judged, on=["item", "system"]).filter(pl.col("domain") == "news").height
    )
    assert visit.trouble() == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_text_is_searched_marked_and_paged(visiting, made, width):
    pairs = pl.read_parquet(made / "run-1/pairs.parquet")
    holds = pl.any_horizontal(
        pl.col(side).str.to_lowercase().str.contains("the", literal=True) for side in ("output", "worse")
    )
    wanted = pairs.filter(holds)
    visit = visiting(made, width)
    page = visit.go("/runs/run-1/")
    open_filters(page)
    page.locator("#filters input[name=text]").fill("THE")
    with page.expect_navigation():
        page.locator("#filters input[name=text]").press("Enter")
    assert found(page) == wanted.height
    assert page.url.endswith("/runs/run-1/?text=THE")
    assert page.locator(".pair").count() == 20
    listed = page.locator(".pair .place").all_inner_texts()
    with page.expect_navigation():
        page.locator(".pager a[rel=next]").first.click()
    assert page.url.endswith("page=2")
    assert page.locator(".pair .place").all_inner_texts() != listed
    item, system, method = wanted.row(20)[:3]
    assert all(part in page.locator(".pair .place").first.inner_text() for part in (item, system, method))
    page.go_back()
    assert page.locator(".pair .place").all_inner_texts() == listed
    page.locator(".pager a[aria-label='Last page']").first.click()
    assert page.locator(".pair").count() == (wanted.height - 1) % 20 + 1
    assert page.locator(".pager a[rel=next]").count() == 0
    assert visit.trouble() == []


def test_words_that_changed_are_marked_and_everything_else_is_there(visiting, made):
    pairs = pl.read_parquet(made / "run-1/pairs.parquet")
    page = visiting(made).go("/runs/run-1/")
    for card, row in zip(page.locator(".pair").all(), pairs.iter_rows(named=True)):
        for kind, side, mark in (("kept", "output", "del"), ("worse", "worse", "ins")):
            assert card.locator(f".{kind} dd").inner_text().split() == row[side].split()
            marked = " ".join(card.locator(f".{kind} {mark}").all_inner_texts()).split()
            assert set(marked) <= set(row[side].split())
        assert card.locator("del, ins").count() >= 1


def test_the_order_is_that_of_the_margins_and_the_scores_are_the_examples(visiting, made):
    examples = json.loads((made / "run-1/results/examples.json").read_text())["pairs"]
    widest = max(examples, key=lambda row: row["outcomes"]["bleu"][1] - row["outcomes"]["bleu"][0])
    score, worse, said = widest["outcomes"]["bleu"]
    assert said == -1
    page = visiting(made).go("/runs/run-1/?metric=bleu&outcome=wrong&order=worst")
    texts = page.locator(".pair .judged:has(b:text-is('BLEU')) .scores").all_inner_texts()
    margins = [float(b) - float(a) for a, b in (text.split(" → ") for text in texts)]
    assert margins == sorted(margins, reverse=True)
    shown = f"{score:.4g} → {worse:.4g}"
    place = page.locator(".pair", has_text=widest["item"]).filter(has_text=shown)
    assert place.count() >= 1
    choose(page, "order", "best")
    assert "order=best" in page.url


def test_numbers_lead_to_their_pairs(visiting, made):
    visit = visiting(made)
    page = visit.go("/runs/run-1/?column=domain")
    stored = pl.read_parquet(made / "run-1/results/local_accuracy.parquet").filter(
        pl.col("column") == "domain"
    )
    assert page.locator("#contexts tbody tr").count() == stored["context"].n_unique()
    page.locator("#contexts tbody tr", has_text="news").locator("td a").first.click()
    assert "context=news" in page.url
    assert "outcome=wrong" in page.url
    tally = page.locator(".tallies tbody tr").first.locator("td a")
    assert tally.nth(2).inner_text().startswith("100")
    page.goto(visit.url + "/runs/run-1/")
    link = page.locator(".tallies tbody tr", has_text="chrF").locator("td a").nth(2)
    expected = int("".join(c for c in link.get_attribute("title") if c.isdigit()))
    link.click()
    assert found(page) == expected
    page.locator(".pair .place a").nth(1).click()
    assert "system=" in page.url
    assert visit.trouble() == []


def test_two_runs_side_by_side(visiting, made):
    visit = visiting(made)
    page = visit.go("/runs/run-1/?metric=bleu")
    choose(page, "other_run", "run-2")
    key = ["item", "system", "perturbation"]
    one, two = (
        pl.read_parquet(made / f"run-{n}/results/judgements.parquet").filter("sampled").select(*key, "bleu")
        for n in (1, 2)
    )
    both = one.join(two, on=key, suffix="_2")
    assert f"{both.height:,}" in page.locator(".found").inner_text()
    page.locator(".cross tbody tr", has_text="wrong").locator("td a").first.click()
    assert found(page) == both.filter((pl.col("bleu") == -1) & (pl.col("bleu_2") == 1)).height
    assert page.locator(".pair .other-run").count() == page.locator(".pair").count()
    assert visit.trouble() == []


def test_human_scores_stand_beside_the_pairs(visiting, made):
    page = visiting(made).go("/runs/people/")
    outputs = pl.read_parquet(made / "people/outputs.parquet").select("item", "system", "mqm")
    scores = {(item, system): score for item, system, score in outputs.iter_rows()}
    pairs = pl.read_parquet(made / "people/pairs.parquet")
    for card, row in zip(page.locator(".pair").all(), pairs.iter_rows(named=True)):
        wanted = [
            f"{scores[row['item'], row[side]]:.4g}".replace("-", "−") for side in ("system", "worse_system")
        ]
        assert card.locator(".human").inner_text() == f"human score, mqm {wanted[0]} → {wanted[1]}"


@pytest.mark.parametrize("width", WIDTHS)
def test_runs_are_found_and_sorted(visiting, made, width):
    visit = visiting(made, width)
    page = visit.go("/")
    names = page.locator("#runs tbody tr:visible th").all_inner_texts
    assert names() == ["people", "rankings", "run-1", "run-2", "speech"]
    heading = page.locator("#runs thead th").first
    heading.locator("button").click()
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert names() == ["speech", "run-2", "run-1", "rankings", "people"]
    page.locator("[data-find]").fill("RUN-")
    assert names() == ["run-2", "run-1"]
    assert page.url.endswith("?find=RUN-")
    page.locator("#runs a", has_text="run-1").first.click()
    page.wait_for_url("**/runs/run-1/")
    page.go_back()
    assert names() == ["run-1", "run-2"]
    assert visit.trouble() == []


def test_notes_are_written_and_read(visiting, made, tmp_path):
    shutil.copytree(made / "run-1", tmp_path / "runs/run-1")
    visit = visiting(tmp_path / "runs")
    page = visit.go("/runs/run-1/?metric=bleu&outcome=wrong")
    page.locator("textarea").fill("Names are the problem.\n</textarea><b>bold</b>")
    with page.expect_navigation():
        page.locator("#notes button").click()
    assert page.url.endswith("?metric=bleu&outcome=wrong")
    assert page.locator("textarea").input_value() == "Names are the problem.\n</textarea><b>bold</b>"
    assert (tmp_path / "runs/run-1/notes.txt").read_text() == "Names are the problem.\n</textarea><b>bold</b>"
    assert visit.trouble() == []


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_in_every_field_is_text(visiting, tmp_path, kind):
    attack = HOSTILE[kind]
    rows = [
        {"id": f"{n} {attack}", "system": f"{s} {attack}", attack: f"{n % 2} {attack}", "src": attack,
         "mqm": n, "hyp": f"word {n} {s} {attack} more", "ref": f"word {n} {attack} most"}
        for n in range(8) for s in "ab"
    ]  # fmt: skip
    table = tmp_path / "hostile.jsonl"
    table.write_text("\n".join(json.dumps(row) for row in rows))
    label = lambda row: row[attack]  # noqa: E731
    label.__name__ = attack
    name = "".join(c for c in attack if c not in "/\0")[:80]
    for run in ("one", name):
        folder = tmp_path / "runs" / run
        assay(table, metrics="bleu,chrf", contexts=["system", label], out=folder, resamples=20, permutations=19,
              perturbations="removal,insertion,swapping")  # fmt: skip
        _edit(folder, attack)
    visit = visiting(tmp_path / "runs")
    for path in ("/", "/runs/one/", f"/runs/one/?metric=bleu&other_run={_quoted(name)}", f"/runs/{_quoted(name)}/",
                 f"/runs/one/?metric=bleu&column={_quoted(attack)}&context={_quoted('0 ' + attack)}",
                 f"/runs/one/?text={_quoted(attack[:20])}&item={_quoted(attack)}&system={_quoted(attack)}"):  # fmt: skip
        page = visit.go(path)
        page.evaluate("document.querySelectorAll('summary').forEach((each) => each.click())")
        page.wait_for_timeout(50)
        assert page.evaluate("window.hacked") is None
        there = "document.querySelectorAll('iframe, img[src=x], svg[onload], [onerror], [onfocus], a[href^=javascript]').length"
        assert page.evaluate(there) == 0
        assert page.evaluate("getComputedStyle(document.body).display") != "none"
        assert "49" not in page.locator("h1").inner_text()
    assert visit.trouble() == []


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _edit(folder: Path, attack: str) -> None:
    """Manifest, results and notes as somebody might leave them who edits them by hand."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["state"] = manifest["identity"]["command"] = attack
    manifest["metrics"] |= {attack: attack}
    del manifest["files"]  # with checksums, an edited file would not be read at all
    (folder / "manifest.json").write_text(json.dumps(manifest))
    file = folder / "results" / "assay.json"
    result = json.loads(file.read_text())
    for choices in result["recommendation"].values():
        for choice in choices.values():
            choice["why"] = attack
    result["notes"] = result["warnings"] = [attack]
    file.write_text(json.dumps(result))
    table = folder / "results" / "explorer.parquet"
    frame = pl.read_parquet(table)
    extra = {
        f"context/{attack} more": pl.lit(attack),
        f"human/{attack}": pl.lit(1.5),
        f"outcome/{attack}": pl.lit(-1, pl.Int8),
    }
    frame.with_columns(**extra).write_parquet(table)
    (folder / "notes.txt").write_text(attack)


@pytest.mark.parametrize(("width", "scheme"), [("wide", "light"), ("narrow", "dark")])
def test_axe_finds_nothing_serious(visiting, made, axe, width, scheme):
    visit = visiting(made, width, color_scheme=scheme)
    for path in PAGES_FOR_AXE:
        page = visit.go(path)
        open_filters(page) if page.locator("#filters").count() else None
        page.evaluate(axe)
        result = page.evaluate(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"
        )
        serious = [
            (each["id"], [node["html"][:120] for node in each["nodes"]][:3])
            for each in result["violations"]
            if each["impact"] in {"serious", "critical"}
        ]
        assert serious == [], path
        assert len(result["passes"]) > 10
