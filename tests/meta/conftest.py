"""Lets the tests of this folder share `by_hand.py` and `ranking_helpers.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
