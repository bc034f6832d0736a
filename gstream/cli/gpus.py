"""What `gstream doctor` says of the GPUs: what they are, how fast their links are, which peers they reach.

nvidia-smi names the driver and the GPUs. A process of its own (gstream.devices.gpu.probe) asks the driver's library,
which may be there without nvidia-smi, and with pycuda it measures the GPUs. It is given up when it does not answer: a
GPU that fails or hangs is a line of the report, never its end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pagestore.sizes import show_bytes

QUERY_SECONDS = 20.0  # a driver that hangs must not hang the doctor
PROBE_SECONDS = 30.0  # for all GPUs; each takes under a second, and CUDA a second or two to start
KILL_SECONDS = 1.0  # a process stuck in the driver does not even die
SILENT = "no answer within"
PROBE = (sys.executable, "-m", "gstream.devices.gpu.probe")
SMI_FIELDS = ("driver_version", "memory.total", "compute_cap", "name")


def ask(command: tuple[str, ...], seconds: float) -> tuple[str, str | None]:
    """Standard output of a program, as far as it came, and what went wrong in a few words, or None. Output goes to
    files: what a program wrote before it hung is read without waiting for it."""
    package = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
        except OSError as error:
            return "", f"can't be started ({error})"
        trouble = None
        try:
            if process.wait(seconds) != 0:
                trouble = f"ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            trouble = f"{SILENT} {seconds:g} s"
        finally:
            _end(process)
        out.seek(0)
        err.seek(0)
        said = err.read().decode(errors="replace").strip().splitlines()
        if trouble and said:
            trouble += f" ({said[-1].strip()})"
        return out.read().decode(errors="replace"), trouble


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        try:
            process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            pass  # nobody can end it


def query(*command: str) -> str | None:
    """Output of a program, or None where it is absent or fails."""
    if shutil.which(command[0]) is None:
        return None
    text, trouble = ask(command, QUERY_SECONDS)
    return None if trouble else text


def gpus(pycuda: bool) -> dict[str, Any]:
    """`gpus`: one dictionary each; `driver` and `cuda`: versions or None (no driver); `gpu_error`: one line or None.

    A GPU has name, memory (bytes) and capability; with pycuda also reaches (numbers of GPUs), pin_rate, to_device,
    from_device (bytes/s), call_s (seconds) and peer_rates (number -> bytes/s), or error where it could not be measured.
    """
    rows, smi_trouble = _smi()
    facts: dict[str, Any] = {"gpus": [row for row, _ in rows], "driver": rows[0][1] if rows else None, "cuda": None}
    facts["gpu_error"] = smi_trouble
    text, trouble = ask(PROBE, PROBE_SECONDS)
    probed: dict[int, dict[str, Any]] = {}
    for line in _objects(text):
        number = line.pop("gpu", None)
        if isinstance(number, int):
            probed.setdefault(number, {}).update(line)
        else:
            facts["cuda"] = line.get("cuda", facts["cuda"])
            facts["gpu_error"] = line.get("error", facts["gpu_error"])
    if not pycuda:
        return facts | {"gpu_error": smi_trouble}  # that pycuda is missing is said by the advice
    if trouble:
        facts["gpu_error"] = trouble
        for gpu in probed.values():
            if "to_device" not in gpu:
                gpu.setdefault("error", f"not measured: {trouble}")
    if probed:  # numbered as --devices cuda:N numbers them, which nvidia-smi may do otherwise
        facts["gpus"] = [probed[number] for number in sorted(probed)]
    return facts


def _smi() -> tuple[list[tuple[dict[str, Any], str]], str | None]:
    """(name, memory in bytes and capability; the driver's version) of each GPU, and what is wrong with nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        return [], None
    for fields in (SMI_FIELDS, tuple(name for name in SMI_FIELDS if name != "compute_cap")):  # old ones lack it
        command = ("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
        text, trouble = ask(command, QUERY_SECONDS)
        if trouble is None or SILENT in trouble:
            break
    if trouble:  # it writes its errors to standard output
        return [], f"nvidia-smi: {trouble}" + (f": {text.strip().splitlines()[-1]}" if text.strip() else "")
    found = []
    for line in text.splitlines():
        row = dict(zip(fields, (part.strip() for part in line.split(",", len(fields) - 1)), strict=False))
        if row.get("memory.total", "").isdigit() and "name" in row:
            gpu = {"name": row["name"], "memory": int(row["memory.total"]) << 20, "capability": row.get("compute_cap")}
            found.append((gpu, row["driver_version"]))
    return found, None


def _objects(text: str) -> list[dict[str, Any]]:
    """The lines that are JSON objects: libraries may print others, and the last may be cut."""
    import json

    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def gpu_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The GPUs as name and value: one line each for what it is and for its rates, or for what is wrong with it."""
    lines = [] if found["gpus"] else [("GPUs", "unknown" if found["cuda"] and not found["pycuda"] else "none")]
    for number, gpu in enumerate(found["gpus"]):
        parts = [gpu["name"], show_bytes(gpu["memory"])]
        parts += [f"compute capability {gpu['capability']}"] if gpu.get("capability") else []
        parts += [_peers(gpu["reaches"])] if len(found["gpus"]) > 1 and "reaches" in gpu else []
        lines.append((f"GPU {number}", ", ".join(parts)))
        if "to_device" in gpu:
            lines.append(("  link", _rates(gpu)))
        if "error" in gpu:
            lines.append(("  error", gpu["error"]))
    cuda = f", runs CUDA up to {found['cuda']}" if found["cuda"] else ""
    lines.append(("driver", (found["driver"] or ("unknown" if cuda else "none")) + cuda))
    if found["gpu_error"]:
        lines.append(("GPU error", found["gpu_error"]))
    return lines


def _peers(reaches: list[int]) -> str:
    return f"reaches GPU {', '.join(map(str, reaches))}" if reaches else "reaches no other GPU"


def _rates(gpu: dict[str, Any]) -> str:
    """Rates for people, in GB/s (10^9 bytes) as links are rated."""
    parts = [
        f"{_gigabytes(gpu['to_device'])} to it",
        f"{_gigabytes(gpu['from_device'])} from it",
        *(f"{_gigabytes(rate)} from GPU {other}" for other, rate in gpu.get("peer_rates", {}).items()),
        f"pinning {_gigabytes(gpu['pin_rate'])}",
        f"{1e6 * gpu['call_s']:.3g} us a call",
    ]
    return ", ".join(parts)


def _gigabytes(rate: float) -> str:
    return f"{rate / 1e9:.3g} GB/s"
