"""Machines as files: what a plan has to know of one that is not at hand, and where each figure comes from.

`gstream doctor --save machine.json` writes one of this machine; some come with gstream (`NAMES`). A file is one JSON
object:

    name, about              what it is called and is, in a line
    cores, memory            of the host; bytes
    disk                     bytes/s of reads by several threads
    network                  bytes/s that it sends to other machines, and takes at the same time
    gpus, gpu, gpu_memory    how many, their name, bytes of each
    core_rates, gpu_rates    rates, as of Constants and GpuConstants in cost_equations; what is left out is usual
    convert                  edges/s of conversion by kind of input: text, binary, generate
    core_factors, gpu_factors    what runs there taught of algorithms (gstream.planning.work)
    sources                  field -> "measured ..." or "data sheet ..."; core_rates.c1 names one rate
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gstream.planning.cost_equations import DECODED_A_CORE, Constants, GpuConstants
from pagestore.errors import InputError, UsageError

FOLDER = Path(__file__).resolve().parents[1] / "data" / "machines"
INPUTS = ("text", "binary", "generate")
LIMITS: dict[str, tuple[float, float]] = {
    "cores": (1, 1 << 16), "memory": (1 << 20, 1 << 50), "disk": (1e6, 1e12), "network": (1e6, 1e13),
    "gpus": (0, 1024), "gpu_memory": (1 << 20, 1 << 44),
}  # fmt: skip
FRACTIONS = ("disk", "network")  # of these fields: others are whole numbers
RATES = {
    "core_rates": {entry.name for entry in fields(Constants)}, "convert": set(INPUTS),
    "gpu_rates": {entry.name for entry in fields(GpuConstants)} - {"lanes"},
}  # fmt: skip
RATE_LIMITS = 1e-12, 1e18
MOST_BYTES = 1 << 20  # of a file
MEASURED = "measured"


@dataclass(frozen=True)
class Machine:
    """One machine; see the module. gpus 0: it has none, and gpu_memory says nothing."""

    name: str
    cores: int
    memory: int
    about: str = ""
    disk: float = Constants.disk
    network: float = 1.25e9
    gpus: int = 0
    gpu: str = ""
    gpu_memory: int = 1 << 20
    core_rates: dict[str, float] = field(default_factory=dict)
    gpu_rates: dict[str, float] = field(default_factory=dict)
    convert: dict[str, float] = field(default_factory=dict)
    core_factors: dict[str, float] = field(default_factory=dict)
    gpu_factors: dict[str, float] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def constants(self, gpus: bool) -> Constants:
        """Of its GPUs, or of its cores."""
        kind, rates = (GpuConstants, self.gpu_rates) if gpus else (Constants, self.core_rates)
        made = kind(**{"decode": DECODED_A_CORE * self.cores, **rates})
        return replace(made, disk=self.disk, disk_apart=min(made.disk_apart, self.disk), load=self.disk)

    def is_measured(self, gpus: bool) -> bool:
        """Whether the kernels' rates that a plan rests on were measured on such a machine."""
        part = "gpu_rates" if gpus else "core_rates"
        said = self.sources.get(f"{part}.pull_edges", self.sources.get(part, ""))
        return said.startswith(MEASURED)


def names() -> list[str]:
    """The machines that come with gstream."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def find_machine(given: str | os.PathLike) -> Machine:
    """A machine by its name, or from a file. Raises UsageError for an unknown one, InputError for a file that is none:
    it names the file, the field and its limits."""
    text = os.fspath(given)
    path = FOLDER / f"{text}.json" if text in names() else Path(text)
    try:
        with open(path, encoding="utf-8") as file:
            read = file.read(MOST_BYTES + 1)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(
            f"--machine {text}: {why}. Known are {', '.join(names())}; gstream doctor --save FILE writes one of a "
            "machine at hand."
        ) from None
    if len(read) > MOST_BYTES:
        raise InputError(f"{path}: more than {MOST_BYTES} bytes; a machine's file has some hundred.")
    return machine_of(read, str(path))


def machine_of(text: str, where: str) -> Machine:
    """The machine of a file's text. Raises InputError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is no JSON: {error}. Write it with gstream doctor --save FILE.") from None
    if not isinstance(found, dict):
        raise InputError(f"{where}: is no JSON object. Write it with gstream doctor --save FILE.")
    known = {entry.name: entry for entry in fields(Machine)}
    for name in found:
        if name not in known:
            raise InputError(f"{where}: field {name!r} is unknown; known are {', '.join(known)}. Take it out.")
    for name in ("name", "cores", "memory"):
        if name not in found:
            raise InputError(f"{where}: field {name!r} is missing. Add it.")
    if found.get("gpus") and "gpu_memory" not in found:
        raise InputError(f"{where}: field 'gpu_memory' is missing, and gpus is {found['gpus']!r}. Add it.")
    return Machine(**{name: _checked(where, name, value) for name, value in found.items()})


def _checked(where: str, name: str, value: Any) -> Any:
    if name in LIMITS:
        least, most = LIMITS[name]
        number = _number(f"{where}: field {name!r}", value, least, most)
        if name not in FRACTIONS and number != int(number):
            raise InputError(f"{where}: field {name!r} is {value!r}; it must be a whole number.")
        return number if name in FRACTIONS else int(number)
    if name in ("name", "about", "gpu"):
        if not isinstance(value, str):
            raise InputError(f"{where}: field {name!r} is {value!r}; it must be text.")
        return value
    allowed = RATES.get(name)
    if not isinstance(value, dict):
        raise InputError(f"{where}: field {name!r} is {value!r}; it must be an object.")
    for key, one in value.items():
        if allowed is not None and key not in allowed:
            known = ", ".join(sorted(allowed))
            raise InputError(f"{where}: field '{name}.{key}' is unknown; known are {known}. Take it out.")
        if name != "sources":
            _number(f"{where}: field '{name}.{key}'", one, *RATE_LIMITS)
        elif not isinstance(one, str):
            raise InputError(f"{where}: field '{name}.{key}' is {one!r}; it must be text.")
    return value


def _number(where: str, value: Any, least: float, most: float) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not known or not least <= value <= most:
        raise InputError(f"{where} is {value!r}; it must be a number from {least:g} to {most:g}.")
    return value


def save_machine(machine: Machine, path: str | os.PathLike) -> None:
    """Write a machine's file."""
    Path(path).write_text(json.dumps(asdict(machine), indent=2) + "\n", encoding="utf-8")
