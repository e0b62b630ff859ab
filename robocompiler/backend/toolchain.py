"""The C toolchain as the rest of the backend sees it: find a compiler, compile objects, link libraries."""

from robocompiler.backend.compile_jobs import CompileJob, CompilePool, compile_objects, first_diagnostic, link_shared
from robocompiler.backend.compiler import OPTIMISATION, STRICT, Toolchain, find_toolchain

__all__ = [
    "OPTIMISATION",
    "STRICT",
    "CompileJob",
    "CompilePool",
    "Toolchain",
    "compile_objects",
    "find_toolchain",
    "first_diagnostic",
    "link_shared",
]
