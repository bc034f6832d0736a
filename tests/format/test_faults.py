"""Error numbers of the system's, each with its own words, remedy and exit code."""

from __future__ import annotations

import errno
import os

import pytest
from small_stores import random_edges, write_store

from pagestore import open_store
from pagestore.errors import InputError, ResourceError, StoreError, UsageError
from pagestore.faults import disk_error, read_error


def error_of(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (error_of(errno.ENOSPC), ResourceError, "a: no space left. Free some space, or write to another disk."),
        (error_of(errno.ENOMEM), ResourceError, "a: out of memory. Pass a smaller --memory or --host-memory."),
        (error_of(errno.EMFILE), ResourceError, "a: too many open files. Raise the limit with `ulimit -n 65536`."),
        (error_of(errno.EROFS), UsageError, "a: can't be written (Read-only file system). Choose another folder."),
        (ImportError("x.so: failed to map segment from shared object"), ResourceError,
         "a: out of memory: a library can't be loaded. Raise the limit of the address space (ulimit -v)."),
        (OSError("ZSTD compression failed: Allocation error : not enough memory"), ResourceError,
         "a: out of memory. Pass a smaller --memory or --host-memory."),
        (error_of(errno.EIO), ResourceError, "a: writing failed (Input/output error). Check the disk, then run again."),
        *((kind(text), ResourceError, "a: writing failed (Input/output error). Check the disk, then run again.")
          for kind, text in ((OSError, "Error writing bytes to file. Detail: [errno 5] Input/output error"),
                             (RuntimeError, "Can't close '[errno 9]' (errno = 5, error message = '')"))),
    ],
)  # fmt: skip
def test_what_can_not_be_written(error: Exception, kind: type, said: str) -> None:
    found = disk_error(error, "a")
    assert type(found) is kind and str(found) == said


@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (errno.EMFILE, ResourceError, "a can't be opened (too many open files). Raise the limit with `ulimit -n "
         "65536`."),
        (errno.EIO, ResourceError, "a can't be opened (input/output error). Check the disk, then run again."),
        (errno.ESTALE, ResourceError, "a can't be opened (stale file handle). Check the disk, then run again."),
        (errno.EACCES, StoreError, "a can't be opened (permission denied). Check its rights."),
    ],
)  # fmt: skip
def test_what_can_not_be_read(number: int, kind: type, said: str) -> None:
    found = read_error(error_of(number), "a can't be opened", "Check its rights.", StoreError)
    assert type(found) is kind and str(found) == said
    assert isinstance(read_error(error_of(errno.EACCES), "a", "b."), InputError)


@pytest.mark.parametrize("kind", [OSError, RuntimeError, KeyError])
def test_a_disk_that_fails_is_no_damage(tmp_path, monkeypatch, kind):
    """Whatever h5py makes of it; what it says without an error number is damage."""

    write_store(str(tmp_path / "g.gs"), random_edges(vertices=50, edges=300))

    def fail(text):
        def locate(*given):
            raise kind(text)

        return locate

    monkeypatch.setattr(
        "pagestore.hdf5._extents", fail("can't read (file read failed: errno = 5, error message = 'x')")
    )
    with pytest.raises(ResourceError, match=r"can't be opened \(input/output error\)\. Check the disk, then run again"):
        open_store(tmp_path / "g.gs")
    monkeypatch.setattr("pagestore.hdf5._extents", fail("bad object header version number"))
    with pytest.raises(StoreError, match=r"HDF5 can't read it \(.?bad object header version number"):
        open_store(tmp_path / "g.gs")
    monkeypatch.setattr("pagestore.hdf5._extents", fail("object 'topolo\t\x1b[2J' doesn't exist"))  # a name in the file
    with pytest.raises(StoreError, match=r"HDF5 can't read it \(.*topolo\\t\\x1b") as caught:
        open_store(tmp_path / "g.gs")
    assert str(caught.value).isprintable()
