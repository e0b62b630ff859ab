"""What a run writes down: rows in memory, or flushed to disk while it goes on."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.simulation.columns import Column
from robocompiler.runtime.simulation.log import Log
from robocompiler.runtime.simulation.log_files import PartWriter, read_log

Array = NDArray[np.float64]

BLOCK = 4096  # rows of a block
PATIENCE = 5.0  # seconds after which a block that is not full is flushed


class Recorder:
    """Takes rows; with a path they go to disk in blocks (full, or 5 s old), else they stay in memory."""

    def __init__(self, columns: tuple[Column, ...], path: str | Path | None) -> None:
        """Raises what `PartWriter` raises."""
        self._columns = columns
        self._writer = None if path is None else PartWriter(path, columns)
        self._block, self._filled = np.empty((BLOCK, len(columns))), 0
        self._blocks: list[Array] = []
        self._flushed = time.monotonic()

    def add(self, row: Array) -> None:
        """Take a row (columns,)."""
        self._block[self._filled] = row
        self._filled += 1  # last: an interrupt before it leaves the row out and nothing half done
        full = self._filled == BLOCK
        if full or (self._writer is not None and time.monotonic() - self._flushed > PATIENCE):
            self.flush()

    def flush(self) -> None:
        """Hand the filled rows on."""
        if self._filled:
            rows = self._block[: self._filled].copy()
            if self._writer is None:
                self._blocks.append(rows)
            else:
                self._writer.write(rows)
            self._filled = 0
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Flush, and make the file of the parts."""
        self.flush()
        if self._writer is not None:
            self._writer.finish()

    def log(self) -> Log:
        """Everything that was recorded, after `close`."""
        if self._writer is not None:
            return read_log(self._writer.path)
        rows = np.concatenate(self._blocks) if self._blocks else np.zeros((0, len(self._columns)))
        return Log(self._columns, rows)
