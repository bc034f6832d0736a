"""Record and item kernels: all of them compile for a GPU, for narrow and wide IDs; what has no C++ twin is refused."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import choice
import numpy as np
import pytest
from compilers import needs_nvcc
from ptx import read_too_early
from sass import text_sections

import gstream.algorithms
from gstream.cudacode import generate
from gstream.cudacode.cuda_printer import cuda_emitter_of
from gstream.cudacode.generate import Unit, UnitShape, flattened, kernels_in, program_text
from gstream.cudacode.records import bits_of, kernel_text, kind_of
from gstream.cudacode.scalar_text import first_test
from gstream.hostcode.records import module_text
from gstream.programs.sssp import SSSP
from gstream.records import RecordKernel, item_kernel, record_kernel
from gstream.records.usual import usual_arguments


def shipped():
    """Every record and item kernel of the algorithms."""
    folder = Path(gstream.algorithms.__file__).parent
    names = sorted(".".join(path.relative_to(folder).with_suffix("").parts) for path in folder.rglob("[a-z]*.py"))
    modules = [import_module(f"gstream.algorithms.{name}") for name in names]
    return [
        kernel
        for module in modules
        for kernel in vars(module).values()
        if isinstance(kernel, RecordKernel) and kernel.module == module.__name__
    ]


@needs_nvcc
@pytest.mark.parametrize(("ids", "weight"), choice.also(("u4", "f4"), ("u8", "u1")))
def test_all_kernels_compile(tmp_path, monkeypatch, ids, weight):
    monkeypatch.setattr(generate, "cache_folder", lambda: tmp_path)
    (tmp_path / "kept").mkdir()
    monkeypatch.setattr(generate, "OPTIONS", (*generate.OPTIONS, "-keep", "-keep-dir", str(tmp_path / "kept")))
    shape = UnitShape(np.dtype(ids), np.dtype(weight))
    texts = [
        flattened(
            "tests",
            ["records.cuh"],
            program_text(SSSP, cuda_emitter_of(SSSP, {"f4": "f32", "u1": "u8"}[weight]), shape, True),
        )
    ]
    kernels = shipped()
    assert len(kernels) > 35
    for number, kernel in enumerate(kernels):  # of one name there may be several
        kinds = [kind_of(value) for value in usual_arguments(kernel, shape.id_dtype, shape.weight_dtype)]
        text = kernel_text(kernel, kinds).replace(f"\n{kernel.name}_kernel(", f"\nk{number}_kernel(")
        texts.append(f"namespace k{number} {{\n{text}\n}}\n")
    text = "\n".join(texts)
    unit = Unit("tests", text, kernels_in(text), 0)
    assert len(unit.kernels) == len(kernels)
    assert set(text_sections(unit.compile("sm_90"))) == set(unit.kernels)
    assert read_too_early((tmp_path / "kept" / "unit.ptx").read_text()) == {name: [] for name in unit.kernels}


def test_what_is_joined_by_or_is_words():
    """atomic_or has no other type; that all compile is seen by tests that take longer."""
    for kernel in shipped():
        arguments = usual_arguments(kernel, np.dtype("u4"), np.dtype("f4"))
        kinds = {name: value.dtype for name, value in zip(kernel.parameters, arguments, strict=True)}
        words = {name: kinds[name] for name, merge in kernel.merges.items() if merge == "or"}
        assert words == dict.fromkeys(words, np.dtype("u8")), kernel.name


def test_numbers_are_their_bits():
    assert bits_of(True) == 1 and bits_of(-1) == bits_of(np.int64(-1)) == (1 << 64) - 1
    assert bits_of(np.float32(1)) == 0x3F800000 and bits_of(np.float64(1)) == 0x3FF0 << 48


@record_kernel(found="sum")
def formats(record, found):
    for u in record.neighbours():
        found[u] = f"{u}"


@record_kernel(found="sum")
def forgets(record, found):
    for u in record.neighbours():
        del u


@record_kernel(found="sum")
def asks_for_a_type(record, found):
    for u in record.neighbours():
        found[u] = found.shape.type(1)


@record_kernel(found="sum")
def only_assigns(record, found):
    mine = found[record.vertex]
    found[record.vertex] = mine + 1


@record_kernel(found="sum")
def counts_first(record, found):
    found[record.vertex] += 1
    if found[record.vertex]:
        return


@record_kernel(found="sum")
def leaves_a_loop(record, found):
    for u in record.neighbours():
        if found[u]:
            return


@record_kernel(words="sum")
def takes_a_name_of_the_walk(record, words):
    for u in record.neighbours():
        words[u] = 1


@record_kernel(found="max")
def passes_over(record, found, open):
    mine = open[record.vertex]
    if mine == 0:
        return
    for u in record.neighbours():
        found[u] = mine


@record_kernel(found="max")
def reads_first(record, found, open):
    for u in record.neighbours():
        if open[u] == 0:
            found[u] = 1


def test_what_has_no_twin_is_refused():
    for kernel, said in ((formats, "f'{u}'"), (forgets, "del u"), (asks_for_a_type, "found.shape.type")):
        with pytest.raises(TypeError) as caught:
            kernel_text(kernel, [("u32", True)])
        assert str(caught.value) == f"no C++ is made of {said!r} in a record kernel"
    with pytest.raises(AssertionError, match="leaves a record"):
        module_text(leaves_a_loop)
    with pytest.raises(AssertionError, match="names of the walk"):
        module_text(takes_a_name_of_the_walk)
    with pytest.raises(AssertionError, match="there is no merge"):
        item_kernel(found="mean")(lambda item, found: None)


def test_a_first_test_is_asked_before_a_list_is_read():
    assert len(first_test(passes_over.tree)) == 2 and first_test(reads_first.tree) == []
    assert first_test(only_assigns.tree) == first_test(counts_first.tree) == []
    text = kernel_text(passes_over, [("u32", True), ("u8", True)])
    assert "bool wanted" in text and text.count("return false;") == 1
