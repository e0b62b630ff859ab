"""Helpers of the backend tests: kernels from casadi functions, compiled with the real toolchain and called by cffi."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import casadi
import cffi
import numpy as np

from robocompiler.backend.printer import print_kernel, print_prototype, printed_arguments
from robocompiler.backend.toolchain import CompileJob, Toolchain, compile_objects, find_toolchain, link_shared
from robocompiler.symbolic.kernel import Argument, Kernel

ZIG_CC = (sys.executable, "-m", "ziglang", "cc")
ZIG_CXX = (sys.executable, "-m", "ziglang", "c++")


@functools.cache
def host_toolchain() -> Toolchain:
    """The host's compiler with portable flags: what it compiles has the bits of CasADi's interpreter."""
    return find_toolchain(portable=True)


@functools.cache
def native_toolchain() -> Toolchain:
    """The host's compiler as users get it."""
    return find_toolchain()


def make_kernel(inputs: dict[str, Any], outputs: dict[str, Any], name: str = "work") -> Kernel:
    """A kernel of symbols and expressions by argument name."""
    function = casadi.Function(name, list(inputs.values()), [casadi.SX(e) for e in outputs.values()])
    return Kernel(
        name=name,
        summary="A test kernel.",
        inputs=tuple(Argument(key, value.numel()) for key, value in inputs.items()),
        outputs=tuple(Argument(key, casadi.SX(value).nnz()) for key, value in outputs.items()),
        function=function,
    )


def unit_text(kernel: Kernel, real: str = "double", function_name: str = "work") -> str:
    """A whole translation unit: header, prototype, definition."""
    prototype = print_prototype(kernel, function_name=function_name, real=real)
    definition = print_kernel(kernel, function_name=function_name, real=real, static=False)
    return f"#include <math.h>\n\n{prototype}\n{definition}"


class Compiled:
    """A kernel compiled to a library; call it with arrays, get the list of its outputs (zero-length ones left out)."""

    def __init__(self, kernel: Kernel, folder: Path, real: str = "double", flags: tuple[str, ...] = ("-O0",)) -> None:
        self.kernel = kernel
        self.dtype = np.float64 if real == "double" else np.float32
        self.real = real
        source = folder / f"{kernel.name}_{real}.c"
        source.write_text(unit_text(kernel, real))
        self.object = source.with_suffix(".o")
        self.library = source.with_suffix(".so")
        compile_objects([CompileJob(kernel.name, source, self.object, flags=flags)], host_toolchain())
        link_shared([self.object], self.library, host_toolchain())
        self.ffi = cffi.FFI()
        self.ffi.cdef(print_prototype(kernel, function_name="work", real=real))
        self.lib = self.ffi.dlopen(str(self.library))

    def pointer(self, array: np.ndarray) -> Any:
        return self.ffi.cast(f"{self.real} *", array.ctypes.data)

    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        inputs, outputs = printed_arguments(self.kernel)
        given = [np.ascontiguousarray(a, dtype=self.dtype) for a in arguments]
        assert [a.size for a in given] == [a.size for a in inputs]
        # Results start as a strange number, so that a store that is missing is seen.
        results = [np.full(a.size, 12345.678, dtype=self.dtype) for a in outputs]
        self.lib.work(*(self.pointer(a) for a in given + results))
        return results


def casadi_values(kernel: Kernel, *arguments: np.ndarray) -> list[np.ndarray]:
    """The nonzeros of every output as casadi's own interpreter computes them."""
    results = kernel.function.call([casadi.DM(np.asarray(a, dtype=float)) for a in arguments])
    return [np.array(r.nonzeros(), dtype=float) for r in results if r.nnz()]


def run_compiler(command: tuple[str, ...], *arguments: str) -> None:
    """Run a compiler and show what it says if it fails."""
    answer = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
