"""README and documentation quote what the commands print."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import quote_outputs

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.posix
def test_every_quote_is_the_present_output(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "docs"))
    from documented_files import write_documented_files

    write_documented_files(tmp_path)
    old = quote_outputs.find_old_quotes(tmp_path, write=False)
    assert old == [], "run python -m scripts.quote_outputs"


def test_a_quote_gets_the_first_lines_of_the_output(tmp_path, monkeypatch) -> None:
    answers = {"demo": "Use chrF.\n"}
    monkeypatch.setattr(quote_outputs, "print_answer", lambda arguments, _: answers[arguments])
    text = "Before.\n\n<!-- output: metassay demo -->\n```text\nold\nlines\n```\n\nAfter.\n"
    expected = text.replace("old\nlines", "Use chrF.")
    assert quote_outputs.update_quotes(text, tmp_path) == expected


def test_five_users_need_at_most_three_commands_each() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    sections = page.split("\n## ")[1:]
    assert len(sections) == 5
    for section in sections:
        commands = section.partition("```bash\n")[2].partition("```")[0].strip().splitlines()
        assert 1 <= len(commands) <= 3
        quoted = quote_outputs.QUOTE.search(section)
        assert quoted is not None
        assert commands[-1] == f"metassay {quoted['arguments']}"
