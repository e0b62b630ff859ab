"""Times C functions from inside C: a small driver takes a function's address and calls it for a list of states.

Addresses instead of linking: two builds of one robot have the same symbols, and each must be measured as itself.  The
time is processor time of the calling thread, and results are written for every state, so that what was timed can be
compared with a reference.  Statuses are collected; a sample with a bad one is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from robocompiler.backend.toolchain import CompileJob, Toolchain, compile_objects, link_shared
from robocompiler.bench.timing import SAMPLE_SECONDS
from robocompiler.errors import CompileError

Array = NDArray[np.float64]
_MOST = 6  # inputs of a function
_CASADI_ARGUMENTS = 64

_HEAD = """\
#define _POSIX_C_SOURCE 199309L
#include <time.h>

typedef void (*any_function)(void);

static double elapsed(struct timespec a, struct timespec b)
{
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}
"""
_TIMED = """
typedef int (*{name}_function)({types});
double time_{name}(any_function f, const double *const *in, const int *step, int inputs, double *out, int width,
    int count, int repeats, int *status);
double time_{name}(any_function f, const double *const *in, const int *step, int inputs, double *out, int width,
    int count, int repeats, int *status)
{{
    {name}_function call = ({name}_function)f;
    int bad = 0;
    struct timespec begin, end;
    (void)step;
    (void)inputs;
    (void)width;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int k = 0; k < repeats; ++k) {{
{body}
    }}
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    {status}
    return elapsed(begin, end);
}}
"""
_DECLARATION = (
    "double time_{name}(void (*)(void), const double **, const int *, int, double *, int, int, int, int *);\n"
)
_EACH = "        for (int i = 0; i < count; ++i) {{\n{inner}\n        }}"
_STATUS = "*status = bad;"
_BATCH_STATUS = "for (int i = 0; i < count; ++i) { bad |= status[i]; }\n    status[0] = bad;"


def _single(inputs: int) -> str:
    types = ", ".join(["const double *"] * inputs + ["double *"])
    values = "".join(f"in[{k}] + i * step[{k}], " for k in range(inputs))
    body = _EACH.format(inner=f"            bad |= call({values}out + i * width);")
    return _TIMED.format(name=f"single_{inputs}", types=types, body=body, status=_STATUS)


def _batch(inputs: int) -> str:
    types = ", ".join(["int", *["const double *"] * inputs, "double *", "int *"])
    values = "".join(f"in[{k}], " for k in range(inputs))
    body = f"        bad |= call(count, {values}out, status);"
    return _TIMED.format(name=f"batch_{inputs}", types=types, body=body, status=_BATCH_STATUS)


def _casadi() -> str:
    inner = (
        f"            const double *arg[{_CASADI_ARGUMENTS}];\n"
        f"            double *res[{_CASADI_ARGUMENTS}];\n"
        "            for (int j = 0; j < inputs; ++j) { arg[j] = in[j] + i * step[j]; }\n"
        "            res[0] = out + i * width;\n"
        "            bad |= call(arg, res, 0, 0, 0);"
    )
    types = "const double **, double **, long long *, double *, int"
    return _TIMED.format(name="casadi", types=types, body=_EACH.format(inner=inner), status=_STATUS)


def driver_text() -> str:
    """The driver's C source: one timing function per kind of signature."""
    parts = [text(k) for k in range(1, _MOST + 1) for text in (_single, _batch)]
    return "".join([_HEAD, *parts, _casadi()])


def address(function: Any) -> int:
    """The address of a C function that cffi has loaded."""
    return int(cffi.FFI().cast("uintptr_t", function))


class Driver:
    """The compiled timing functions."""

    def __init__(self, folder: Path, toolchain: Toolchain) -> None:
        """Compile the driver into `folder`; CompileError when the compiler fails."""
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "timing_driver.c"
        source.write_text(driver_text(), encoding="utf-8")
        job = CompileJob("timing driver", source, folder / "timing_driver.o")
        compile_objects([job], toolchain)
        library = folder / "libtiming_driver.so"
        link_shared([job.object], library, toolchain)
        names = [f"{kind}_{k}" for k in range(1, _MOST + 1) for kind in ("single", "batch")]
        self.ffi = cffi.FFI()
        self.ffi.cdef("".join(_DECLARATION.format(name=name) for name in (*names, "casadi")))
        self._library = self.ffi.dlopen(str(library.resolve()))

    def loop(
        self, kind: str, function: Any, owner: object, inputs: Sequence[Array], constants: Sequence[Array], width: int
    ) -> CLoop:
        """A loop over the rows of `inputs`.

        kind: 'single' (inputs, result), 'batch' (count, inputs, result, statuses) or 'casadi' (CasADi's convention).
        owner: what must live as long as `function` is called: its library.
        constants: inputs that follow, (n,) each, the same for all states.
        width: numbers that the function puts out per state.
        """
        count = len(inputs) + len(constants)
        if count > _MOST:
            raise ValueError(f"the driver calls functions of at most {_MOST} inputs, not of {count}")
        timer = getattr(self._library, "time_casadi" if kind == "casadi" else f"time_{kind}_{count}")
        return CLoop(self.ffi, timer, function, (owner, self._library), inputs, constants, width)


class CLoop:
    """A C function with its states; `results` (count, width) are those of the last sample."""

    def __init__(
        self, ffi: cffi.FFI, timer: Any, function: Any, owners: tuple[object, ...], inputs: Sequence[Array],
        constants: Sequence[Array], width: int,
    ) -> None:  # fmt: skip
        self._timer, self._ffi, self._owners = timer, ffi, owners
        self._function = ffi.cast("void (*)(void)", address(function))
        self._arrays = [np.ascontiguousarray(values, dtype=np.float64) for values in (*inputs, *constants)]
        self.count = len(inputs[0])
        steps = [values.shape[1] for values in self._arrays[: len(inputs)]] + [0] * len(constants)
        self.results: Array = np.zeros((self.count, width))
        self._status = np.zeros(self.count, dtype=np.intc)
        view: Any = ffi.from_buffer
        # a row of no numbers is no buffer to speak of, and the function does not read it
        self._views = [view("double[]", a) if a.size else ffi.new("double[1]") for a in self._arrays]
        self._inputs, self._steps = ffi.new("double *[]", self._views), ffi.new("int[]", steps)
        self._out, self._bad = view("double[]", self.results), view("int[]", self._status)
        self._repeats = 0

    def seconds(self) -> float:
        """Seconds per state of one sample of about `SAMPLE_SECONDS`; CompileError when the function reports failure."""
        if not self._repeats:
            self._repeats = max(1, round(SAMPLE_SECONDS / max(self._run(3) / 3, 1e-9)))
        return self._run(self._repeats) / (self._repeats * self.count)

    def _run(self, repeats: int) -> float:
        used = self._timer(
            self._function, self._inputs, self._steps, len(self._arrays), self._out, self.results.shape[1],
            self.count, repeats, self._bad,
        )  # fmt: skip
        if self._status[0]:
            raise CompileError(f"a timed function reports status {int(self._status[0])}")
        return float(used)
