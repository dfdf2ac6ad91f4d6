from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import subprocess
import sys
from typing import Any

from metassay.reporting.findings import Choice
from metassay.reporting.html import render, render_fragment
from metassay.reporting.pages import data_block
from metassay.reporting.sections.accuracy import reason

HOSTILE = '</script><img src=x onerror=alert(1)>&amp;\u2028"'


def test_the_same_result_gives_the_same_bytes_in_another_process(result, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result), "utf-8")
    program = (
        "import hashlib, json, pathlib, sys; from metassay.reporting.html import render; "
        "print(hashlib.sha256(render(json.loads(pathlib.Path(sys.argv[1]).read_text('utf-8'))).encode()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    assert done.stdout.strip() == hashlib.sha256(render(result).encode()).hexdigest()


def test_the_policy_names_exactly_the_scripts_and_styles_of_the_page(result):
    page = render(result)
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
    markup = re.sub(r"<script.*?</script>", "", render(result), flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!#)', markup)
    assert not re.search(r"url\(|@import|https?:", markup)


def test_data_blocks_read_back_and_cannot_end_their_element():
    text = data_block({"name": HOSTILE})
    assert json.loads(text) == {"name": HOSTILE}
    assert not set("<>&\u2028\u2029") & set(text)


def test_numbers_do_not_depend_on_the_order_of_rows(result):
    shuffled = json.loads(json.dumps(result))
    rng = random.Random(3)
    rng.shuffle(shuffled["global"])
    for column in shuffled["contexts"].values():
        rng.shuffle(column["local_accuracy"])
    assert render(shuffled) == render(result)


def test_everything_left_out_is_counted_and_named(result):
    page = render(result)
    assert "systems that are their own reference: 1" in page
    assert "(refA)" in page
    assert "rows without a reference: 12" in page


def test_provenance_is_on_the_page(result):
    page = render(result)
    for text in ("versions.numpy", "2.4", "bleu|v1|sacrebleu:2.6.0", "Made by metassay 0.1.0"):
        assert text in page


def test_how_ties_count_is_said(result):
    assert "a tie is wrong." in render(result)
    result["manifest"]["identity"] = {"configuration": {"ties": "half"}}
    assert "a tie counts half." in render(result)


def test_speech_pairs_are_aligned_with_the_reference(results):
    result = results(task="asr", metrics=("wer",))
    assert "Against the reference, word by word" in render(result)
    # reference: The mayor would not say when the new bridge is going to open.
    # output:    The mayor did   not want to say when the new bridge will open.
    assert "2 substitutions, 2 deletions, 2 insertions" in render(result)


def _minimal(**extra: Any) -> dict[str, Any]:
    return {"schema_version": 1, "task": "mt", "global": [], "contexts": {}, **extra}


def test_the_least_there_can_be_still_makes_a_page():
    page = render(_minimal())
    assert "No pair could be scored" in page
    assert page.startswith("<!doctype html>")
    assert len(page) < 60_000  # no charts, no charts library


def test_a_reason_does_not_repeat_the_accuracy_beside_it():
    said = "bleu tells a better output from a worse one in 77 % of pairs on news (95 % interval 75–78). It is alone."
    choices = [
        Choice("bleu", ("bleu",), ("bleu",), said),
        Choice("chrf", ("chrf",), ("chrf",), said),
        Choice("bleu", ("bleu",), ("bleu",), "It is cheap."),
    ]
    assert [reason(choice) for choice in choices] == ["It is alone.", said, "It is cheap."]


def test_null_hypotheses_are_said_to_be_untestable(results):
    result = results(columns={"domain": ["news"], "system": ["a", "b"]})
    assert "There is nothing to test" in render(result)


def test_ranked_lists_as_outputs_are_shown(results):
    result = results(task="ranking")
    pair = {
        "output": ["d1", "d2"],
        "worse": ["d2", "d1"],
        "grades": {"d1": 2},
        "judgements": {"chrf": [1, 1, 0]},
    }
    result["examples"] = {"pairs": [pair]}
    assert '"lists":[[1,"d1","2","d2","","↑1"],[2,"d2","","d1","2","↓1"]]' in render(result)


def test_doubtful_labels_are_counted(results):
    result = results()
    result["examples"] |= {"looked_at": 40, "doubtful": 3}
    result["examples"]["pairs"][0]["doubtful"] = True
    said = (
        "In 7.5\u202f% of 40 pairs looked at, the copy is fewer words away from a reference than the output"
    )
    page = render(result)
    assert said in page
    assert "1 such pair is kept apart." in page


def test_the_fragment_has_no_script_and_escapes(results):
    text = render_fragment(results(text=lambda text: text + HOSTILE))
    assert "<script" not in text
    assert "<img" not in text
    assert "tells a better translation" in text
    assert text.count("<tr>") == 1 + 7


def test_other_results_show_their_tables_in_a_notebook():
    rows = [{"system": f"s{n}", "metric": HOSTILE, "corpus": n / 7, "pairs": n} for n in range(30)]
    text = render_fragment({"schema_version": 1, "systems": rows, "comparisons": [], "human": "mqm"})
    assert text.count("<tr>") == 1 + 20
    assert "… and 10 more rows." in text
    assert "0.143" in text
    assert "<img" not in text


def test_markdown_style_templates_in_names_stay_text(results):
    assert "{{7*7}}" in render(results(text=lambda text: text + "{{7*7}}"))
