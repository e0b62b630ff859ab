from __future__ import annotations

from pathlib import Path

import pytest
from c_support import ZIG_CC, host_toolchain, run_compiler

from robocompiler.backend.c_operations import calls_libm
from robocompiler.backend.symbols import forbidden_symbols, is_allowed, undefined_symbols
from robocompiler.backend.toolchain import CompileJob, compile_objects, link_shared
from robocompiler.errors import CompileError

TEXT = """#include <math.h>
#include <stdlib.h>
void work(const double x[2], double y[2]);
void work(const double x[2], double y[2]) {
    double *volatile memory = malloc(8);
    y[0] = sin(x[0]) + cos(x[0]) + atan2(x[0], x[1]);
    *memory = x[1];
    y[1] = *memory;
    free(memory);
}
"""


def test_undefined_symbols_of_object_and_library(tmp_path: Path) -> None:
    source = tmp_path / "work.c"
    source.write_text(TEXT)
    job = CompileJob("work", source, tmp_path / "work.o", flags=("-O2",))
    compile_objects([job], host_toolchain())
    wanted = {"atan2", "malloc", "free"}
    assert wanted <= undefined_symbols(job.object)
    assert "work" not in undefined_symbols(job.object)
    assert forbidden_symbols(job.object) == {"malloc", "free"}
    library = tmp_path / "work.so"
    link_shared([job.object], library, host_toolchain())
    assert wanted <= undefined_symbols(library)
    assert forbidden_symbols(library) == {"malloc", "free"}


@pytest.mark.parametrize(
    "target", ["thumb-freestanding-eabi", "powerpc-freestanding-none", "riscv64-freestanding-none"]
)
def test_other_word_sizes_and_byte_orders(tmp_path: Path, target: str) -> None:
    source, product = tmp_path / "work.c", tmp_path / "work.o"
    source.write_text("float sinf(float x);\nfloat work(float x);\nfloat work(float x) { return sinf(x); }\n")
    run_compiler(ZIG_CC, "-target", target, "-O2", "-fno-unwind-tables", "-c", str(source), "-o", str(product))
    assert "sinf" in undefined_symbols(product)
    assert "work" not in undefined_symbols(product)


def test_each_precision_has_its_own_functions() -> None:
    assert is_allowed("sin")
    assert not is_allowed("sinf")
    assert is_allowed("sinf", "float")
    assert not is_allowed("sin", "float")
    assert not is_allowed("erff")
    assert is_allowed("__aeabi_fadd", "float")
    assert not is_allowed("__aeabi_dadd", "float")
    assert not is_allowed("__aeabi_f2d", "float")
    assert is_allowed("__adddf3")
    for name in ("malloc", "printf", "setjmp", "abort", "__ubsan_handle_out_of_bounds"):
        assert not is_allowed(name)
        assert not is_allowed(name, "float")


def test_files_that_are_no_elf_or_damaged_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.o"
    for content in (b"", b"text", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 80):
        path.write_bytes(content)
        with pytest.raises(CompileError, match="not a readable ELF file"):
            undefined_symbols(path)


@pytest.mark.parametrize("text", ["y = sqrt(x);", "y = fabsf (x);", "(double)NAN", "-HUGE_VALF", "atan2(a, b)"])
def test_text_that_calls_libm_is_known(text: str) -> None:
    assert calls_libm(text)


@pytest.mark.parametrize("text", ["y = x * x;", "void robot_sin_of(int x);", "y = cosine(x);", "int NANO, sqrt_x;"])
def test_text_without_calls_needs_no_header(text: str) -> None:
    assert not calls_libm(text)
