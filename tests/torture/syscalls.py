"""Calls of the system's that fail, or at which a process dies: the n-th that a child makes, in whatever library.

A child installs a filter that has the kernel ask its parent about each such call (seccomp's user notification, Linux
5.5): HDF5, Arrow and every thread are asked for as Python is, and nothing need be compiled. Calls about files that lie
elsewhere than in the folder that is watched go on as ever, uncounted. `supported` says whether this works here.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import re
import select
import signal
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.torture.ordeals import Ended, in_child

# asm/unistd.h, of each machine: by what their first argument is, a path (of *at: their second) or an open file.
BY_PATH = {
    "x86_64": {"open": 2, "truncate": 76, "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86,
               "unlink": 87, "openat": 257, "mkdirat": 258, "unlinkat": 263, "renameat": 264, "linkat": 265,
               "renameat2": 316, "openat2": 437},
    "aarch64": {"mkdirat": 34, "unlinkat": 35, "linkat": 37, "renameat": 38, "truncate": 45, "openat": 56,
                "renameat2": 276, "openat2": 437},
}  # fmt: skip
BY_FILE = {
    "x86_64": {"read": 0, "write": 1, "pread": 17, "pwrite": 18, "readv": 19, "writev": 20, "sendfile": 40,
               "fsync": 74, "fdatasync": 75, "ftruncate": 77, "fallocate": 285, "preadv": 295, "pwritev": 296,
               "copy_file_range": 326, "preadv2": 327, "pwritev2": 328},
    "aarch64": {"ftruncate": 46, "fallocate": 47, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread": 67,
                "pwrite": 68, "preadv": 69, "pwritev": 70, "sendfile": 71, "fsync": 82, "fdatasync": 83,
                "copy_file_range": 285, "preadv2": 286, "pwritev2": 287},
}  # fmt: skip
SECCOMP = {"x86_64": 317, "aarch64": 277}
OPENING = ("open", "openat", "openat2", "creat")
READS = ("read", "pread", "readv", "preadv", "preadv2")
REMOVALS = ("unlink", "unlinkat", "rmdir")
FILLS = ("write", "pwrite", "writev", "pwritev", "pwritev2", "fallocate", "ftruncate", "sendfile", "copy_file_range",
         "mkdir", "mkdirat")  # what a full disk refuses  # fmt: skip
NO_NEW_PRIVILEGES, FILTER_MODE, NEW_LISTENER = 38, 1, 8
ALLOW, ASK = 0x7FFF0000, 0x7FC00000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of the filter's machine
RECEIVE, SEND = 0xC0502100, 0xC0182101
NOTE, REPLY = struct.Struct("<QIIiIQ6Q"), struct.Struct("<QqiI")
GO_ON = 1
LONGEST_PATH = 4096
GONE = (errno.ESRCH, errno.ENOENT, errno.EIO, errno.EFAULT, errno.EBADF)  # who asked has died, or names no file
OPEN_FILE = re.compile(r"/proc/(?:self|\d+)/fd/(\d+)$")


class Fault(NamedTuple):
    """What becomes of the `at`-th call (from 0). code: the error number it fails with; 0: the process is killed ahead
    of it. opening: the number where it opens a file. lasting: the disk stays full, so all that fills it fails then."""

    at: int
    code: int = 0
    opening: int = 0
    lasting: bool = False


class Kinds(NamedTuple):
    """Which calls count: those that change files, with those that remove some; or those that read."""

    reading: bool = False
    removing: bool = False


CHANGES, NOTHING = Kinds(), Fault(-1)


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("first", ctypes.POINTER(_Instruction))]


def names_of(kinds: Kinds) -> dict[int, str]:
    """Which numbers the kernel is to ask about."""
    both = {**BY_PATH[platform.machine()], **BY_FILE[platform.machine()]}
    left = set(REMOVALS) - set(REMOVALS if kinds.removing else ())
    wanted = {*OPENING, *READS} if kinds.reading else both.keys() - set(READS) - left
    return {number: name for name, number in both.items() if name in wanted}


def listener(numbers: list[int]) -> int:
    """The file that tells of this thread's calls of those numbers, and of threads' and processes' that it starts.
    OSError: the kernel does not do that."""
    count = len(numbers)
    asked = [_Instruction(EQUAL, count - place, 0, number) for place, number in enumerate(numbers)]
    whole = [_Instruction(LOAD, 0, 0, 0), *asked, _Instruction(RETURN, 0, 0, ALLOW), _Instruction(RETURN, 0, 0, ASK)]
    program = _Program(len(whole), (_Instruction * len(whole))(*whole))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    file = libc.syscall(SECCOMP[platform.machine()], FILTER_MODE, NEW_LISTENER, ctypes.byref(program))
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(file)


@cache
def supported() -> bool:
    """Whether calls can be watched here: one is."""
    if platform.machine() not in SECCOMP:
        return False
    with TemporaryDirectory(prefix="watched-") as folder:
        try:
            ended, calls = watched(lambda: os.mkdir(f"{folder}/made"), Path(folder))
        except OSError:
            return False
        return ended.code == 0 and calls == 1


class Watcher(threading.Thread):
    """Answers what the kernel asks about a child's calls; calls: how many counted so far; error: what ended it."""

    def __init__(self, folder: Path, kinds: Kinds, fault: Fault) -> None:
        super().__init__()
        self.calls, self.names, self.socket = 0, names_of(kinds), socket.socketpair()
        self.error: BaseException | None = None
        self._roots = {os.path.abspath(folder), os.path.realpath(folder)}
        self._kinds, self._fault, self._full, self._killed = kinds, fault, False, False

    def install(self) -> None:
        """In the child: have its calls watched from now on."""
        file = listener(list(self.names))
        socket.send_fds(self.socket[1], [b"-"], [file])
        os.close(file)

    def run(self) -> None:
        try:
            _, files, _, _ = socket.recv_fds(self.socket[0], 1, 1)
            for file in files:  # none where the child ended before
                try:
                    self._serve(file)
                finally:
                    os.close(file)
        except BaseException as error:
            self.error = error

    def end(self) -> None:
        """The child has ended. Raises what went wrong meanwhile."""
        self.socket[1].close()
        self.join()
        self.socket[0].close()
        if self.error is not None:
            raise self.error

    def _serve(self, file: int) -> None:
        """Answer until the other end of the socket is closed: before Linux 5.9 nothing else says that all is over."""
        ready = select.poll()
        ready.register(file, select.POLLIN)
        ready.register(self.socket[0], select.POLLIN)
        while True:
            asked = dict(ready.poll()).get(file, 0)
            if not asked & select.POLLIN:
                if asked:
                    ready.unregister(file)  # whoever was watched has ended
                    continue
                return
            note = bytearray(NOTE.size)
            try:
                fcntl.ioctl(file, RECEIVE, note)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue  # who asked has died, or was interrupted
                raise
            which, process, _, number, _, _, *arguments = NOTE.unpack(note)
            code = self._code(process, self.names[number], arguments)
            if code is not None:
                with suppress(OSError):  # it has died meanwhile
                    fcntl.ioctl(file, SEND, REPLY.pack(which, 0, -code, 0 if code else GO_ON))

    def _code(self, process: int, name: str, arguments: list[int]) -> int | None:
        """The error number a call fails with, 0 where it goes on; None where the process was killed."""
        if self._killed:
            return None
        try:
            if not self._counts(process, name, arguments):
                return 0
            leader = _leader(process)
        except OSError as error:
            if error.errno not in GONE:
                raise
            return 0
        self.calls += 1
        fault = self._fault
        if self._full and name in FILLS:
            return fault.code
        if self.calls - 1 != fault.at:
            return 0
        if not fault.code:
            self._killed = True
            with suppress(ProcessLookupError):
                os.kill(leader, signal.SIGKILL)
            return None
        self._full = fault.lasting
        return fault.opening if fault.opening and name in OPENING else fault.code

    def _counts(self, process: int, name: str, arguments: list[int]) -> bool:
        if name in BY_FILE[platform.machine()]:
            out = {"sendfile": 0, "copy_file_range": 2}.get(name, 0)
            return self._inside(os.readlink(f"/proc/{process}/fd/{arguments[out]}"))
        at = name != "creat" and name.endswith(("at", "at2"))
        if name in OPENING:
            writes = name == "creat" or self._flags(process, name, arguments) & (os.O_WRONLY | os.O_RDWR) != 0
            if writes == self._kinds.reading:
                return False
        path = _text(process, arguments[1 if at else 0])
        if not os.path.isabs(path):
            here = ctypes.c_int32(arguments[0] & 0xFFFFFFFF).value if at else -1
            path = os.path.join(os.readlink(f"/proc/{process}/{f'fd/{here}' if here >= 0 else 'cwd'}"), path)
        if (opened := OPEN_FILE.match(path)) is not None:
            path = os.readlink(f"/proc/{process}/fd/{opened[1]}")
        return self._inside(path)

    def _inside(self, path: str) -> bool:
        return any(path == root or path.startswith(f"{root}/") for root in self._roots)

    @staticmethod
    def _flags(process: int, name: str, arguments: list[int]) -> int:
        if name == "openat2":
            return int.from_bytes(_memory(process, arguments[2], 8), "little")
        return arguments[2 if name == "openat" else 1]


