"""The folder of a conversion's temporary files: STORE.partial.d, with its lock and its manifest.

manifest.json is replaced atomically (write, rename). So after a kill it describes a state that was reached, and
`--resume` goes on from there. It is trusted only if this version wrote it, for the same input and options, since the
machine last started: nothing here is synced, so after a power cut its data may be missing. An exclusive `flock` on the
file `lock` keeps two conversions away from one name; the kernel drops it on any death.

written.json names files elsewhere, the stripes of the new store and those of the one that it replaces. Whatever of them
the store at STORE does not name in the end is removed, after a kill by the next conversion to that name.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from pagestore.convert.storage import disk_errors
from pagestore.errors import UsageError
from pagestore.faults import disk_error
from pagestore.replacing import lock_file, remove_unlocked
from pagestore.stripes import described

MANIFEST_VERSION = 3
WRITTEN = "written.json"
LOCK_ATTEMPTS = 100  # a lock file can vanish between opening and locking it, once a finishing conversion
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def work_folder_of(store: Path) -> Path:
    """Where the lock, the manifest and (without --workdir) all temporary files of a store's conversion are."""
    return store.with_name(store.name + ".partial.d")


class WorkFolder:
    """Locks STORE.partial.d, opens or replaces what an earlier conversion left there.

    `keep`: leave the files there when the conversion fails. `path`: folder for large temporary files. `manifest`: the
    state that was reached; call `save` after changing it. `resumed`: the state is an earlier conversion's. `replaced`:
    leftovers were removed. `close` removes everything, even if `open` was interrupted.
    """

    def __init__(self, store: Path, workdir: Path | None, keep: bool):
        self.store = store
        self.home = work_folder_of(store)
        self.path = self.home
        if workdir is not None:
            tag = hashlib.sha256(os.fsencode(store.absolute())).hexdigest()[:12]
            self.path = workdir / f"{store.name}.{tag}.partial.d"
        self.keep = keep
        self.resumed = False
        self.replaced = False
        self.manifest: dict[str, Any] = {}
        self._lock, self._locked, self._others = -1, False, False

    def open(self, resume: bool, fingerprint: dict[str, Any]) -> None:
        """Take the lock; with `resume`, go on from the files in the folder, if the fingerprint is the same.

        Raises UsageError when another conversion holds the lock.
        """
        self._take_lock()
        self.manifest = self._open_manifest(resume, fingerprint)

    def _take_lock(self) -> None:
        for _ in range(LOCK_ATTEMPTS):
            with disk_errors(self.home):
                self.home.mkdir(exist_ok=True)
                try:
                    self._lock = os.open(self.home / "lock", os.O_RDWR | os.O_CREAT, 0o666)
                except FileNotFoundError:
                    continue  # the other conversion ended and removed the folder just now
            try:
                if lock_file(self._lock, self.home / "lock"):
                    self._locked = True
                    return
            except BlockingIOError:
                self._others = True
                self._let_go()
                raise UsageError(
                    f"{self.store}: another conversion is writing it now. Wait for it to end, or write to another name."
                ) from None
            except OSError as error:
                self._let_go()
                raise disk_error(error, str(self.home)) from error
            self._let_go()
        raise UsageError(f"{self.home}: other conversions keep taking it. Write to another name.")

    def _let_go(self) -> None:
        lock, self._lock, self._locked = self._lock, -1, False
        os.close(lock)

    def _open_manifest(self, resume: bool, fingerprint: dict[str, Any]) -> dict[str, Any]:
        boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
        wanted = {"version": MANIFEST_VERSION, "boot": boot, "fingerprint": fingerprint}
        text = json.dumps(wanted, sort_keys=True, default=str)
        self._remove_written()
        found = self._read_manifest()
        same = found is not None and json.dumps({k: found.get(k) for k in wanted}, sort_keys=True) == text
        if resume and same and found is not None and self.path.is_dir():
            self.resumed = True
            return found
        left = [name for name in os.listdir(self.home) if name != "lock"]
        self.replaced = bool(left) or self._partial().exists() or (self.path != self.home and self.path.exists())
        self._empty()
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        return json.loads(text)

    def _read_manifest(self) -> dict[str, Any] | None:
        try:
            found = json.loads((self.home / "manifest.json").read_text())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _partial(self) -> Path:
        return self.store.with_name(self.store.name + ".partial")

    def note_files(self, paths: list[str]) -> None:
        """Name files elsewhere before they are made or given up; absolute paths of stripes."""
        target, fresh = self.home / WRITTEN, self.home / "written.new"
        with disk_errors(target):
            fresh.write_text(json.dumps(paths))
            os.replace(fresh, target)

    def _remove_written(self) -> None:
        """Remove the stripes in written.json that the store does not name; none where the store can't be read."""
        try:
            paths = [str(path) for path in json.loads((self.home / WRITTEN).read_text())]
        except (OSError, ValueError, TypeError):
            return
        store = described(self.store)
        if store is None and self.store.exists():
            return
        used = {os.path.basename(name) for name in (() if store is None else store.stripes)}
        for path in paths:
            remove_unlocked(f"{path}.partial")
            if os.path.basename(path) not in used:
                with suppress(OSError):
                    os.unlink(path)

    def _empty(self) -> None:
        self._remove_written()
        self._partial().unlink(missing_ok=True)
        for entry in list(self.home.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != "lock":
                entry.unlink(missing_ok=True)
        if self.path != self.home:
            shutil.rmtree(self.path, ignore_errors=True)

    def save(self) -> None:
        """Replace manifest.json by the present manifest, atomically."""
        target, fresh = self.home / "manifest.json", self.home / "manifest.new"
        with disk_errors(target), open(fresh, "w") as file:
            json.dump(self.manifest, file)
        os.replace(fresh, target)

    def forget(self) -> None:
        """Remove the manifest, before any of what it describes goes: a kill in between leaves nothing to go on from."""
        if self._locked:
            (self.home / "manifest.json").unlink(missing_ok=True)

    def file(self, name: str) -> Path:
        """Path of a temporary file."""
        return self.path / name

    def maybe_file(self, name: str) -> Path | None:
        """The same; None where there is no folder, and all is in memory."""
        return self.file(name)

    def used_bytes(self) -> int:
        """Bytes that the temporary files occupy on disk now."""
        total = 0
        for entry in os.scandir(self.path):
            try:
                total += entry.stat(follow_symlinks=False).st_blocks * 512
            except FileNotFoundError:
                continue
        return total

    def close(self, keep: bool = False) -> None:
        """Unlock; remove everything unless `keep`. May be called again where it was interrupted."""
        if not (self._locked or self._others or keep):
            self._finish_locking()
        if self._locked and not keep and self._is_ours():
            self.forget()
            self._empty()
            # The lock file goes last and while it is locked, so whoever opened it meanwhile notices and retries.
            (self.home / "lock").unlink(missing_ok=True)
        if not (keep or self._others):
            with suppress(OSError):
                self.home.rmdir()  # where it is empty
        if self._lock >= 0:
            self._let_go()

    def _is_ours(self) -> bool:
        """Whether the folder's lock is still the one that was taken: a signal may come once all is removed."""
        try:
            return os.path.samestat(os.fstat(self._lock), os.stat(self.home / "lock"))
        except OSError:
            return False

    def _finish_locking(self) -> None:
        """Lock what `open` was interrupted in making, between any two calls, unless it is another conversion's."""
        with suppress(OSError):
            if self._lock < 0:
                self._lock = os.open(self.home / "lock", os.O_RDWR)
            self._locked = lock_file(self._lock, self.home / "lock")
