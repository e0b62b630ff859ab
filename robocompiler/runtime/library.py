"""The compiled library behind a robot: opened with cffi, checked against its manifest, called with numpy arrays."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import LoadError
from robocompiler.runtime.processor import refuse_foreign

Array = NDArray[np.float64]


class Library:
    """The library that a manifest names, with the functions that the manifest declares.

    Arrays are converted to the library's precision on the way in and back to float64 on the way out.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.prefix: str = manifest["prefix"]
        self._still = not manifest["charts"]["port"]["independent"]
        self.real = np.dtype(np.float64 if manifest["real"] == "double" else np.float32)
        self._ffi = cffi.FFI()
        self._pointer = self._ffi.typeof(f"{manifest['real']}[]")
        self._functions: dict[str, Any] = {}
        self.opened: dict[str, Any] = {}  # support modes that stay open: see Robot.open_supports
        path = _checked_library(folder, manifest)
        refuse_foreign(path, manifest["build"])  # before the library is opened: nothing of it may run
        try:
            self._ffi.cdef(manifest["cdef"])
            self._library = self._ffi.dlopen(str(path))
            text = self._ffi.string(getattr(self._library, f"{self.prefix}_digest")())
        except (OSError, AttributeError, cffi.CDefError, cffi.FFIError, TypeError) as error:
            raise LoadError(f"{path}: cannot be loaded ({error}); compile the model again on this machine") from None
        if (text.decode("ascii", "replace") if isinstance(text, bytes) else text) != manifest["digest"]:
            raise LoadError(f"{path}: library and manifest come from different builds; compile the model again")

    def function(self, name: str) -> Any:
        """The C function `prefix_name`."""
        known = self._functions.get(name)
        if known is not None:
            return known
        try:
            self._functions[name] = getattr(self._library, f"{self.prefix}_{name}")
            return self._functions[name]
        except AttributeError:
            if self._still:
                text = f"{self.prefix}: no {name}: nothing can move, so that it has no accelerations, ports or dynamics"
                raise LoadError(text) from None
            raise LoadError(f"lib{self.prefix}.so has no function {self.prefix}_{name}; compile again") from None

    def has(self, name: str) -> bool:
        """Whether the manifest declares `prefix_name`."""
        return hasattr(self._library, f"{self.prefix}_{name}")

    def structure(self, name: str) -> Any:
        """A zeroed `prefix_name` structure, as its address.  LoadError where the library has none."""
        try:
            return self._ffi.new(f"{self.prefix}_{name} *")
        except (cffi.FFIError, cffi.CDefError):
            raise LoadError(f"lib{self.prefix}.so has no structure {self.prefix}_{name}; compile again") from None

    def content(self, structure: Any) -> Any:
        """The bytes of a structure, writable."""
        return self._ffi.buffer(structure)

    def field(self, structure: Any, name: str) -> NDArray[Any]:
        """An array field of numbers of a structure, shared with it."""
        buffer: Any = self._ffi.buffer(getattr(structure, name))
        numbers: NDArray[Any] = np.frombuffer(buffer, dtype=self.real)
        return numbers

    def integers(self, values: NDArray[np.intc]) -> Any:
        """A writable C array view of ints."""
        buffer: Any = values
        return self._ffi.from_buffer("int[]", buffer, require_writable=True)

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


def _checked_library(folder: Path, manifest: dict[str, Any]) -> Path:
    """The library that the manifest names, with the bytes that it tells.

    They are compared before the library is opened: mapping a truncated file would end the whole process.
    """
    record = manifest["build"].get("library")
    try:
        name, wanted = str(record["file"]), record["sha256"]
    except (TypeError, KeyError):
        raise LoadError(f"{folder}: the manifest names no library; compile the model again") from None
    if Path(name).name != name:
        raise LoadError(f"{folder}: the manifest names a library outside its folder: {name}; compile the model again")
    path = (folder / name).resolve()
    try:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise LoadError(f"{path}: the library is missing; compile the model again") from None
    except OSError as error:
        raise LoadError(f"{path}: the library cannot be read ({error.strerror})") from None
    if found != wanted:
        raise LoadError(
            f"{path}: damaged, or not the library of this manifest (its bytes differ); compile the model again"
        )
    return path
