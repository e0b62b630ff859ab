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
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Self

from robocompiler.backend.cache import plan
from robocompiler.backend.emit_kinematics import KinematicEmission, emit_kinematics
from robocompiler.backend.lock import build_lock
from robocompiler.backend.numbers_apart import units_to_compile
from robocompiler.backend.options import BuildOptions, Progress
from robocompiler.backend.stage import AHEAD, clear_stages, write_stage
from robocompiler.backend.toolchain import CompilePool, Toolchain, toolchain_for
from robocompiler.symbolic.program import RobotProgram
from robocompiler.version import VERSION


class HeadStart:
    """The first part of a build: a context manager that holds the folder's lock and the compilers at work.

    It goes to `output`/<name>/, or to `folder` when it is given.  `emission`, `toolchain` and `pool` are there after
    `begin`; `seconds` is the time that printing took.
    """

    def __init__(
        self, output: Path, options: BuildOptions, progress: Progress | None = None, *, folder: Path | None = None
    ) -> None:
        self._output = output
        self._folder = folder
        self.emission: KinematicEmission | None = None
        self.toolchain: Toolchain | None = None
        self.pool: CompilePool | None = None
        self.seconds = 0.0
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

    def begin(self, program: RobotProgram) -> None:
        """Print what needs no mechanics, and compile it in the background where no object is there yet.

        CompileError as `build_robot`; what compilers say is raised by the pool's `finish`.
        """
        begin = time.monotonic()
        self.emission = emit_kinematics(program, self._options.real)
        self.seconds = time.monotonic() - begin
        self._folder = self._output / self.emission.prefix if self._folder is None else self._folder
        if self._options.emit_only:
            return
        self.toolchain = toolchain_for(self._options)
        self._held.enter_context(build_lock(self.folder, message=self._wait))
        self.pool = self._held.enter_context(CompilePool(self.toolchain, self._options.workers, ahead=True))
        units = units_to_compile(self.emission.units, self.emission.prefix, self.toolchain).units
        headers = self.emission.headers
        build = plan(units, folder=self.folder, toolchain=self.toolchain, headers=headers, generator=VERSION)
        stage = self.folder / AHEAD
        if jobs := build.jobs():
            write_stage(stage, {**headers, **{unit.source.as_posix(): unit.text for unit in units}})
        self.pool.add([replace(j, source=stage / j.source.relative_to(self.folder), include=(stage,)) for j in jobs])

    def _wait(self, text: str) -> None:
        if self._progress is not None:
            self._progress("wait", text, 0.0)

    def clean(self) -> None:
        """Remove what was compiled from."""
        clear_stages(self.folder)
