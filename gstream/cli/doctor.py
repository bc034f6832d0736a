"""`gstream doctor`: what this machine has, and how to install what is missing."""

from __future__ import annotations

import mmap
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import typer

from gstream.cli.gpus import gpu_lines, gpus, query
from gstream.cli.terminal import note, print_json, print_pairs
from gstream.cli.warm import kernel_cache
from gstream.options.written import refuse_existing
from pagestore.cores import usable_cores
from pagestore.errors import UsageError
from pagestore.sizes import show_bytes, show_things

LIBRARIES = ("numpy", "numba", "h5py", "isal", "zstandard", "pandas", "pyarrow", "typer")
PROBE_BYTES = 256 << 20
PROBE_BLOCK_BYTES = 8 << 20


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("doctor", short_help="What this machine has.")(doctor)


def doctor(
    disk: Path = typer.Option(Path("."), "--disk", metavar="FOLDER", help="Folder whose disk is measured."),
    save: Path = typer.Option(
        None, "--save", metavar="FILE", help="Write this machine's figures for gstream plan --machine FILE."
    ),
    force: bool = typer.Option(False, "--force", help="Replace FILE if it exists."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """Show cores, memory, disk rate, libraries, GPUs and their links, and how to install what is missing."""
    import platform

    from gstream.cudacode import toolkit

    if not disk.is_dir():
        raise UsageError(f"--disk {disk}: no such folder. Name one whose disk is to be measured.")
    if save is not None:
        refuse_existing(save, force, "machine.json")
    pycuda = version("pycuda")
    found = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": usable_cores(),
        "memory": memory(),
        "disk": disk_rate(disk),
        "libraries": {name: version(name) for name in LIBRARIES},
        "compiler": compiler(),
        "kernel_cache": kernel_cache(),
        **gpus(pycuda is not None),
        "nvcc": nvcc(),
        "cpp": toolkit.cpp_path(),
        "lacking_headers": toolkit.lacking_headers(),
        "pycuda": pycuda,
    }
    if save is not None:
        save_figures(save, found["disk"]["read_rate"])
        note(f"written {save}: gstream plan ALGORITHM --machine {save} plans for this machine.")
    advice = missing(found)
    if json:
        print_json({**found, "advice": advice})
        return
    print_pairs(lines(found))
    for line in advice:
        print(line)


def save_figures(path: Path, disk: float | None) -> None:
    """Measure this machine's cores and GPUs, as far as no run has, and write them to `path`."""
    from gstream.planning.machines import save_machine
    from gstream.planning.this_machine import this_machine

    save_machine(this_machine(disk), path)


def memory() -> dict[str, int]:
    """Bytes of memory: `total` (the smaller of the machine's and the control group's) and `available`."""
    from gstream.options.memory import memory as found

    return dict(zip(("total", "available"), found(), strict=True))


def disk_rate(folder: Path) -> dict[str, Any]:
    """Free bytes of the folder's disk and its read rate in bytes/s, past the page cache where O_DIRECT works."""
    result: dict[str, Any] = {"folder": str(folder.resolve())}
    usage = shutil.disk_usage(folder)
    result |= {"free": usage.free, "total": usage.total}
    if usage.free < 4 * PROBE_BYTES or not os.access(folder, os.W_OK):
        return result | {"read_rate": None, "direct": None}
    import tempfile

    block = mmap.mmap(-1, PROBE_BLOCK_BYTES)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".gstream-doctor-") as probe:
        for _ in range(PROBE_BYTES // PROBE_BLOCK_BYTES):
            probe.write(os.urandom(PROBE_BLOCK_BYTES // 64) * 64)
        probe.flush()
        os.fsync(probe.fileno())
        os.posix_fadvise(probe.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            handle, direct = os.open(probe.name, os.O_RDONLY | os.O_DIRECT), True
        except OSError:  # some file systems (tmpfs, overlay) have no O_DIRECT
            handle, direct = os.open(probe.name, os.O_RDONLY), False
        try:
            began, done = time.perf_counter(), 0
            while done < PROBE_BYTES and (got := os.preadv(handle, [block], done)):
                done += got
            return result | {"read_rate": done / (time.perf_counter() - began), "direct": direct}
        finally:
            os.close(handle)


def version(name: str) -> str | None:
    """Version of an installed distribution, or None."""
    import importlib.metadata  # slow to import, and `gstream --help` imports this file

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def compiler() -> dict[str, Any]:
    """Whether Numba compiles here, and for which processor."""
    try:
        import llvmlite.binding
        import numba
    except ImportError:
        return {"works": False, "processor": None}

    began = time.perf_counter()
    works = numba.njit(lambda x: x + 1)(1) == 2
    return {
        "works": bool(works),
        "processor": llvmlite.binding.get_host_cpu_name(),
        "seconds": time.perf_counter() - began,
    }


def cache_line(found: dict[str, Any]) -> str:
    """Where compiled code is kept, and how much of it there is."""
    places = f"programs in {found['programs']}, gstream's own in {found['kernels'] or 'no folder'}"
    refused = "".join(f"; not used: {why}" for why in found["refused"])
    return f"kernel cache of {show_bytes(found['bytes'])} in {show_things(found['files'], 'file')}: {places}{refused}"


def nvcc() -> str | None:
    """Release of the CUDA compiler, or None."""
    from gstream.cudacode.toolkit import nvcc_path

    text = query(nvcc_path() or "nvcc", "--version") or ""
    return next((part.split(",")[0] for part in text.split("release ")[1:]), None)


def missing(found: dict[str, Any]) -> list[str]:
    """One line a thing that is missing, or does not work, and what to do about it."""
    advice = []
    absent = [name for name, known in found["libraries"].items() if known is None]
    if absent:
        advice.append(f"missing: {', '.join(absent)}. Install: {sys.executable} -m pip install {' '.join(absent)}")
    advice += missing_for_gpus(found) if found["gpus"] or found["cuda"] else []
    failing = [f"GPU {number}: {gpu['error']}" for number, gpu in enumerate(found["gpus"]) if "error" in gpu]
    failing += [f"GPUs: {found['gpu_error']}"] if found["gpu_error"] and not failing else []
    remedy = "See whether nvidia-smi works and what dmesg says; --devices host needs no GPU."
    advice += [f"failing: {line}. {remedy}" for line in failing]
    return advice or ["nothing is missing" + ("" if found["gpus"] else "; no GPU: programs run on the host's cores")]


def missing_for_gpus(found: dict[str, Any]) -> list[str]:
    """The same for what GPUs need; headers only until pycuda is there, which a wheel may have brought without them."""
    advice = []
    if not found["cpp"]:
        uses = "to compile kernels" if found["pycuda"] else "to build pycuda and to compile kernels"
        advice.append(f"missing: g++, {uses}. Install: apt install g++")
    if not found["nvcc"]:
        advice.append("missing: nvcc, to compile kernels. Install the CUDA toolkit that matches the driver.")
    if not found["pycuda"]:
        packages = {"cuda.h": "the CUDA toolkit", "curand.h": "the CUDA toolkit", "Python.h": "apt install python3-dev"}
        advice += [f"missing: {name}, to build pycuda. Install: {packages[name]}" for name in found["lacking_headers"]]
        advice.append(f"missing: pycuda, to use the GPU. Install: {sys.executable} -m pip install pycuda")
    return advice


def lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The findings as aligned name and value."""
    disk, compiles = found["disk"], found["compiler"]
    if disk["read_rate"]:
        way = "O_DIRECT" if disk["direct"] else "buffered"
        rate = f"reads {show_bytes(disk['read_rate'])}/s ({way})"
    else:
        rate = "not measured: folder not writable, or less than 1 GiB free"
    return [
        ("python", f"{found['python']} ({sys.executable})"),
        ("system", found["system"]),
        ("cores", str(found["cores"])),
        (
            "memory",
            "{total} of which {available} available".format(**{k: show_bytes(v) for k, v in found["memory"].items()}),
        ),
        ("disk", f"{disk['folder']}: {show_bytes(disk['free'])} free of {show_bytes(disk['total'])}, {rate}"),
        ("libraries", ", ".join(f"{name} {known or 'MISSING'}" for name, known in found["libraries"].items())),
        (
            "compiler",
            f"numba for {compiles['processor']}; {cache_line(found['kernel_cache'])}"
            if compiles["works"]
            else "numba does not work",
        ),
        *gpu_lines(found),
        ("nvcc", found["nvcc"] or "none"),
        ("pycuda", found["pycuda"] or "none"),
    ]
