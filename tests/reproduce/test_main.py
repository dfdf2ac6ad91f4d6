"""Every script is run, by two at a time; one that fails is named and keeps no other from running."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reproduce import __main__ as program
from reproduce import ledger

FOLDER = Path(program.__file__).parent
APART = {"small_judge.run", "recommenders.run"}
"""Needs a language model; is called by `recommenders.page`."""


def test_every_script_of_the_folder_is_run() -> None:
    programs = {
        f"{path.parent.name}.{path.stem}"
        for path in FOLDER.glob("*/*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    assert {*program.SCRIPTS, *program.LAST_SCRIPTS} == programs - APART
    named = {entry["script"] for entry in ledger.load_published()["entry"] if "script" in entry}
    assert named <= {name.partition(".")[0] for name in programs}


def test_one_that_fails_is_named_and_the_others_run(tmp_path, monkeypatch, capsys) -> None:
    for name in ("aggregation", "errors"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(program, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["reproduce", str(tmp_path / "nothing"), "--only", "aggregation,errors"])
    monkeypatch.setenv("PYTHONPATH", f"{FOLDER.parent}:{FOLDER.parent / 'src'}")
    with pytest.raises(SystemExit, match=r"aggregation\.run failed\nerrors\.run failed"):
        program.main()
    shown = capsys.readouterr().out
    for name in ("aggregation", "errors"):
        assert f"{name}.run: " in shown
        assert "nothing" in (tmp_path / name / "run.log").read_text(encoding="utf-8")
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == ledger.render_page()


def test_a_folder_that_is_not_there_is_refused(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["reproduce", "data", "--only", "spaa"])
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert "there is no spaa" in capsys.readouterr().err


def test_a_reason_that_no_longer_holds_is_an_error(tmp_path, monkeypatch) -> None:
    reason = {"statement": "there are fewer systems", "figures": "62 of 62", "holds": False}
    entry = {"reasons": [reason], "claims": {}, "values": {}, "uses_random_numbers": False}
    monkeypatch.setattr(program, "FOLDER", tmp_path)
    monkeypatch.setattr(program, "SCRIPTS", ())
    monkeypatch.setattr(program, "LAST_SCRIPTS", ())
    monkeypatch.setattr(program, "load_measured", lambda: {"000 table 5": entry})
    monkeypatch.setattr(sys, "argv", ["reproduce", "data"])
    with pytest.raises(SystemExit, match="no longer a reason: 000 table 5: there are fewer systems"):
        program.main()
    reason["holds"] = True
    program.main()