def _memory(process: int, address: int, size: int) -> bytes:
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def _text(process: int, address: int) -> str:
    """A C string of that process: to the end of its page, and on where that is needed."""
    text = b""
    while b"\0" not in text and len(text) < LONGEST_PATH:
        start = address + len(text)
        piece = _memory(process, start, LONGEST_PATH - start % LONGEST_PATH)
        if not piece:
            raise ProcessLookupError(errno.ESRCH, "its memory is gone")
        text += piece
    return os.fsdecode(text.partition(b"\0")[0])


def _leader(thread: int) -> int:
    """The process that a thread is of."""
    for line in Path(f"/proc/{thread}/status").read_text().splitlines():
        if line.startswith("Tgid:"):
            return int(line.split()[1])
    return thread


def watched(
    action: Callable[[], int | None], folder: Path, kinds: Kinds = CHANGES, fault: Fault = NOTHING
) -> tuple[Ended, int]:
    """`action` in a child, with a fault among its calls about files in `folder`; (how it ended, how many it made)."""
    watcher = Watcher(folder, kinds, fault)

    def run() -> int | None:
        watcher.install()
        return action()

    watcher.start()
    try:
        ended = in_child(run)
    finally:
        watcher.end()
    return ended, watcher.calls


def calls_of(action: Callable[[], int | None], folder: Path, kinds: Kinds = CHANGES) -> int:
    """How many calls an action makes. AssertionError: it failed, with what it said."""
    ended, calls = watched(action, folder, kinds)
    assert ended.code == 0, f"undisturbed, it ended with {ended.code}: {ended.said.strip()[-2000:]}"
    return calls
