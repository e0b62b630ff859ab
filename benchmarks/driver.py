"""Times generated C functions from inside C: a small driver is generated, compiled and linked with the robot's library.

The driver calls a function for a list of states again and again between two readings of the thread's processor time
(not of the wall clock: other programs on the machine count less), so that nothing of Python is measured.  A call goes
through the library's symbol table as a user's would; the time of an empty call by the same loop is measured as well
and reported, not subtracted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from robocompiler.backend.toolchain import CompileJob, Toolchain, compile_objects, link_shared

Array = NDArray[np.float64]

EMPTY = "empty_call"
SAMPLE_SECONDS = 2e-3  # each sample repeats the list of states for about this long
_WORKSPACE = 65536  # doubles for each output of a call
_STAGGER = 136  # doubles: outputs do not start at the same place of a page
_FUNCTION = re.compile(r"\b(?:int|void)\s+(\w+)\(([^)]*)\)")

_HEAD = """\
#define _POSIX_C_SOURCE 199309L
#include "{prefix}.h"

#include <time.h>

static double work[{size}];
static double elapsed(struct timespec a, struct timespec b)
{{
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}}

static void nothing(const double *q, double *out)
{{
    (void)q;
    (void)out;
}}
static void (*volatile empty)(const double *, double *) = nothing; /* volatile: the call must happen */
"""

_TIMED = """
double time_{name}(const double *states, int count, int stride, const double *p, int repeats);
double time_{name}(const double *states, int count, int stride, const double *p, int repeats)
{{
    struct timespec begin, end;
    (void)p;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int k = 0; k < repeats; ++k) {{
        for (int i = 0; i < count; ++i) {{
            const double *q = states + i * stride;
            {call};
        }}
    }}
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return elapsed(begin, end);
}}
"""


def signatures(cdef: str) -> dict[str, str]:
    """{function: argument list} of a manifest's declarations."""
    return dict(_FUNCTION.findall(cdef))


def _call(prefix: str, function: str, arguments: str) -> str:
    """A call expression; q and p are inputs, every other array gets its own part of the workspace."""
    MACRO = prefix.upper()
    values: list[str] = []
    outputs = 0
    for argument in arguments.split(","):
        name = re.sub(r"\[.*", "", argument).split()[-1].lstrip("*")
        if name in ("q", "p") and "const" in argument:
            values.append(name)
        elif name == "tolerance":
            values.append(f"{MACRO}_TOLERANCE")
        elif name == "max_iterations":
            values.append(f"{MACRO}_MAX_ITERATIONS")
        elif "const" in argument or "double" not in argument:
            raise ValueError(f"{function}: the driver has no value for the argument {argument.strip()!r}")
        else:
            values.append(f"work + {outputs * (_WORKSPACE + _STAGGER)}")
            outputs += 1
    return f"(void){function}({', '.join(values)})"


def driver_text(prefix: str, cdef: str, functions: Sequence[str]) -> str:
    """The driver's C source for `functions` (names without the prefix)."""
    known = signatures(cdef)
    parts = [_HEAD.format(prefix=prefix, size=4 * (_WORKSPACE + _STAGGER))]
    parts += [_TIMED.format(name=f, call=_call(prefix, f"{prefix}_{f}", known[f"{prefix}_{f}"])) for f in functions]
    parts.append(_TIMED.format(name=EMPTY, call="empty(q, work)"))
    return "".join(parts)


class Driver:
    """Loaded timing functions of one library; `seconds(name, states)` is one sample, per call."""

    def __init__(
        self,
        manifest: Mapping[str, Any],
        header_folder: Path,
        library: Path,
        toolchain: Toolchain,
        functions: Sequence[str],
        folder: Path,
    ) -> None:
        prefix: str = manifest["prefix"]
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / f"{prefix}_timing.c"
        source.write_text(driver_text(prefix, manifest["cdef"], functions))
        job = CompileJob("timing", source, folder / f"{prefix}_timing.o", (header_folder,))
        compile_objects([job], toolchain)
        driver = folder / f"lib{prefix}_timing.so"
        link_shared([job.object], driver, toolchain, libraries=(str(library.resolve()), "-lm"))
        self.names = (*functions, EMPTY)
        self._ffi = cffi.FFI()
        self._ffi.cdef("".join(f"double time_{name}(double *, int, int, double *, int);" for name in self.names))
        self._library = self._ffi.dlopen(str(driver.resolve()))
        self._parameters = np.array([entry["default"] for entry in manifest["parameters"]] or [0.0])
        self._repeats: dict[str, int] = {}

    def seconds(self, name: str, states: Array) -> float:
        """Seconds per call of function `name`, averaged over about `SAMPLE_SECONDS` of passes through `states`."""
        if name not in self._repeats:
            once = self._run(name, states, 3) / 3
            self._repeats[name] = max(1, round(SAMPLE_SECONDS / max(once, 1e-9)))
        repeats = self._repeats[name]
        return self._run(name, states, repeats) / (repeats * len(states))

    def _run(self, name: str, states: Array, repeats: int) -> float:
        cast: Any = self._ffi.from_buffer  # cffi's own stubs do not know that numpy arrays are buffers
        values, parameters = cast("double[]", np.ascontiguousarray(states)), cast("double[]", self._parameters)
        return float(getattr(self._library, f"time_{name}")(values, len(states), states.shape[1], parameters, repeats))
