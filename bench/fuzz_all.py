"""All targets of fuzzing. Importing this imports what they read: a fuzzer instruments it as it is imported."""

from __future__ import annotations

from bench import fuzz_files, fuzz_stores, fuzz_texts
from bench.fuzz_targets import Target

TARGETS: dict[str, Target] = {t.name: t for module in (fuzz_texts, fuzz_files, fuzz_stores) for t in module.targets()}
