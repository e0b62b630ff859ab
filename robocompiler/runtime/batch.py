"""`robot.batch`: reduced dynamics of many states at once: several states in each vector lane, threads over blocks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import integer, refused
from robocompiler.errors import ArgumentError, LoadError, RankError
from robocompiler.runtime.arrays import checked_out, floats, shape_refused
from robocompiler.runtime.library import Library

Array = NDArray[np.float64]

BLOCK = 64  # states below which another thread costs more than it saves
_MOST_THREADS = 4096
SHARES = 8  # blocks for each thread


class Batch:
    """The batch functions of a robot in its port chart.

    Arrays are (N, ...) with one state in each row; C-ordered float64 arrays (float32 for a float library) are used as
    they are, others are copied.  `threads` splits the states: None takes one thread per core where there are enough of
    them, 1 stays in the calling thread.  Numbers agree with the single calls to rounding, since products and sums are
    fused where the processor can.
    """

    def __init__(self, library: Library, sizes: dict[str, int], parameters: Array) -> None:
        """sizes: of a row of q, u and f."""
        if not library.has("batch_lanes"):
            raise LoadError(
                f"{library.prefix}: compiled without batch functions; compile(..., batch=True) or "
                "robocompile MODEL --batch adds them"
            )
        self._library, self._sizes = library, sizes
        self._extra = (library.input(parameters),) if parameters.size else ()

    @property
    def lanes(self) -> int:
        """States that one pass computes together on this processor."""
        return int(self._library.function("batch_lanes")())

    def forward_dynamics(
        self,
        Q: ArrayLike,
        U: ArrayLike,
        F: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """udot (N, d) for Q (N, nq), U (N, d), port efforts F (N, nf) and further forces tau (N, d) on u.

        M_r udot + h_r = L^T f + tau.  RankError when a state is singular; it names the first such row.
        """
        count, q = self._rows(Q, "q", "Q", None)
        force = None if tau is None else self._rows(tau, "u", "tau", count)[1]
        inputs = (q, self._rows(U, "u", "U", count)[1], self._rows(F, "f", "F", count)[1], force)
        return self._one("forward_dynamics", count, inputs, (self._sizes["u"],), out, threads)

    def inverse_dynamics(
        self, Q: ArrayLike, U: ArrayLike, Udot: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """tau_u (N, d) = M_r udot + h_r."""
        count, q = self._rows(Q, "q", "Q", None)
        inputs = [q, self._rows(U, "u", "U", count)[1], self._rows(Udot, "u", "Udot", count)[1]]
        return self._one("inverse_dynamics", count, inputs, (self._sizes["u"],), out, threads)

    def bias(self, Q: ArrayLike, U: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """h_r (N, d): inverse dynamics at udot = 0."""
        count = len(np.atleast_1d(floats(U, "U", "rows of numbers")))
        return self.inverse_dynamics(Q, U, np.zeros((count, self._sizes["u"])), out=out, threads=threads)

    def mass_matrix(self, Q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """M_r (N, d, d)."""
        count, q = self._rows(Q, "q", "Q", None)
        d = self._sizes["u"]
        return self._one("mass_matrix", count, [q], (d, d), out, threads)

    def forward_dynamics_derivatives(
        self,
        Q: ArrayLike,
        U: ArrayLike,
        F: ArrayLike,
        *,
        out: Sequence[Array] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array, Array]:
        """(d udot/ds (N, d, d), d udot/du (N, d, d), d udot/df (N, d, nf)); see `Derivatives.forward_dynamics`.

        Raises LoadError when the robot was compiled without derivatives, RankError as `forward_dynamics`.
        """
        self._with_derivatives()
        count, q = self._rows(Q, "q", "Q", None)
        inputs = (q, self._rows(U, "u", "U", count)[1], self._rows(F, "f", "F", count)[1])
        d, nf = self._sizes["u"], self._sizes["f"]
        by_s, by_u, by_f = self._run(
            "forward_dynamics_derivatives", count, inputs, ((d, d), (d, d), (d, nf)), out, threads
        )
        return by_s, by_u, by_f

    def inverse_dynamics_derivatives(
        self,
        Q: ArrayLike,
        U: ArrayLike,
        Udot: ArrayLike,
        *,
        out: Sequence[Array] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """(d tau/ds (N, d, d), d tau/du (N, d, d)); see `Derivatives.inverse_dynamics`.  Errors as above."""
        self._with_derivatives()
        count, q = self._rows(Q, "q", "Q", None)
        inputs = (q, self._rows(U, "u", "U", count)[1], self._rows(Udot, "u", "Udot", count)[1])
        d = self._sizes["u"]
        by_s, by_u = self._run("inverse_dynamics_derivatives", count, inputs, ((d, d), (d, d)), out, threads)
        return by_s, by_u

    def _with_derivatives(self) -> None:
        if not self._library.has("batch_forward_dynamics_derivatives"):
            raise LoadError(
                f"{self._library.prefix}: compiled without derivatives of batches; compile(..., batch=True, "
                "derivatives=True) or robocompile MODEL --batch --derivatives adds them"
            )

    def _rows(self, value: ArrayLike, kind: str, name: str, count: int | None) -> tuple[int, Array]:
        """(N, the array in the library's precision); ValueError for another shape or numbers that are not finite."""
        own = isinstance(value, np.ndarray) and value.dtype == self._library.real
        array = np.ascontiguousarray(value if own else floats(value, name, "rows of numbers"), dtype=self._library.real)
        size = self._sizes[kind]
        if array.ndim != 2 or array.shape[1] != size or (count is not None and array.shape[0] != count):
            wanted = f"({'N' if count is None else count}, {size})"
            raise shape_refused(name, wanted, np.shape(value))
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.add.reduce(array, axis=None)
        # the sum is finite unless an entry is not (or it overflows); testing every entry takes much longer
        if not math.isfinite(total) and not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise ArgumentError(f"{name} has entries that are not finite numbers, first in row {row}")
        return len(array), array

    def _one(
        self,
        name: str,
        count: int,
        inputs: Sequence[Array | None],
        shape: tuple[int, ...],
        out: Array | None,
        threads: int | None,
    ) -> Array:
        """A function with one result."""
        return self._run(name, count, inputs, (shape,), None if out is None else (out,), threads)[0]

    def _run(
        self,
        name: str,
        count: int,
        inputs: Sequence[Array | None],
        shapes: Sequence[tuple[int, ...]],
        out: Sequence[Array] | None,
        threads: int | None,
    ) -> list[Array]:
        """Results (count, *shape) of each shape, in the arrays `out` if they are given."""
        full = [(count, *shape) for shape in shapes]
        if out is not None:
            if not isinstance(out, tuple | list):
                raise refused("out", f"{len(full)} arrays", out)
            if len(out) != len(full):
                raise ArgumentError(f"out must be {len(full)} arrays, got {len(out)}", argument="out")
            for array, wanted in zip(out, full, strict=True):
                checked_out(array, wanted)
        real = self._library.real
        results: list[Any] = [np.empty(wanted, dtype=real) for wanted in full] if out is None else [
            array if array.flags.c_contiguous and array.dtype == real else np.empty(array.shape, dtype=real)
            for array in out
        ]  # fmt: skip
        status = np.zeros(count, dtype=np.intc)
        workers = self._workers(count, threads)
        blocks = iter(self._blocks(count, workers))
        call = self._caller(name, inputs, results, status)

        def work() -> None:
            for block in blocks:  # whoever is free takes the next: a thread that wakes late does less
                call(block)

        others = [self._pool.submit(work) for _ in range(workers - 1)]
        work()
        for other in others:
            other.result()
        self._judge(name, status)
        if out is None:
            return [np.asarray(result, dtype=np.float64) for result in results]
        for array, result in zip(out, results, strict=True):
            if result is not array:
                array[...] = result
        return list(out)

    def _workers(self, count: int, threads: int | None) -> int:
        """Threads that share `count` states, the calling one included."""
        if threads is not None:
            threads = integer(threads, "threads", 1, _MOST_THREADS)
        most = min(_cores(), count // BLOCK) if threads is None else min(threads, count)
        return max(1, most)

    def _blocks(self, count: int, workers: int) -> list[slice]:
        """Some blocks for each worker, of whole passes of lanes."""
        parts = 1 if workers == 1 else max(workers, min(SHARES * workers, count // BLOCK))
        size = -(-count // parts)
        size = -(-size // self.lanes) * self.lanes
        return [slice(start, min(start + size, count)) for start in range(0, count, size or 1)]

    def _caller(
        self, name: str, inputs: Sequence[Array | None], results: Sequence[Array], status: Any
    ) -> Callable[[slice], None]:
        """A function that computes some rows.  Arrays become pointers here, once, not in every block."""
        lib = self._library
        function = lib.function(f"batch_{name}")
        given = [(lib.null, 0) if v is None or not v.size else (lib.input(v), v[0].size) for v in inputs]
        put = [(lib.output(result), result[0].size) if result.size else (lib.null, 0) for result in results]
        flags = lib.integers(status)

        def call(rows: slice) -> None:
            first = rows.start
            before = [pointer + first * size for pointer, size in given]
            after = [pointer + first * size for pointer, size in put]
            function(rows.stop - first, *before, *self._extra, *after, flags + first)

        return call

    def _judge(self, name: str, status: Any) -> None:
        bad = np.flatnonzero(status)
        if bad.size:
            row = int(bad[0])
            raise RankError(
                f"batch.{name}: {bad.size} of {status.size} states are singular or overflow, first row {row} "
                f"(status {int(status[row])}); call {name} for that state alone for more"
            )

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_cores(), thread_name_prefix="robocompiler-batch")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
