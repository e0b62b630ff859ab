"""Writing one file so that a reader sees the old or the new content and never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from robocompiler.errors import CompileError

TEMPORARY_PREFIX = ".robocompiler-tmp-"


def write_atomically(path: Path, content: bytes) -> None:
    """Put `content` at `path` through a temporary file in the same folder, which must exist.

    On failure the old file is untouched, the temporary file is gone, and CompileError says why.
    """
    temporary: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=path.parent)
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), 0o666 & ~_umask())  # mkstemp's private mode is not what a build tool leaves
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())  # or a power cut could leave the new name on an empty file
        temporary.replace(path)
    except OSError as error:
        raise CompileError(f"cannot write {path}: {error.strerror}") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
