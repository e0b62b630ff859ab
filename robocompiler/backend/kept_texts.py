"""Texts of kernels, kept between builds: pairing and printing a kernel takes longer than deriving it.

What a printing function makes of a routine with places for its numbers (`places.py`) depends on that routine, on the
request and on this program's own source; a digest of all three is the name of a kept text.  Kept or just printed, a
text gets its numbers afterwards, so that both ways give the same bytes.  Each file begins with the digest of the rest:
a damaged one is printed again and replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path

import casadi

from robocompiler.backend.atomic import TEMPORARY_PREFIX
from robocompiler.backend.c_operations import CReal
from robocompiler.backend.options import Real
from robocompiler.backend.places import Placed, fill, with_places
from robocompiler.backend.repeat import own_digest
from robocompiler.backend.routine import Routine
from robocompiler.backend.side_task import in_two_processes
from robocompiler.errors import CompileError

KEEP_BYTES = 32 * 2**20  # beyond this the texts unused for longest are removed
_FRESH = 3600.0  # s; a use is noted once in this time
_BETWEEN = "\0"


@dataclass(frozen=True)
class Request:
    """How a routine is printed: see `print_kernel`; prefix, macro: what names and macros of the robot begin with."""

    function_name: str
    real: Real
    static: bool = False
    sizes: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    macro: str = ""


Print = Callable[[Routine, Request], tuple[str, ...]]  # a pure function of a module


@dataclass(frozen=True)
class KeptTexts:
    """The texts below `folder`; None: nothing is kept."""

    folder: Path | None = None

    def printed(self, run: Print, items: Sequence[tuple[Routine, Request]]) -> list[tuple[str, ...]]:
        """[run(*item) for item in items], about half of them in a forked copy where that pays.

        CompileError as `print_kernel`, and when the folder cannot be written.
        """
        costs = [routine.operations for routine, _ in items]
        return in_two_processes(lambda item: self._one(run, *item), items, costs)

    def _one(self, run: Print, routine: Routine, request: Request) -> tuple[str, ...]:
        placed = with_places(routine)
        literal = CReal(request.real).literal
        literals = [literal(number).text for number in placed.numbers]
        name = _name(run, placed, request)
        texts = self._read(name)
        if texts is None:
            texts = run(placed.routine, request)
            self._write(name, texts)
        return tuple(fill(text, literals) for text in texts)

    def prune(self) -> None:
        """Remove what was unused for longest beyond KEEP_BYTES, and what a killed build left."""
        if self.folder is None:
            return
        total = 0
        with contextlib.suppress(OSError):  # a left-over costs space and nothing else
            known = [(path, path.stat()) for path in self.folder.iterdir()]
            for path, status in sorted(known, key=lambda item: (-item[1].st_mtime_ns, item[0])):
                total += status.st_size
                if total > KEEP_BYTES or path.name.startswith(TEMPORARY_PREFIX):
                    path.unlink()

    def _read(self, name: str) -> tuple[str, ...] | None:
        """The texts of that name; None where there are none, or damaged ones."""
        if self.folder is None:
            return None
        path = self.folder / name
        try:
            digest, _, body = path.read_bytes().partition(b"\n")
            if digest != _digest(body):
                return None
            if time.time() - path.stat().st_mtime > _FRESH:  # so that a build of nothing new touches nothing
                os.utime(path)
        except OSError:
            return None  # printed again, and a folder that cannot be written is told of then
        return tuple(body.decode().split(_BETWEEN))

    def _write(self, name: str, texts: tuple[str, ...]) -> None:
        if self.folder is None:
            return
        body = _BETWEEN.join(texts).encode()
        temporary = self.folder / f"{TEMPORARY_PREFIX}{os.getpid()}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # never synchronised: what a power cut leaves does not have its digest
            temporary.write_bytes(_digest(body) + b"\n" + body)
            temporary.replace(self.folder / name)
        except OSError as error:
            raise CompileError(f"cannot write {self.folder / name}: {error.strerror}") from None


NOTHING_KEPT = KeptTexts()


def _name(run: Print, placed: Placed, request: Request) -> str:
    """SHA-256 over an unambiguous encoding of all that the texts depend on."""
    routine = placed.routine
    parts = [
        own_digest(), casadi.__version__, f"{run.__module__}.{run.__qualname__}",
        routine.name, routine.summary, [astuple(a) for a in routine.inputs], [astuple(a) for a in routine.outputs],
        {**vars(request), "sizes": dict(request.sizes)},
        _digest(placed.code).decode(),
    ]  # fmt: skip
    return _digest(json.dumps(parts, sort_keys=True).encode()).decode()


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
