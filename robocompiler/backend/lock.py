"""One compile at a time in a folder: an advisory lock that the kernel releases even if its holder is killed."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from robocompiler.errors import CompileError

LOCK_FILE = ".robocompiler.lock"
_POLL = 0.05  # s
_PATIENCE = 1.0  # s before the user is told why nothing happens


@contextmanager
def build_lock(
    folder: Path, *, timeout: float | None = None, message: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold the lock of `folder` (made if missing) for the `with` block.

    After one second of waiting `message` is called once with the reason.  `timeout` (s) bounds the wait; None waits as
    long as it takes.  The lock file stays in the folder: removing it would let two waiters lock two different files.
    CompileError if the wait is over, or the folder cannot be used.  The lock is not re-entrant.
    """
    descriptor = _open(folder)
    try:
        _acquire(descriptor, folder, timeout, message)
        yield
    finally:
        os.close(descriptor)  # releases the lock


def _open(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(folder / LOCK_FILE, flags, 0o644)
    except OSError as error:
        raise CompileError(f"cannot lock the output folder {folder}: {error.strerror}") from None


def _acquire(descriptor: int, folder: Path, timeout: float | None, message: Callable[[str], None] | None) -> None:
    begin = time.monotonic()
    told = message is None
    while not _try_lock(descriptor, folder):
        waited = time.monotonic() - begin
        if timeout is not None and waited >= timeout:
            raise CompileError(
                f"another compile is running in {folder}; gave up after {waited:.1f} s. Wait for it, end it, or use "
                "another output folder"
            )
        if not told and waited >= _PATIENCE:
            assert message is not None
            message(f"another compile is running in {folder}; waiting for it")
            told = True
        time.sleep(_POLL)


def _try_lock(descriptor: int, folder: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            return False
        raise CompileError(f"the file system of {folder} cannot lock files: {error.strerror}") from None
    return True
