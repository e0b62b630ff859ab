"""The compiled library behind a robot: opened with cffi, checked against its manifest, called with numpy arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import LoadError

Array = NDArray[np.float64]


class Library:
    """lib<prefix>.so with the functions that its manifest declares.

    Arrays are converted to the library's precision on the way in and back to float64 on the way out.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.prefix: str = manifest["prefix"]
        self.real = np.dtype(np.float64 if manifest["real"] == "double" else np.float32)
        self._pointer = f"{manifest['real']}[]"
        self._ffi = cffi.FFI()
        path = folder / f"lib{self.prefix}.so"
        if not path.is_file():
            raise LoadError(f"{path}: the library is missing; compile the model again")
        try:
            self._ffi.cdef(manifest["cdef"])
            self._library = self._ffi.dlopen(str(path.resolve()))
            text = self._ffi.string(getattr(self._library, f"{self.prefix}_digest")())
            digest = text.decode() if isinstance(text, bytes) else text
        except (OSError, AttributeError, cffi.CDefError, cffi.FFIError, TypeError) as error:
            raise LoadError(f"{path}: cannot be loaded ({error}); compile the model again on this machine") from None
        if digest != manifest["digest"]:
            raise LoadError(f"{path}: library and manifest come from different builds; compile the model again")

    def function(self, name: str) -> Any:
        """The C function `prefix_name`."""
        try:
            return getattr(self._library, f"{self.prefix}_{name}")
        except AttributeError:
            raise LoadError(f"lib{self.prefix}.so has no function {self.prefix}_{name}; compile again") from None

    def input(self, values: Array) -> Any:
        """A C array view of `values` (copied only if the precision differs)."""
        buffer: Any = np.ascontiguousarray(values, dtype=self.real)  # numpy's buffer protocol is not typed before 3.12
        return self._ffi.from_buffer(self._pointer, buffer)

    def output(self, values: Array) -> Any:
        """A writable C array view of `values`, which must have the library's precision."""
        buffer: Any = values
        return self._ffi.from_buffer(self._pointer, buffer, require_writable=True)

    def new(self, *shape: int) -> Array:
        """A zeroed array of the library's precision."""
        return np.zeros(shape, dtype=self.real)

    @property
    def null(self) -> Any:
        """The null pointer."""
        return self._ffi.NULL
