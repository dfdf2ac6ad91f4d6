"""Resources: the user's folders come first, and missing resources say how to get them."""

from __future__ import annotations

from pathlib import Path

import pytest

from metassay.text import resources


def test_the_users_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "th_de_DE_v2.dat").write_text("UTF-8\n")
    (tmp_path / "wordnet").mkdir()
    (tmp_path / "wordnet" / "data.noun").write_text("")
    monkeypatch.setenv("METASSAY_RESOURCES", f"/nowhere:{tmp_path}")
    assert resources.find_thesaurus_file("de") == tmp_path / "th_de_DE_v2.dat"
    assert resources.find_wordnet_folder() == tmp_path / "wordnet"


def test_every_resource_says_where_it_is_or_how_to_get_it() -> None:
    for resource in resources.list_resources():
        assert resource.locate() is None or isinstance(resource.locate(), str)
        assert any(command in resource.remedy for command in ("apt install", "pip install"))


def test_the_first_missing_resource_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "find_thesaurus_file", lambda _: None)
    missing = resources.describe_missing_resource("OpenThesaurus", "simplemma", language="de")
    assert missing is not None
    assert "apt install mythes-de" in missing
