"""Stores made to lead elsewhere: no link, external storage or virtual dataset of HDF5 is followed."""

from __future__ import annotations

import os
import shutil

import h5py
import numpy as np
import pytest

from pagestore.convert import ConvertOptions
from pagestore.errors import StoreError
from pagestore.memory import convert_arrays
from pagestore.store import open_store

PAGES = "topology/out/pages"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    convert_arrays(folder / "good.gs", np.array([1, 2]), np.array([2, 3]), page_bytes=4096)
    (folder / "secret.bin").write_bytes(b"S" * 100_000)
    return folder


def external_link(file):
    del file[PAGES]
    file[PAGES] = h5py.ExternalLink("good.gs", f"/{PAGES}")


def external_group(file):
    del file["topology/out"]
    file["topology/out"] = h5py.ExternalLink("good.gs", "/topology/out")


def external_storage(file):
    shape, dtype = file[PAGES].shape, file[PAGES].dtype
    del file[PAGES]
    file.create_dataset(PAGES, shape, dtype, external=[("secret.bin", 0, h5py.h5f.UNLIMITED)])


def virtual_dataset(file):
    shape, dtype = file[PAGES].shape, file[PAGES].dtype
    del file[PAGES]
    layout = h5py.VirtualLayout(shape, dtype)
    layout[:] = h5py.VirtualSource("good.gs", PAGES, shape)
    file.create_virtual_dataset(PAGES, layout)


def soft_link(file):
    file["elsewhere"] = file[PAGES]
    del file[PAGES]
    file[PAGES] = h5py.SoftLink("/elsewhere")


def link_to_itself(file):
    del file[PAGES]
    file[PAGES] = h5py.SoftLink(f"/{PAGES}")


def compressed(file):
    data = file[PAGES][()]
    del file[PAGES]
    file.create_dataset(PAGES, data=data, chunks=True, compression="gzip")


HOSTILE = (
    external_link, external_group, external_storage, virtual_dataset, soft_link, link_to_itself, compressed,
)  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE, ids=lambda change: change.__name__)
def test_a_store_that_leads_elsewhere_is_refused(good, change):
    path = good / f"{change.__name__}.gs"
    shutil.copy(good / "good.gs", path)
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        change(file)
    with pytest.raises(StoreError) as refusal:
        open_store(path)
    assert "dataset" in str(refusal.value) and str(path) in str(refusal.value)


def test_a_stripe_behind_a_link_to_another_file_is_refused(good, tmp_path):
    (tmp_path / "a").mkdir()
    options = ConvertOptions(page_bytes=4096, stripe=(str(tmp_path / "a"),))
    convert_arrays(tmp_path / "s.gs", np.array([1, 2]), np.array([2, 3]), page_bytes=4096, stripe=options.stripe)
    [stripe] = (tmp_path / "a").iterdir()
    for target, said in (
        (good / "good.gs", "stripe"),
        (good / "secret.bin", "no HDF5 signature"),
        ("/dev/zero", "device"),
    ):
        stripe.unlink()
        os.symlink(target, stripe)
        with pytest.raises(StoreError, match=said):
            open_store(tmp_path / "s.gs")
