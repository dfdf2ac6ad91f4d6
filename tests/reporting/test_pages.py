"""What all pages share."""

from pathlib import Path

import pytest

from metassay.reporting import pages


def test_the_charts_script_is_kept_whole_or_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of it would leave a page without charts, and no word."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = pages._load_vega_script.__wrapped__()
    (kept,) = (tmp_path / "metassay").iterdir()
    assert kept.read_text("utf-8").endswith(made)
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda _: "made again")
    assert pages._load_vega_script.__wrapped__() == made
    for broken in (kept.read_bytes()[:-100], b"\xff", kept.read_bytes().replace(b"vega", b"evil")):
        kept.write_bytes(broken)
        assert pages._load_vega_script.__wrapped__() == "made again"
    kept.unlink()
    kept.mkdir()
    assert pages._load_vega_script.__wrapped__() == "made again"


def test_who_has_no_home_gets_a_page_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert "vegaEmbed" in pages._load_vega_script.__wrapped__()
