"""A pure function run in a forked copy of this process, while this one goes on: deriving and printing take seconds.

The copy has all that its parent had derived, CasADi's expressions included, which could not be sent to another process;
what comes back is the pickled result.  The copy runs Python code that takes no lock which a thread of the parent may
hold (it prints nothing, starts no thread and no program), so that forking beside threads is safe here.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Generic, NoReturn, TypeVar

from robocompiler.backend.compile_jobs import cores
from robocompiler.errors import CompileError

S = TypeVar("S")
T = TypeVar("T")
WORTH = 5000  # operations to print below which forking and sending back cost more than they save


class SideTask(Generic[T]):
    """`run` in a forked copy; at once and here where forking is not to be had, or of no use with a single core."""

    def __init__(self, run: Callable[[], T]) -> None:
        self._pid = 0
        self._pipe = -1
        self._value: list[T] = []
        self._ended: Exception | None = None
        self._waiting = threading.Lock()  # held by the one thread that reads the answer
        self._living = threading.Lock()  # held while the copy's number is used or given back
        if sys.platform == "linux" and cores() > 1:
            self._fork(run)
        else:
            self._value.append(run())

    def result(self) -> T:
        """Wait for what `run` returned, and return it; raise what it raised.  CompileError when the copy was ended.

        Any thread may ask, and ask again.
        """
        with self._waiting:
            if not self._value and self._ended is None:
                try:
                    self._value.append(self._received())
                except Exception as error:  # of the run, or of the copy: every later call raises it again
                    self._ended = error
        if self._ended is not None:
            raise self._ended
        return self._value[0]

    def stop(self) -> None:
        """End the copy if it still runs, and wait for its end."""
        with self._living:
            if self._pid:
                os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(Exception):  # whoever asks for the result hears of it
            self.result()

    def _fork(self, run: Callable[[], T]) -> None:
        self._pipe, out = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads: see above
            self._pid = os.fork()
        if self._pid == 0:
            os.close(self._pipe)
            _answer(run, out)
        os.close(out)

    def _received(self) -> T:
        with os.fdopen(self._pipe, "rb") as stream:
            answer = stream.read()
        # waited for outside the lock, and left there to be reaped: until then its number is nobody else's
        os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        with self._living:
            pid, self._pid = self._pid, 0
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status != 0:
            raise CompileError(f"the process that printed code was ended (status {status}; often: out of memory)")
        failed, value = pickle.loads(answer)  # our own copy wrote it
        if failed:
            raise value
        found: T = value
        return found


def _answer(run: Callable[[], object], out: int) -> NoReturn:
    """In the copy: write the pickled (whether it failed, result or error) and end without the parent's clean-up."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches the parent too, which tells of it
        try:
            answer = pickle.dumps((False, run()), protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # whatever it is, the parent raises it
            answer = pickle.dumps((True, error))
        with os.fdopen(out, "wb") as stream:
            stream.write(answer)
        status = 0
    finally:
        os._exit(status)


def in_two_processes(run: Callable[[S], T], items: Sequence[S], costs: Sequence[int]) -> list[T]:
    """[run(item) for item in items], about half of the sum of `costs` of them in a forked copy where that pays."""
    if sum(costs) < WORTH or len(items) < 2:
        return [run(item) for item in items]
    there: set[int] = set()
    load = [0, 0]
    for k in sorted(range(len(items)), key=lambda k: -costs[k]):
        side = load.index(min(load))
        load[side] += costs[k]
        if side:
            there.add(k)
    other = SideTask(lambda: {k: run(items[k]) for k in there})
    try:
        here = {k: run(items[k]) for k in range(len(items)) if k not in there}
        found = {**here, **other.result()}
    finally:
        other.stop()
    return [found[k] for k in range(len(items))]
