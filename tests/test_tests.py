"""tests/README.md names the folders that there are."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_folder_is_in_the_table() -> None:
    named = set(re.findall(r"^\| `(\w+)/`", (HERE / "README.md").read_text(), re.MULTILINE))
    assert named == {path.parent.name for path in HERE.glob("*/test_*.py")}
