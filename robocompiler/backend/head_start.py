"""Begins to compile what is printed first, modules and kinematics, while the mechanics are still derived.

Objects are content-addressed, so nothing else changes: the units are compiled from a folder inside the cache into the
places where the build looks for them, and the build compiles what is left.  The output folder itself is written only
when every text is there.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Self

from robocompiler.backend.cache import plan
from robocompiler.backend.emit_kinematics import KinematicEmission, check_printable, emit_kinematics
from robocompiler.backend.identifiers import c_identifier
from robocompiler.backend.kept_texts import NOTHING_KEPT, KeptTexts
from robocompiler.backend.lock import build_lock
from robocompiler.backend.numbers_apart import NOTHING, Apart, units_to_compile
from robocompiler.backend.options import BuildOptions, Progress, Real
from robocompiler.backend.rendering import keep_parsed
from robocompiler.backend.side_task import SideTask
from robocompiler.backend.stage import AHEAD, TEMPLATES, TEXTS, clear_stages, write_stage
from robocompiler.backend.toolchain import CompilePool, Toolchain, toolchain_for
from robocompiler.symbolic.program import RobotProgram
from robocompiler.version import VERSION


@dataclass(frozen=True)
class _Printed:
    seconds: float
    emission: KinematicEmission
    apart: Apart


def _print(program: RobotProgram, real: Real, toolchain: Toolchain | None, texts: KeptTexts) -> _Printed:
    begin = time.monotonic()
    emission = emit_kinematics(program, real, texts)
    apart = units_to_compile(emission.units, emission.prefix, toolchain) if toolchain else NOTHING
    return _Printed(time.monotonic() - begin, emission, apart)


class HeadStart:
    """The first part of a build: a context manager that holds the folder's lock and the compilers at work.

    It goes to `output`/<name>/, or to `folder` when it is given.  `toolchain` and `texts` are there after `begin`;
    `emission` and `pool` wait until the texts are printed and their compilers started.
    """

    def __init__(
        self, output: Path, options: BuildOptions, progress: Progress | None = None, *, folder: Path | None = None
    ) -> None:
        self._output = output
        self._folder = folder
        self.toolchain: Toolchain | None = None
        self.texts = NOTHING_KEPT
        self._printing: SideTask[_Printed] | None = None
        self._pool: CompilePool | None = None
        self._starting: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._options = options
        self._progress = progress
        self._held = ExitStack()
        self._interrupted = False

    def __enter__(self) -> Self:
        # CasADi loses a KeyboardInterrupt that is raised inside it, so that Ctrl-C has to be remembered as well
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._interrupt)
            self._held.callback(signal.signal, signal.SIGINT, signal.default_int_handler)
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def check(self) -> None:
        """Raise the KeyboardInterrupt that came earlier and was lost."""
        if self._interrupted:
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    @property
    def folder(self) -> Path:
        """The output folder; known after `begin`."""
        assert self._folder is not None
        return self._folder

    @property
    def emission(self) -> KinematicEmission | None:
        """What was printed; None before `begin`.  CompileError as `begin`."""
        self._join()
        return self._printing.result().emission if self._printing else None

    @property
    def seconds(self) -> float:
        """The time that printing took."""
        self._join()
        return self._printing.result().seconds if self._printing else 0.0

    @property
    def apart(self) -> Apart:
        """The units of `emission` as they are compiled."""
        self._join()
        return self._printing.result().apart if self._printing else NOTHING

    @property
    def pool(self) -> CompilePool | None:
        """The compilers at work; None where nothing is to be compiled.  CompileError as `begin`."""
        self._join()
        return self._pool

    def begin(self, program: RobotProgram) -> None:
        """Print what needs no mechanics, and compile it in the background where no object is there yet.

        CompileError as `build_robot`, here or where the result is asked for; what compilers say is raised by the pool's
        `finish`.
        """

        check_printable(program)
        self._folder = self._output / c_identifier(program.name) if self._folder is None else self._folder
        toolchain = self.toolchain = None if self._options.emit_only else toolchain_for(self._options)
        if toolchain is not None:
            self._held.enter_context(build_lock(self.folder, message=self._wait))
            keep_parsed(self.folder / TEMPLATES)
            self.texts = KeptTexts(self.folder / TEXTS)
        texts = self.texts
        self._printing = SideTask(lambda: _print(program, self._options.real, toolchain, texts))
        self._held.callback(self._printing.stop)
        if toolchain is None:
            return  # texts are all that is asked for
        self._pool = self._held.enter_context(CompilePool(toolchain, self._options.workers, ahead=True))
        self._starting = threading.Thread(target=self._start, name="robocompiler-head-start")
        self._starting.start()
        self._held.callback(self._end)

    def _start(self) -> None:
        """In a thread, since the caller goes on: wait for the texts, then start their compilers."""
        assert self._printing is not None and self._pool is not None and self.toolchain is not None
        try:
            printed = self._printing.result()
            units, headers = printed.apart.units, printed.emission.headers
            build = plan(units, folder=self.folder, toolchain=self.toolchain, headers=headers, generator=VERSION)
            stage = self.folder / AHEAD
            if jobs := build.jobs():
                write_stage(stage, {**headers, **{unit.source.as_posix(): unit.text for unit in units}})
            own = [replace(j, source=stage / j.source.relative_to(self.folder), include=(stage,)) for j in jobs]
            self._pool.add(own)
        except BaseException as error:  # told where the result is asked for
            self._failure = error

    def _join(self) -> None:
        if self._starting is not None:
            self._starting.join()
        if self._failure is not None:
            raise self._failure

    def _end(self) -> None:
        """Before pool and lock go: no thread of ours uses them any more."""
        if self._printing is not None and self._starting is not None:
            self._printing.stop()
            self._starting.join()

    def _wait(self, text: str) -> None:
        if self._progress is not None:
            self._progress("wait", text, 0.0)

    def clean(self) -> None:
        """Remove what was compiled from, and texts that were not used for long."""
        clear_stages(self.folder)
        self.texts.prune()
