"""Calls with preallocated arrays: the least that a call of generated code costs from Python."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from robocompiler.errors import ArgumentError
from robocompiler.runtime.library import Library

# {function: (inputs, output shape)}; sizes by name: q, u, f, v, and pair = 2
_FUNCTIONS: dict[str, tuple[tuple[tuple[str, str], ...], tuple[str, ...]]] = {
    "forward_dynamics": ((("q", "q"), ("u", "u"), ("f", "f")), ("u",)),
    "forward_dynamics_with": ((("q", "q"), ("u", "u"), ("f", "f"), ("tau", "u")), ("u",)),
    "inverse_dynamics": ((("q", "q"), ("u", "u"), ("udot", "u")), ("u",)),
    "bias": ((("q", "q"), ("u", "u")), ("u",)),
    "mass_matrix": ((("q", "q"),), ("u", "u")),
    "acceleration": ((("q", "q"), ("u", "u"), ("udot", "u")), ("v",)),
    "curvature": ((("q", "q"), ("u", "u")), ("v",)),
    "lift": ((("q", "q"),), ("v", "u")),
    "velocity": ((("q", "q"), ("u", "u")), ("v",)),
    "port_displacement": ((("q", "q"),), ("f",)),
    "port_map": ((("q", "q"),), ("f", "u")),
    "joint_friction": ((("q", "q"), ("v", "v")), ("v",)),
    "energy": ((("q", "q"), ("u", "u")), ("pair",)),
    "integrate": ((("q", "q"), ("v", "v")), ("q",)),
}

_AFTER_Q = ("velocity",)  # functions whose parameters follow q, as in the header; else they follow all inputs


class Prepared:
    """A compiled function with its own arrays: fill `inputs`, call it, read `output`.

    call = robot.prepare("forward_dynamics")
    call.inputs["q"][:] = q; call.inputs["u"][:] = u; call.inputs["f"][:] = f
    if call(): ...                      # the status: 0, or bits of the header's list
    udot = call.output

    Arrays have the library's precision.  Nothing is checked but what the C function checks.  One object serves one
    thread at a time.
    """

    def __init__(
        self, library: Library, name: str, sizes: dict[str, int], parameters: NDArray[Any], prefix: str = ""
    ) -> None:
        """sizes: of q, u, f and v; prefix: of the functions of another chart than the port chart."""
        if not isinstance(name, str) or name not in _FUNCTIONS:
            raise ArgumentError(f"{name!r} cannot be prepared; these can: {', '.join(sorted(_FUNCTIONS))}")
        inputs, shape = _FUNCTIONS[name]
        sizes = {**sizes, "pair": 2}
        self.name = name
        self.inputs: dict[str, NDArray[Any]] = {argument: library.new(sizes[kind]) for argument, kind in inputs}
        self.output: NDArray[Any] = library.new(*[sizes[kind] for kind in shape])
        self._function = library.function(f"{prefix}{name}")
        arrays = [*self.inputs.values()]
        if parameters.size:
            arrays.insert(1 if name in _AFTER_Q else len(arrays), parameters)
        self._arguments = (*[library.input(array) for array in arrays], library.output(self.output))

    def __call__(self) -> int:
        """Call the function; the status, 0 where all is well or the function has none."""
        return self._function(*self._arguments) or 0
