"""The translation unit of a program: its text for one kind of graph, its kernels' arguments, its cubin in the cache.

The unit is self-contained: scalars.cuh, the program's functions in place of program.cuh, then the kernels of cuda/.
The cubin's name carries a hash of text, compiler and options, so that a second process compiles nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gstream.cudacode.cuda_printer import PARAMETERS, TOTAL_PARAMETERS, CudaEmitter, cuda_emitter_of, opening
from gstream.cudacode.toolkit import nvcc_path
from gstream.hostcode.generate import cache_folder, premakes_messages, sums_anew
from gstream.language.relaxing import is_in_place
from gstream.language.scalar_types import type_of_dtype
from pagestore.errors import DeviceMissingError, GstreamError, UsageError

# -fmad=false: a fused multiply-add rounds once where the host rounds twice, and kernels are bound by memory.
OPTIONS = ("-std=c++17", "-O3", "-fmad=false")
UNITS = 256  # that a process keeps
COMPILE_SECONDS = 300  # a compiler that hangs must not hang the run
INCLUDE = re.compile(r'^#include "([\w.]+)"\n', re.MULTILINE)
GUARD = re.compile(r"#ifndef (GSTREAM_\w+)\n#define \1\n(.*)#endif\n", re.DOTALL)
SIZE = re.compile(r"^constexpr u32 (\w+) = (\d+);", re.MULTILINE)
KERNEL = re.compile(r"^KERNEL\s+__launch_bounds__\((\w+)(?:, (\w+))?\)\s+(\w+)\(([^)]*)\)", re.MULTILINE)
SUMS = """struct Sums {
    f64 of[TOTALS + 1];
};
"""


@dataclass(frozen=True)
class UnitShape:
    """What a unit depends on beside its program: dtypes of IDs, weights (None: no weights) and degrees."""

    id_dtype: np.dtype
    weight_dtype: np.dtype | None = None
    degree_dtype: np.dtype = field(default_factory=lambda: np.dtype("<u4"))


@dataclass(frozen=True)
class Kernel:
    """One kernel: threads of a block; blocks that a processor takes at once (0: not said); its arguments as ("const
    Word*", "words"), all 8 bytes wide. The last one of a program's kernels is the context, by value: HostCode.ints and
    floats."""

    name: str
    threads: int
    blocks: int
    arguments: tuple[tuple[str, str], ...]

    def packing(self, context_bytes: int) -> str:
        """The arguments as a struct format, as PyCUDA's `prepare` wants it."""
        codes = {"u64": "Q", "Context": f"{context_bytes}s"}
        return "".join(codes.get(kind, "P") for kind, _ in self.arguments)


@dataclass(frozen=True, eq=False)
class Unit:
    """The CUDA C++ of one program on one kind of graph. Made once for each, so that one is known by itself."""

    program: str
    text: str
    kernels: dict[str, Kernel]
    context_bytes: int

    def compile(self, architecture: str) -> Path:
        """The cubin for an architecture such as "sm_90", from the cache folder or made by nvcc. Raises
        DeviceMissingError without nvcc, GstreamError if nvcc refuses the text."""
        nvcc = find_nvcc()
        stat = os.stat(nvcc)  # stands for the version, which would take a process to ask for
        key = repr((self.text, nvcc, stat.st_size, stat.st_mtime_ns, OPTIONS, architecture))
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        path = cache_folder() / f"gstream_{self.program}_{digest}.{architecture}.cubin"
        if not path.exists():
            _run_nvcc(nvcc, self.text, architecture, path)
        return path


@lru_cache(maxsize=UNITS)
def unit_of(
    program: Any, shape: UnitShape, in_place: bool | None = None, files: tuple[str, ...] = ()
) -> Unit:  # fmt: skip
    """The unit of a Program class. in_place: how it relaxes (gstream.language.relaxing); None: as a run without a
    limit. files: of cuda/, whose kernels it has; (): all that the program runs.

    Raises UsageError if it reads weights and the graph has none."""
    weight = None if shape.weight_dtype is None else type_of_dtype(shape.weight_dtype)
    emitter = cuda_emitter_of(program, weight)
    if ("e", "weight") in emitter.reads() and weight is None:
        raise UsageError(
            f"{program.__name__}: reads e.weight, but the graph has no weights. Convert it with a weight column, or "
            "choose another program."
        )
    in_place = is_in_place(program, emitter) if in_place is None else in_place
    written = program_text(program, emitter, shape, in_place)
    text = flattened(program.__name__, files or kernel_files(program, emitter, in_place), written)
    context_bytes = 8 * (len(emitter.int_names) + len(emitter.float_names))
    return Unit(program.__name__, text, kernels_in(text), context_bytes)


@lru_cache(maxsize=UNITS)
def unit_of_page_kernels(name: str, files: tuple[str, ...], shape: UnitShape) -> Unit:
    """The unit of page kernels, which need the widths of a graph and no program: BFS stands in for one."""
    from gstream.programs.bfs import BFS

    text = flattened(name, files, program_text(BFS, cuda_emitter_of(BFS, None), shape, True))
    return Unit(name, text, kernels_in(text), 0)


def unit_of_components(shape: UnitShape) -> Unit:
    """The unit of union-find (gstream.devices.gpu.forest_tree)."""
    return unit_of_page_kernels("components", ("unionfind.cu", "bits.cu"), shape)


@lru_cache(maxsize=1)
def unit_of_rows() -> Unit:
    """The unit of tables of answers (gstream.devices.gpu.row_kernels), one for all graphs."""
    text = flattened("rows", ("rows.cu",), "")
    return Unit("rows", text, kernels_in(text), 0)


@lru_cache(maxsize=1)
def unit_of_mirrors() -> Unit:
    """The unit of mirrors (gstream.devices.gpu.mirrors), one for all graphs."""
    text = flattened("mirrors", ("mirrors.cu",), "")
    return Unit("mirrors", text, kernels_in(text), 0)


def kernel_files(program: Any, emitter: CudaEmitter, in_place: bool) -> list[str]:
    """The files of cuda/ whose kernels the program runs."""
    idempotent = program.combine.idempotent
    if program.value.length:
        pull = "vector_pull_least.cu" if idempotent else "vector_pull_sum.cu"
        return ["vector_vertices.cu", "vector_push.cu", pull, "frontier.cu", "peers.cu", "bits.cu"]
    sums = ["pull_sum.cu", "notify.cu", "prefix.cu", "cutting.cu", "tiles.cu"]
    names = ["vertices.cu", "push.cu", *(["pull_least.cu"] if idempotent else sums)]
    weighed = ("e", "weight") in emitter.reads("send")
    if "done" in program.methods and in_place and not weighed:
        names.append("heads.cu")
    if program.combine.name == "MIN" and in_place and weighed:
        names.append("near.cu")
    elif in_place and "halt" not in program.methods:
        names.append("ahead.cu")
    return [*names, "frontier.cu", "peers.cu", "bits.cu"]


def program_text(program: Any, emitter: CudaEmitter, shape: UnitShape, in_place: bool) -> str:
    """What cuda/program.cuh stands for, made from the program."""
    value, got, reads = program.value.name, emitter.types.got, emitter.reads()
    types = {
        "Word": type_of_dtype(shape.id_dtype),
        "Weight": (emitter.types.weight or "u8") if ("e", "weight") in reads else "u8",
        "Degree": type_of_dtype(shape.degree_dtype),
        "Value": value,
        "Got": got,
        "Message": value if program.value.is_float else got,
    }
    truths = {
        "IDEMPOTENT": program.combine.idempotent,
        "IN_PLACE": in_place,
        "HAS_DONE": "done" in program.methods,
        # What a vertex got is its value only where no `apply` makes another one of it.
        "STOPS_EARLY": "done" in program.methods and "apply" not in program.methods,
        "USES_EDGE": ("e", "weight") in emitter.reads("send"),
        "PREMADE": premakes_messages(program, emitter),
        "USES_DEGREE": "degree" in {name for _, name in reads},
        "READS_ITSELF": ("v", "value") in emitter.reads("apply"),
        "SUMS_ANEW": sums_anew(program, emitter),
        "USES_IN_DEGREE": "in_degree" in {name for _, name in reads},
        "CHOOSES": "activate" in program.methods,
    }
    lines = [f"typedef {kind} {name};" for name, kind in types.items()]
    lines += ["", "enum Monoid { SUM, MIN, MAX, OR };", f"constexpr Monoid COMBINE = {program.combine.name};"]
    lines += [f"constexpr bool {name} = {str(truth).lower()};" for name, truth in truths.items()]
    lines += [
        f"constexpr int TOTALS = {len(program.totals)};",
        f"constexpr u32 LENGTH = {max(1, program.value.length)};",
    ]
    lines += ["", emitter.context(), SUMS]
    return "\n".join([*lines, "namespace program {", *_functions(program, emitter), "}  // namespace program", ""])


def _functions(program: Any, emitter: CudaEmitter) -> list[str]:
    """The program's methods, what stands for those it does not define, and helpers that depend on it."""
    value, got = program.value.name, emitter.types.got
    identity = program.identity()
    same = "fresh == before" + (" || (fresh != fresh && before != before)" if program.value.is_float else "")
    vector = program.value.length > 0
    chosen = "activate" in program.methods and not vector  # a change that does not matter is not taken
    apply = "applied" if chosen else "apply"
    texts = [emitter.method(name, apply if name == "apply" else None) for name in program.methods if name != "halt"]
    given = {name: emitter.listed(parameters) for name, parameters in PARAMETERS.items()}

    def define(kind: str, name: str, parameters: str, *lines: str) -> None:
        texts.append("\n".join([opening(kind, name, parameters), *(f"    {line}" for line in lines), "}", ""]))

    if "apply" not in program.methods:
        define(value, apply, given["apply"], f"return {_default_apply(program, '[i]' if vector else '')};")
    if chosen:
        taken = _names(given["activate"]).replace("v_value, v_before", "fresh, v_value")
        lines = (
            f"const Value fresh = applied({_names(given['apply'])});",
            f"return activate({taken}) ? fresh : v_value;",
        )
        define(value, "apply", given["apply"], *lines)
    missing = {"done": "false"} | ({"activate": "true"} if vector else {})
    for name, answer in missing.items():
        if name not in program.methods:
            define("bool", name, given[name], f"return {answer};")
    define(value, "identity", "", f"return {emitter._constant(identity, value)};")
    define(got, "no_got", "", f"return {emitter._constant(identity, got)};")
    define("bool", "changed", "Value fresh, Value before", f"return !({same});")
    parameters = emitter.listed(TOTAL_PARAMETERS)
    arguments = _names(parameters)
    sums = [f"sums.of[{k}] += {emitter.total_name(name)}({arguments});" for k, name in enumerate(program.totals)]
    define("void", "add_totals", f"Sums& sums, {parameters}", *sums)
    return texts


def _names(parameters: str) -> str:
    """The names of a function's parameters, as a call gives them on."""
    return ", ".join(item.split()[-1].strip("*&") for item in parameters.split(", "))


def _default_apply(program: Any, element: str) -> str:
    """What `apply` returns where the program has none. element: what reads one of a vector."""
    got, old = f"got{element}", f"v_value{element}"
    if not program.combine.idempotent:
        return f"{'' if program.value.is_float else 'wrap_'}{program.value.name}({got})"
    if program.combine.name == "OR":
        return f"{old} | {got}"
    return f"{got} {'<' if program.combine.name == 'MIN' else '>'} {old} ? {got} : {old}"


def sources() -> Path:
    """The folder of the kernels: gstream/cuda of an installation, cuda/ beside gstream/ in a checkout."""
    installed = Path(__file__).parent.parent / "cuda"
    return installed if installed.is_dir() else installed.parent.parent / "cuda"


def flattened(name: str, files: Iterable[str], program: str) -> str:
    """All files that `files` of cuda/ include, each once, then these; `program` in place of program.cuh."""
    folder, seen = sources(), set()
    pieces = [f"// Generated by gstream from {name}; its kernels are cuda/*.cu.\n"]

    def add(file: str) -> None:
        if file in seen:
            return
        seen.add(file)
        text = (folder / file).read_text()
        for included in INCLUDE.findall(text):
            add(included)
        text = program if file == "program.cuh" else GUARD.sub(r"\2", INCLUDE.sub("", text))
        pieces.append(f"// ---- {file} ----\n{text.rstrip()}\n")

    for file in files:
        add(file)
    return "\n".join(pieces)


def kernels_in(text: str) -> dict[str, Kernel]:
    """The kernels of a unit's text."""
    sizes = {name: int(number) for name, number in SIZE.findall(text)}
    return {found[3]: _kernel(found, sizes) for found in KERNEL.finditer(text)}


def _kernel(found: re.Match[str], sizes: dict[str, int]) -> Kernel:
    threads, blocks, name, listed = found.groups()
    arguments = []
    for item in listed.split(","):
        kind, argument = item.replace("__restrict__", "").rsplit(maxsplit=1)
        arguments.append((" ".join(kind.split()), argument))
    return Kernel(name, sizes[threads], sizes.get(blocks, 0), tuple(arguments))


@lru_cache(maxsize=1)
def find_nvcc() -> str:
    """Where nvcc is. Raises DeviceMissingError."""
    found = nvcc_path()
    if found is None:
        raise DeviceMissingError(
            "nvcc: not found, and kernels for GPUs are compiled by it. Install the CUDA toolkit "
            "(apt install nvidia-cuda-toolkit, or developer.nvidia.com/cuda-downloads), or set CUDA_HOME."
        )
    return found


def _run_nvcc(nvcc: str, text: str, architecture: str, path: Path) -> None:
    """Compile `text` into `path`, in a folder beside it: another process sees no half-written cubin."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="nvcc-") as folder:
        source, out = Path(folder) / "unit.cu", Path(folder) / "unit.cubin"
        source.write_text(text)
        command = [nvcc, *OPTIONS, f"-arch={architecture}", "-cubin", "-o", str(out), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
        except subprocess.TimeoutExpired:
            raise GstreamError(
                f"{nvcc}: did not compile {path.name} within {COMPILE_SECONDS} s. Check that the machine is not out of "
                "memory, and that nvcc compiles anything at all."
            ) from None
        if done.returncode != 0:
            kept = path.with_suffix(".cu")
            shutil.copyfile(source, kept)
            lines = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line or "fatal" in line]
            reason = lines[0].strip() if lines else f"exit status {done.returncode}"
            raise GstreamError(
                f"{kept}: nvcc does not compile it for {architecture}: {reason}. Use a toolkit that knows this GPU "
                "(CUDA 12 or newer), or report this file."
            )
        os.replace(out, path)
