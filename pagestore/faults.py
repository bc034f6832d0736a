"""What an error of the system means, in plain words with a remedy: the one place that looks at error numbers.

    no_space(error)       what is full; None for anything else
    shortage(error)       what else ran out (memory, open files); None for anything else
    disk_error(error)     the error to raise where a file was written or made
    read_error(error)     the error to raise where a file was opened or read
    library_error(error)  the error to raise where a library is missing; None where an import failed otherwise

Full disks, limits and devices that fail are ResourceError (exit 5): neither the command line nor the file is wrong.
"""

from __future__ import annotations

import errno
import os
import re

from pagestore.errors import GstreamError, InputError, LibraryMissingError, ResourceError, UsageError, plain

REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)
FAILING = (errno.EIO, errno.EREMOTEIO, errno.ENXIO, errno.ENODEV, errno.ETIMEDOUT, errno.ESTALE)  # of devices, servers
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # what has none says to flock
FULL = {  # what an error number means, and the remedy
    errno.ENOSPC: ("no space left", "Free some space"),
    errno.EDQUOT: ("no space left in the disk quota", "Free some space"),
    errno.EFBIG: ("no space left in the file, whose size is limited", "Raise the limit (ulimit -f)"),
}
_MEMORY = ("out of memory", "Pass a smaller --memory or --host-memory")
_UNLOADED = ("out of memory: a library can't be loaded", "Raise the limit of the address space (ulimit -v)")
_FILES = ("too many open files", "Raise the limit with `ulimit -n 65536`")
SHORT = {errno.ENOMEM: _MEMORY, errno.EMFILE: _FILES, errno.ENFILE: _FILES}
# What the loader of shared libraries says where it gets no memory, and what llvmlite makes of it.
_NOT_LOADED = re.compile(r"failed to map|cannot allocate memory|cannot create shared object|find/load shared object")

_TOLD = re.compile(r"errno = (\d{1,9}), error message|\[errno (\d{1,9})\]")  # by HDF5, after names of files; by Arrow
_UNALLOCATED = re.compile(r"allocation error|not enough memory")  # of the codecs that Arrow calls


def no_space(error: BaseException) -> tuple[str, str] | None:
    """What is full, in plain words, and the remedy; None where the error says something else."""
    return FULL.get(number_of(error))


def shortage(error: BaseException) -> tuple[str, str] | None:
    """What ran out besides space, in plain words, and the remedy; None where nothing did."""
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, ImportError | OSError) and not number_of(error):
        for said, short in ((_NOT_LOADED, _UNLOADED), (_UNALLOCATED, _MEMORY)):
            if said.search(str(error).lower()):
                return short
    return SHORT.get(number_of(error))


def number_of(error: BaseException) -> int:
    """The system's error number, 0 where there is none. HDF5 and Arrow put it into their messages."""
    if number := getattr(error, "errno", None):
        return int(number)
    told = [int(number) for pair in _TOLD.findall(str(error)) for number in pair if number]
    return told[-1] if told and told[-1] in errno.errorcode else 0


def disk_error(error: Exception, where: str) -> GstreamError:
    """Writing failed: ResourceError (disk full or failing, too few files or memory) or UsageError (rights)."""
    full, short = no_space(error), shortage(error)
    if full is not None:
        return ResourceError(f"{where}: {full[0]}. {full[1]}, or write to another disk.")
    if short is not None:
        return ResourceError(f"{where}: {short[0]}. {short[1]}.")
    if number_of(error) in REFUSED:
        return UsageError(f"{where}: can't be written ({reason_of(error)}). Choose another folder.")
    return ResourceError(f"{where}: writing failed ({reason_of(error)}). Check the disk, then run again.")


def read_error(error: Exception, what: str, remedy: str, kind: type[InputError] = InputError) -> GstreamError:
    """Reading failed: ResourceError (too few files or memory, a failing disk), else `kind` with the sentence `remedy`.

    what: where and what failed, without a full stop.
    """
    reason = reason_of(error).lower()
    if (short := shortage(error)) is not None:
        return ResourceError(f"{what} ({short[0]}). {short[1]}.")
    if number_of(error) in FAILING:
        return ResourceError(f"{what} ({reason}). Check the disk, then run again.")
    return kind(f"{what} ({reason}). {remedy}")


def not_installed(package: str, what: str, brings: str = "") -> str:
    """What is said of a package that is not there. what: needs it. brings: what to install; the package itself."""
    return f"{package}: is not installed, and {what} needs it. Install it: pip install {brings or package}"


def library_error(error: ImportError) -> GstreamError | None:
    """LibraryMissingError for a package that is not installed or can't be loaded; None for our own modules."""
    package = (error.name or "").partition(".")[0]
    if package in ("gstream", "pagestore"):
        return None
    if isinstance(error, ModuleNotFoundError) and package:
        return LibraryMissingError(not_installed(package, "this"))
    again = f"Install it again: pip install --force-reinstall {package}" if package else "Install gstream again."
    return LibraryMissingError(f"{package or 'a library'}: can't be loaded ({reason_of(error)}). {again}")


def reason_of(error: Exception) -> str:
    """The words of the system or a library, on one line, without control characters that they quote from a file."""
    number = number_of(error)
    words = os.strerror(number) if number else getattr(error, "strerror", None) or str(error)
    return plain((words or type(error).__name__).splitlines()[0])
