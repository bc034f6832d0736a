"""`gstream warm`: compiles what the first commands would wait for; `--clear` removes what was compiled."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from gstream.cli.terminal import note
from pagestore.sizes import show_bytes, show_seconds, show_things

WEIGHTED = ("bfs", "pagerank", "sssp", "wcc")
COMPILED = ("*.nbi", "*.nbc", "gstream_*.py", "gstream_*.pyc", "gstream_*.cubin")  # Numba's, generated modules, CUDA's


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("warm", short_help="Compile ahead what first runs need.")(warm)


def warm(
    clear: bool = typer.Option(False, "--clear", help="Remove all that was compiled, instead."),
) -> None:
    """Compile the kernels of convert, BFS, PageRank, SSSP and WCC, so that no first run waits for them.

    They are kept in the kernel cache, which `gstream doctor` shows. Other algorithms are compiled at their first run.
    On a GPU, lanes of pages are measured as well.
    """
    if clear:
        files, size = removed()
        print(f"removed {show_things(files, 'file')}, {show_bytes(size)}")
        return
    from gstream.telemetry.compiling import compile_time

    began = time.perf_counter()
    with compile_time() as compiled:
        for kind in warmed():
            note(f"{kind}: ready after {show_seconds(time.perf_counter() - began)}")
    found = kernel_cache()
    print(f"compiled or loaded in {show_seconds(compiled())}; kernel cache {show_bytes(found['bytes'])}")
    for line in found["refused"]:
        note(f"not kept: {line}. Every process compiles again.")


def warmed() -> Iterator[str]:
    """Run the algorithms on small graphs, which compiles their kernels; yields each kind of graph when it is done."""
    from gstream.options.auto_devices import gpus_there

    devices = [["host"], *([["cuda:0"]] if gpus_there() else [])]
    with tempfile.TemporaryDirectory(prefix="gstream-warm-") as folder:
        for kind, edges, options, algorithms in graphs(Path(folder)):
            with opened(edges, Path(folder) / "graph.gs", options) as graph:
                for chosen in devices:
                    for name in algorithms:
                        _run(graph, name, chosen)
            yield kind


def graphs(folder: Path) -> Iterator[tuple[str, Any, dict[str, Any], tuple[str, ...]]]:
    """(the kind of graph, a file or the scale of a generated graph, options of its conversion, algorithms)."""
    names = folder / "names.txt"
    names.write_text("".join(f"v{i} v{i * 7 % 1000}\nv{i % 50} v{i}\n" for i in range(1000)))
    yield "graphs of names", names, {"string_ids": True}, ("bfs", "pagerank")
    for rule, suffix in (("directed", {}), ("undirected", {"directed": False})):
        plain = folder / f"{rule}.txt"
        plain.write_text("".join(f"{i} {i * 7 % 1000}\n{i % 50} {i}\n" for i in range(1000)))
        yield f"{rule} graphs", plain, suffix, ("bfs", "pagerank", "wcc")
        weights = folder / f"{rule}.csv"
        weights.write_text("".join(f"{i},{i * 7 % 1000},{i % 9}.5\n{i % 50},{i},2\n" for i in range(1000)))
        yield f"{rule} graphs with weights", weights, suffix, WEIGHTED
        yield f"larger {rule} graphs", 16, suffix, WEIGHTED


def opened(edges: Path | int, store: Path, options: dict[str, Any]) -> Any:
    """The graph of a file, or of the generator at a scale."""
    import gstream

    if isinstance(edges, int):
        return gstream.generate("rmat", store, scale=edges, weights=True, force=True, verify=True, **options)
    return gstream.convert(edges, store, force=True, verify=True, **options)


def _run(graph: Any, algorithm: str, devices: list[str]) -> None:
    from gstream.planning.calibration import measure_lanes
    from pagestore.errors import GstreamError

    start = "v0" if graph.info["id_kind"] == "strings" else 0
    own = {"source": start} if algorithm in ("bfs", "sssp") else {}
    try:
        engine = graph.engine(devices=devices)
        engine.measure()
        if devices != ["host"]:
            measure_lanes(engine.devices[0].gpu)
        getattr(graph, algorithm)(**own, devices=devices).top(20)
    except GstreamError as error:
        if devices == ["host"]:
            raise
        note(f"{algorithm} on the GPU: {error}")


def kernel_folders() -> list[Path]:
    """The folders that compiled code of gstream's lies in, if they are there."""
    import gstream
    import pagestore
    from pagestore.caches import cache_base, kernel_folders

    found: dict[Path, None] = {}
    for package in (gstream, pagestore):
        for file in Path(str(package.__file__)).parent.rglob("*.py"):
            found |= dict.fromkeys(kernel_folders(str(file)))
    base = cache_base()
    found |= dict.fromkeys((base / "programs", base / "programs" / "__pycache__"))
    return [folder for folder in found if folder.is_dir()]


def compiled_files() -> Iterator[Path]:
    """Files of compiled code, and modules that were generated to be compiled."""
    for folder in kernel_folders():
        for pattern in COMPILED:
            yield from folder.glob(pattern)


def kernel_cache() -> dict[str, Any]:
    """`folder`: where generated programs lie; `beside`: where kernels of gstream's own do; `files`, `bytes`: of all;
    `refused`: why folders are not used."""
    from gstream.hostcode import generate
    from pagestore.caches import cache_base, kernel_folder, kernel_folders, why_refused

    sizes = [path.stat().st_size for path in compiled_files()]
    own = kernel_folder(generate.__file__)
    first = [cache_base() / "programs", kernel_folders(generate.__file__)[0]]
    refused = [why for folder in first if (why := why_refused(folder))]
    return {
        "programs": str(first[0]), "kernels": None if own is None else str(own), "files": len(sizes),
        "bytes": sum(sizes), "refused": refused,
    }  # fmt: skip


def removed() -> tuple[int, int]:
    """Remove all compiled code; (files, bytes) that went."""
    count = size = 0
    for path in compiled_files():
        try:
            found = path.stat().st_size
            os.unlink(path)
        except OSError:  # another process removed it, or the installation is not ours
            continue
        count, size = count + 1, size + found
    return count, size
