"""Child processes that end with us: a failing or interrupted build leaves no compiler running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from robocompiler.errors import CompileError


class StoppedError(Exception):
    """The group was stopped before or while this command ran."""


class ProcessGroup:
    """Commands that run at the same time and can be ended together.  Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, command: Sequence[str], log: Path, timeout: float) -> int:
        """Run `command` with its output in `log`; return its exit status (negative: the signal that ended it).

        CompileError if it cannot be started or runs longer than `timeout` seconds; StoppedError if `stop` was called.
        """
        with log.open("wb") as output:
            process = self._start(command, output.fileno())
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._end(process)
            raise CompileError(
                f"{command[0]} was ended after {timeout:g} s without a result", command, str(log)
            ) from None
        except BaseException:  # KeyboardInterrupt in the main thread: the child must not outlive us
            self._end(process)
            raise
        finally:
            with self._lock:
                self._running.discard(process)
                stopped = self._stopped
        if stopped and status != 0:
            raise StoppedError
        return status

    def stop(self) -> None:
        """End all running commands; later ones are not started."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            self._end(process)

    def _start(self, command: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        with self._lock:  # held while starting, so that `stop` sees every process there is
            if self._stopped:
                raise StoppedError
            try:
                process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "LC_ALL": "C"},  # English diagnostics, which the reader of the log looks for
                    start_new_session=True,  # a compiler driver's own children are ended with it
                )
            except OSError as error:
                raise CompileError(f"cannot run {command[0]}: {error.strerror}", command) from None
            self._running.add(process)
            return process

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        # It may have ended by itself in the meantime; macOS then answers with PermissionError.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
