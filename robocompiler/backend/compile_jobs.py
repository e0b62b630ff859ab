"""Runs the C compiler: objects in parallel, then libraries, each written beside its place and renamed when whole."""

from __future__ import annotations

import contextlib
import heapq
import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Self

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


class CompilePool:
    """Compilers at work: jobs may be added while others run, and the one with the longest source is taken first.

    At the first failure the other compilers are ended; `finish` raises it.  Objects finished by then stay, and none is
    ever left half written.  Leaving the `with` block ends what still runs, also on KeyboardInterrupt.
    The caller must hold the folder's build lock: left-overs of a killed build are cleared from the object folders.
    """

    def __init__(
        self, toolchain: Toolchain, workers: int | None = None, *, ahead: bool = False, timeout: float | None = None
    ) -> None:
        """`workers` compilers at a time (default: one per core), each for at most `timeout` s; `ahead`: one fewer until
        `finish`, if more than one, so that the caller can work meanwhile."""
        self._toolchain = toolchain
        self._timeout = COMPILE_TIMEOUT if timeout is None else timeout
        self._count = max(1, workers if workers is not None else cores())
        self._spare = min(1, self._count - 1) if ahead else 0
        self._turns = threading.Semaphore(self._count - self._spare)
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="robocompiler-cc")
        self._waiting: list[tuple[int, int, CompileJob]] = []
        self._futures: list[Future[None]] = []
        self._group = ProcessGroup()
        self._lock = threading.Lock()
        self._progress: Callable[[str, float], None] | None = None
        self._finished: list[tuple[str, float]] = []
        self._objects: set[Path] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Nothing is running any more when an exception leaves this function.
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._group.stop()
        for _turn in range(self._count):
            self._turns.release()
        self._threads.shutdown(wait=True)

    def add(self, jobs: Sequence[CompileJob]) -> None:
        """Compile `jobs`, those left out whose object was asked for before."""
        fresh = [job for job in jobs if job.object not in self._objects]
        for folder in {job.object.parent for job in fresh}:
            _make_folder(folder)
            if not self._objects:
                _clear_partials(folder)
        self._objects.update(job.object for job in fresh)
        with self._lock:
            for job in fresh:
                heapq.heappush(self._waiting, (-_length(job.source), len(self._futures), job))
                self._futures.append(self._threads.submit(self._take))

    def finish(self, progress: Callable[[str, float], None] | None = None) -> None:
        """Wait for all jobs; CompileError gives the first diagnostic, the command and the log.

        `progress(name, seconds)` is called for each object, one call at a time, from here or a worker thread.
        """
        with self._lock:
            for finished in self._finished:
                if progress is not None:
                    progress(*finished)
            self._progress = progress
        for _turn in range(self._spare):
            self._turns.release()
        self._spare = 0
        wait(self._futures, return_when=FIRST_EXCEPTION)
        futures = self._futures
        failures = [f.exception() for f in futures if f.done() and not f.cancelled() and f.exception() is not None]
        if failures:
            self.__exit__()
            failures = [f.exception() for f in futures if f.done() and not f.cancelled() and f.exception() is not None]
        for failure in sorted(failures, key=lambda error: isinstance(error, StoppedError)):
            assert failure is not None
            raise failure

    def _take(self) -> None:
        with self._turns:
            with self._lock:
                _, _, job = heapq.heappop(self._waiting)
            begin = time.monotonic()
            self._compile(job)
            with self._lock:
                self._finished.append((job.name, time.monotonic() - begin))
                if self._progress is not None:
                    self._progress(*self._finished[-1])

    def _compile(self, job: CompileJob) -> None:
        include = [f"-I{folder}" for folder in job.include]
        toolchain = self._toolchain
        command = [*toolchain.command, *toolchain.flags, *job.flags, *include, "-c", str(job.source)]
        try:
            _produce(command, job.object, self._group, name=job.name, log=job.log, timeout=self._timeout)
        except CompileError:
            self._group.stop()  # from here, so that this thread begins no other job before the caller hears of it
            raise


def compile_objects(
    jobs: Sequence[CompileJob],
    toolchain: Toolchain,
    *,
    workers: int | None = None,
    progress: Callable[[str, float], None] | None = None,
    timeout: float | None = None,
) -> None:
    """Compile all `jobs` in a pool of their own: see `CompilePool` and its `finish`."""
    with CompilePool(toolchain, workers, timeout=timeout) as pool:
        pool.add(jobs)
        pool.finish(progress)


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


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _length(source: Path) -> int:
    """Bytes of a source, by which its compile time is expected; 0 if it is not there, which the compiler will say."""
    try:
        return source.stat().st_size
    except OSError:
        return 0


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CompileError(f"cannot make the folder {folder}: {error.strerror}") from None


def _clear_partials(folder: Path) -> None:
    for left_over in folder.glob(f"*{_PARTIAL}"):
        left_over.unlink(missing_ok=True)
