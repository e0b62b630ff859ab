"""The C toolchain as the rest of the backend sees it: find a compiler, compile objects, link libraries."""

from robocompiler.backend.compile_jobs import CompileJob, CompilePool, compile_objects, first_diagnostic, link_shared
from robocompiler.backend.compiler import OPTIMISATION, PORTABLE, STRICT, Toolchain, find_toolchain
from robocompiler.backend.options import BuildOptions

__all__ = [
    "OPTIMISATION",
    "PORTABLE",
    "STRICT",
    "CompileJob",
    "CompilePool",
    "Toolchain",
    "compile_objects",
    "find_toolchain",
    "first_diagnostic",
    "link_shared",
    "toolchain_for",
]


def toolchain_for(options: BuildOptions) -> Toolchain:
    """The compiler and flags of a build; CompileError as in `find_toolchain`."""
    return find_toolchain(options.cc, portable=options.portable, extra_flags=options.extra_flags)
