"""What MkDocs calls while it builds the site: lines of pages that stand for other text are replaced by it.

    <!-- include PATH -->         the file at PATH, from the root of the repository
    <!-- generated NAME -->       what the function NAME of docs/reference.py makes from gstream's code

A line above that begins with "In a checkout, " says where a reader of the checkout finds the text. The site leaves it
out.

The plots of bench/results/ become files of the site's folder results/.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
LINE = re.compile(r"^(?:In a checkout, [^\n]*\n)?<!-- (include|generated) (\S+) -->$", re.MULTILINE)


def filled(text: str) -> str:
    """A page's text with its lines replaced. Raises OSError where a file is missing, AttributeError for a function."""
    return LINE.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    kind, name = match.groups()
    if kind == "include":
        return (ROOT / name).read_text()
    sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
    try:
        import reference

        return getattr(reference, name)()
    finally:
        del sys.path[:2]


def on_files(files: Any, config: Any) -> Any:
    """Add the plots of bench/results/."""
    from mkdocs.structure.files import File

    for plot in sorted(RESULTS.glob("*.svg")):
        files.append(File.generated(config, f"results/{plot.name}", abs_src_path=str(plot)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the lines of a page."""
    return filled(markdown)
