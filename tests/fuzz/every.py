"""All targets of fuzzing. Importing this imports what they read: a fuzzer instruments it as it is imported."""

from __future__ import annotations

from tests.fuzz import coded as fuzz_coded
from tests.fuzz import files as fuzz_files
from tests.fuzz import stores as fuzz_stores
from tests.fuzz import tables as fuzz_tables
from tests.fuzz import texts as fuzz_texts
from tests.fuzz.targets import Target

TARGETS: dict[str, Target] = {
    t.name: t for module in (fuzz_texts, fuzz_files, fuzz_tables, fuzz_stores, fuzz_coded) for t in module.targets()
}
