"""The picture of the dashboard shows the present page; that of the report is checked with the demo."""

from __future__ import annotations

import pytest
from scripts.pictures import make_dashboard_run, picture_dashboard


@pytest.mark.slow
@pytest.mark.browser
def test_the_picture_of_the_dashboard_is_up_to_date(browser, tmp_path):
    assert picture_dashboard(browser, make_dashboard_run(tmp_path), check=True)
