"""What the tests of perturbations share."""

from __future__ import annotations

import pytest

from metassay.text import resources


@pytest.fixture
def needs():
    """Skips a test where a dictionary or model is not installed: `needs("synonym", "de")`."""

    def check(perturbation: str, language: str) -> None:
        from metassay.perturbations.registry import parse_perturbation

        missing = parse_perturbation(perturbation).get_installation_hint_for_language(language)
        if missing is not None:
            pytest.skip(missing)

    return check


@pytest.fixture
def no_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any dictionary."""
    monkeypatch.setattr(resources, "find_wordnet_folder", lambda: None)
    monkeypatch.setattr(resources, "find_thesaurus_file", lambda _: None)
    monkeypatch.setattr(resources, "is_package_installed", lambda _: False)
