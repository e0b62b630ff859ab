"""Runs the C compiler: objects in parallel, then libraries, each written beside its place and renamed when whole."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from robocompiler.backend.compiler import Toolchain
from robocompiler.backend.processes import ProcessGroup, StoppedError
from robocompiler.errors import CompileError

COMPILE_TIMEOUT = 600.0  # s, per object or library
_DIAGNOSTIC = re.compile(r"\b(fatal error|error|undefined reference|undefined symbol|cannot find)\b", re.IGNORECASE)
_PARTIAL = ".partial"


@dataclass(frozen=True)
class CompileJob:
    """One translation unit: `source` becomes `object`, with headers from the folders `include`."""

    name: str
    source: Path
    object: Path
    include: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def log(self) -> Path:
        """The compiler's output."""
        return self.object.with_name(self.object.name + ".log")


def compile_objects(
    jobs: Sequence[CompileJob],
    toolchain: Toolchain,
    *,
    workers: int | None = None,
    progress: Callable[[str, float], None] | None = None,
    timeout: float = COMPILE_TIMEOUT,
) -> None:
    """Compile all `jobs`, `workers` at a time (default: one per available core).

    `progress(name, seconds)` is called after each object, from a worker thread, one call at a time.
    At the first failure the other compilers are ended, and CompileError gives the first diagnostic, the command and
    the log; objects finished by then stay, and none is ever left half written.  The same holds for KeyboardInterrupt.
    The caller must hold the folder's build lock: left-overs of a killed build are cleared from the object folders.
    """
    for folder in {job.object.parent for job in jobs}:
        _make_folder(folder)
        _clear_partials(folder)
    group = ProcessGroup()
    report = _one_at_a_time(progress)

    def work(job: CompileJob) -> None:
        begin = time.monotonic()
        include = [f"-I{folder}" for folder in job.include]
        command = [*toolchain.command, *toolchain.flags, *job.flags, *include, "-c", str(job.source)]
        try:
            _produce(command, job.object, group, name=job.name, log=job.log, timeout=timeout)
        except CompileError:
            group.stop()  # from here, so that this thread begins no other job before the caller hears of it
            raise
        report(job.name, time.monotonic() - begin)

    count = max(1, min(len(jobs), workers if workers is not None else _cores()))
    pool = ThreadPoolExecutor(count, thread_name_prefix="robocompiler-cc")
    try:
        futures = [pool.submit(work, job) for job in jobs]
        wait(futures, return_when=FIRST_EXCEPTION)
    finally:
        # Also on KeyboardInterrupt: nothing is running any more when the exception leaves this function.
        pool.shutdown(wait=False, cancel_futures=True)
        group.stop()
        pool.shutdown(wait=True)
    failures = [f.exception() for f in futures if f.done() and not f.cancelled() and f.exception() is not None]
    for failure in sorted(failures, key=lambda error: isinstance(error, StoppedError)):
        assert failure is not None
        raise failure


def link_shared(
    objects: Sequence[Path],
    output: Path,
    toolchain: Toolchain,
    *,
    libraries: Sequence[str] = ("-lm",),
    timeout: float = COMPILE_TIMEOUT,
) -> None:
    """Link `objects` and libm into the shared library `output`; a library already there is replaced in one step.

    Symbols that no object and no library defines are refused at once.  CompileError as in `compile_objects`.
    """
    _make_folder(output.parent)
    command = [
        *toolchain.command,
        "-shared",
        *(str(path) for path in objects),
        *toolchain.undefined_check,
        *libraries,
    ]
    group = ProcessGroup()
    log = output.with_name(f"{output.name}.log")
    _produce(command, output, group, name=output.name, log=log, timeout=timeout)
    log.unlink(missing_ok=True)  # a library's folder is what users copy; its log matters only after a failure


def _produce(
    command: Sequence[str], product: Path, group: ProcessGroup, *, name: str, log: Path, timeout: float
) -> None:
    """Run `command -o product`, through a temporary name in the same folder."""
    partial = product.with_name(f"{product.name}.{os.getpid()}{_PARTIAL}")
    full = [*command, "-o", str(partial)]
    try:
        status = group.run(full, log, timeout)
        if status != 0:
            raise CompileError(_failure_message(name, full, status, log), full, str(log))
        try:
            partial.replace(product)
        except OSError as error:
            said = f"{name}: the compiler reported success but {product.name} cannot be put in place"
            raise CompileError(f"{said}: {error.strerror}", full, str(log)) from None
    except OSError as error:
        raise CompileError(f"{name}: {error.strerror}: {error.filename}", full, str(log)) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _failure_message(name: str, command: Sequence[str], status: int, log: Path) -> str:
    text = log.read_text(errors="replace")
    if status < 0:
        cause = f"the compiler was ended by {_signal_name(-status)} (often: out of memory)"
    else:
        cause = first_diagnostic(text) or f"the compiler failed with exit status {status} and said nothing"
    return f"{name}: {cause}\n  command: {shlex.join(command)}\n  log: {log}"


def first_diagnostic(output: str) -> str:
    """The first error line of a compiler's output, else its first line that is not blank, else ""."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors: Iterator[str] = (line for line in lines if _DIAGNOSTIC.search(line))
    return next(errors, lines[0] if lines else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _one_at_a_time(progress: Callable[[str, float], None] | None) -> Callable[[str, float], None]:
    lock = threading.Lock()

    def report(name: str, seconds: float) -> None:
        if progress is not None:
            with lock:
                progress(name, seconds)

    return report


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CompileError(f"cannot make the folder {folder}: {error.strerror}") from None


def _clear_partials(folder: Path) -> None:
    for left_over in folder.glob(f"*{_PARTIAL}"):
        left_over.unlink(missing_ok=True)
