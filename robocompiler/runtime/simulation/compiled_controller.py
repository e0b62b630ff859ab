"""A controller in a shared library: compiled C, called through cffi."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import integer, number
from robocompiler.arguments import path as file_path
from robocompiler.errors import ArgumentError, LoadError

Array = NDArray[np.float64]

_MOST = 2**31 - 1
SIGNATURE = "int {name}(double t, const double q[], const double u[], double f[], void *memory);"


class CompiledController:
    """The function `int NAME(double t, const double q[], const double u[], double f[], void *memory)` of a library.

    q (nq,), u (d,), f (nf,) as in `robot.coordinates`, `independent` and `ports`; memory: `memory` bytes that are zero
    at first and kept from call to call.  f holds zeros before each call.  A status other than 0 ends the run with
    a RuntimeError.  The library is the user's own code: nothing guards against what it does.
    """

    def __init__(
        self, library: str | Path, ports: int, *, name: str = "step", memory: int = 0, sample_time: float | None = None
    ) -> None:
        """ports: length of f.  Raises LoadError for a library that cannot be opened or lacks the function."""
        ports, memory = integer(ports, "ports", 0, _MOST), integer(memory, "memory", 0, _MOST)
        if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
            raise ArgumentError(f"not the name of a C function: {name!r}")
        if sample_time is not None:
            number(sample_time, "sample_time", above=0.0, unit="seconds")
        if memory and sample_time is None:
            raise ArgumentError("a controller with memory needs a sample time: a continuous law must not remember")
        self.sample_time = sample_time
        path = file_path(library, "library").resolve()
        self._ffi = cffi.FFI()
        self._ffi.cdef(SIGNATURE.format(name=name))
        try:
            self._library = self._ffi.dlopen(str(path))
            self._step: Any = getattr(self._library, name)
        except (OSError, AttributeError) as error:
            raise LoadError(f"{path}: no controller can be loaded from it ({error})") from None
        self._name, self._ports = f"{path.name}:{name}", ports
        self._memory = self._ffi.new("char[]", max(memory, 1))

    def __call__(self, t: float, q: Array, u: Array) -> Array:
        """f (nf,); RuntimeError when the C function returns another status than 0."""
        f = np.zeros(self._ports)
        status = self._step(t, self._view(q), self._view(u), self._view(f), self._memory)
        if status:
            raise RuntimeError(f"controller {self._name} returned status {status} at t = {t:.9g} s")
        return f

    def _view(self, values: Array) -> Any:
        buffer: Any = np.ascontiguousarray(values, dtype=np.float64)
        return self._ffi.from_buffer("double[]", buffer)
