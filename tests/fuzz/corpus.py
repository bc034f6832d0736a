"""The corpus that tests run: of all inputs that fuzzing found, few small ones that reach what all of them reach.

Reached is an arc: one line of pagestore or gstream after another in one function. Compiled functions are traced as
Python. The smallest inputs come first; then those go, the largest first, whose arcs the others have.
"""

from __future__ import annotations

import sys
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.targets import CORPUS, Target, archive_of, kept

ROOT = Path(__file__).resolve().parents[2]
OURS = (str(ROOT / "pagestore"), str(ROOT / "gstream"))
MOST_SECONDS = 20.0  # for the inputs of one target


def arcs_of(target: Target, data: bytes) -> set[tuple[Any, int, int]]:
    """Pairs of lines that an input reaches, by function."""
    found: set[tuple[Any, int, int]] = set()

    def begin(frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(OURS):
            return None
        before = 0

        def line(frame: Any, event: str, argument: Any) -> Any:
            nonlocal before
            if event == "line":
                found.add((code, before, frame.f_lineno))
                before = frame.f_lineno
            return line

        return line

    sys.settrace(begin)
    try:
        target.run(data)
    except Exception as error:
        found.add((type(error).__name__, 0, 0))
    finally:
        sys.settrace(None)
    return found


def smallest(target: Target, inputs: Sequence[bytes]) -> list[bytes]:
    """Those of `inputs` that together reach what all of them do, as far as there is time to look at them."""
    reached: set[tuple[Any, int, int]] = set()
    chosen: dict[bytes, set] = {}
    began = time.monotonic()
    for data in sorted(set(inputs), key=lambda one: (len(one), one)):
        if time.monotonic() - began > MOST_SECONDS:
            break
        arcs = arcs_of(target, data)
        if not arcs <= reached:
            reached |= arcs
            chosen[data] = arcs
    times = Counter(arc for arcs in chosen.values() for arc in arcs)
    for data in sorted(chosen, key=len, reverse=True):
        if all(times[arc] > 1 for arc in chosen[data]):
            times.subtract(chosen.pop(data))
    return list(chosen)


def keep(targets: Sequence[Target], scratch: Path) -> int:
    """Write the archives of `targets`; the exit code."""
    warnings.simplefilter("ignore")
    for target in targets:
        folder = scratch / target.name.replace(" ", "-")
        files = [path for part in ("corpus", "found") for path in folder.glob(f"**/{part}/*")]
        inputs = [*target.seeds(), *kept(target.name), *(path.read_bytes() for path in files)]
        target.run(b"")  # what is made once is made
        chosen = smallest(target, [data for data in inputs if len(data) <= target.longest])
        CORPUS.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(archive_of(target.name), "w") as archive:
            for number, data in enumerate(chosen):
                archive.writestr(zipfile.ZipInfo(f"{number:03d}"), data, zipfile.ZIP_DEFLATED, 9)
        size = archive_of(target.name).stat().st_size
        print(f"{target.name}: {len(chosen)} of {len(set(inputs))} inputs, {size:,} bytes", flush=True)
    return 0
