from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import random
import re
import subprocess
import sys
from dataclasses import replace

import msgspec

from assay_builders import make_content
from metassay.reporting.assay_page import build_assay_page
from metassay.reporting.pages import (
    build_page_of_tables,
    encode_json_for_html,
    render_notebook_html,
    render_page,
)
from metassay.results.wrong_pairs import ScoredOutcome, WrongPair, WrongPairs

HOSTILE = '</script><img src=x onerror=alert(1)>&amp;\u2028"'


def test_the_same_result_gives_the_same_bytes_in_another_process(result, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(result.content.to_json(), "utf-8")
    program = (
        "import hashlib, msgspec, pathlib, sys\n"
        "from metassay.reporting.assay_page import build_assay_page\n"
        "from metassay.reporting.pages import render_page\n"
        "from metassay.results.assay import AssayContent\n"
        "content = msgspec.json.decode(pathlib.Path(sys.argv[1]).read_bytes(), type=AssayContent)\n"
        "print(hashlib.sha256(render_page(build_assay_page(content)).encode()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7"},
    )
    page = render_page(build_assay_page(result.content))
    assert done.stdout.strip() == hashlib.sha256(page.encode()).hexdigest()


def test_the_policy_names_exactly_the_scripts_and_styles_of_the_page(result):
    page = result.render()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    allowed = set(re.findall(r"sha256-[A-Za-z0-9+/=]+", policy[1].replace("&#43;", "+")))
    inline = re.findall(r"<script>(.*?)</script>", page, re.DOTALL) + re.findall(
        r"<style>(.*?)</style>", page, re.DOTALL
    )
    assert allowed == {
        "sha256-" + base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in inline
    }
    assert len(inline) == 3
    assert "unsafe" not in policy[1]
    assert policy[1].startswith("default-src")


def test_the_page_names_no_address_to_load_from(result):
    markup = re.sub(r"<script.*?</script>", "", result.render(), flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!#)', markup)
    assert not re.search(r"url\(|@import|https?:", markup)


def test_data_blocks_read_back_and_cannot_end_their_element():
    text = encode_json_for_html({"name": HOSTILE})
    assert json.loads(text) == {"name": HOSTILE}
    assert not set("<>&\u2028\u2029") & set(text)


def test_numbers_do_not_depend_on_the_order_of_rows(result):
    rng = random.Random(3)
    overall = rng.sample(result.content.overall, len(result.content.overall))
    contexts = {}
    for name, column in result.content.contexts.items():
        rows = rng.sample(column.local_accuracy, len(column.local_accuracy))
        contexts[name] = msgspec.structs.replace(column, local_accuracy=rows)
    assert result.change(overall=overall, contexts=contexts).render() == result.render()


def test_everything_left_out_is_counted_and_named(result):
    page = result.render()
    assert "systems that are their own reference: 1" in page
    assert "(refA)" in page
    assert "rows without a reference: 12" in page


def test_provenance_is_on_the_page(result):
    page = result.render()
    for text in ("versions.numpy", "2.4", "bleu|v1|sacrebleu:2.6.0", "Made by metassay 0.1.0"):
        assert text in page


def test_how_ties_count_is_said(result):
    assert "a tie is wrong." in result.render()
    half = replace(result, manifest={"identity": {"configuration": {"ties": "half"}}})
    assert "a tie counts half." in half.render()


def test_speech_pairs_are_aligned_with_the_reference(results):
    result = results(task="asr", metrics=("wer",))
    assert "Against the reference, word by word" in result.render()
    # reference: The mayor would not say when the new bridge is going to open.
    # output:    The mayor did   not want to say when the new bridge will open.
    assert "2 substitutions, 2 deletions, 2 insertions" in result.render()


def test_the_least_there_can_be_still_makes_a_page():
    page = render_page(build_assay_page(make_content([])))
    assert "no pair could be scored" in page
    assert page.startswith("<!doctype html>")
    assert len(page) < 60_000  # no charts, no charts library


def test_null_hypotheses_are_said_to_be_untestable(results):
    result = results(columns={"domain": ["news"], "system": ["a", "b"]})
    assert "There is nothing to test" in result.render()


def test_ranked_lists_as_outputs_are_shown(results):
    pair = WrongPair(
        item="1",
        system="s",
        perturbation="swap",
        output=["d1", "d2"],
        worse=["d2", "d1"],
        grades={"d1": 2},
        outcomes={"chrf": ScoredOutcome(1, 1, 0)},
    )
    page = replace(results(task="ranking"), wrong_pairs=WrongPairs(pairs=[pair])).render()
    assert '"lists":[[1,"d1","2","d2","","↑1"],[2,"d2","","d1","2","↓1"]]' in page


def test_doubtful_labels_are_counted(result):
    first, *others = result.wrong_pairs.pairs
    doubtful = msgspec.structs.replace(first, is_doubtful=True)
    wrong_pairs = WrongPairs(pairs=[*others, doubtful], checked=40, doubtful=3)
    page = replace(result, wrong_pairs=wrong_pairs).render()
    assert (
        "In 7.5\u202f% of 40 pairs checked, the worse output is fewer words away from a reference than the"
        " output"
    ) in page
    assert "1 pair with a doubtful label is listed separately." in page


def test_the_fragment_has_no_script_and_escapes(results):
    text = render_notebook_html(build_assay_page(results(text=lambda text: text + HOSTILE).content))
    assert "<script" not in text
    assert "<img" not in text
    assert "To detect errors in single translations, use chrf" in text
    assert text.count("<tr>") == 1 + 3  # one row per question


def test_other_results_show_their_tables_in_a_notebook():
    rows = [{"system": f"s{n}", "metric": HOSTILE, "corpus": n / 7, "pairs": n} for n in range(30)]
    content = {"schema_version": 1, "systems": rows, "comparisons": [], "human": "mqm"}
    text = render_notebook_html(build_page_of_tables("ScoreResult", content))
    assert text.count("<tr>") == 1 + 20
    assert "… and 10 more rows." in text
    assert "0.14" in text
    assert "<img" not in text


def test_markdown_style_templates_in_names_stay_text(results):
    assert "{{7*7}}" in results(text=lambda text: text + "{{7*7}}").render()


def test_a_notebook_shows_closing_lines_doubts_and_a_chart(results):
    page = build_assay_page(results().content)
    text = render_notebook_html(page)
    assert str(page.closing[0]).split("<")[0] in html.unescape(text)
    assert "<svg" in text
    assert "<figcaption>" in text
