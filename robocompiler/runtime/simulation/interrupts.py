"""Ctrl-C while a simulation runs: the first one ends it between two steps, a second one at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """A context in which SIGINT sets `requested`; a second one raises KeyboardInterrupt.

    In other threads than the main one, and where a program has its own handler, nothing is changed.
    """

    def __init__(self) -> None:
        self.requested = False
        self._installed = False

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._installed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, _: int, __: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
