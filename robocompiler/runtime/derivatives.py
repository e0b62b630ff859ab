"""`robot.derivatives`: derivatives of forward and inverse dynamics in the port chart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.errors import LoadError, RankError
from robocompiler.runtime.arrays import vector
from robocompiler.runtime.library import Library

Array = NDArray[np.float64]


class Derivatives:
    """The derivative functions of a robot in its port chart.

    s are tangent coordinates: q moves by q (+) E ds, so that ds are increments of the independents, whose speeds are u.
    Entry (i, k) of a matrix is the derivative of entry i along direction k.  q must be assembled.
    """

    def __init__(self, library: Library, sizes: dict[str, int], parameters: NDArray[Any]) -> None:
        """sizes: of q, u and f."""
        if not library.has("forward_dynamics_derivatives"):
            raise LoadError(
                f"{library.prefix}: compiled without derivatives; compile(..., derivatives=True) or "
                "robocompile MODEL --derivatives adds them"
            )
        self._library, self._sizes = library, sizes
        self._extra = (parameters,) if parameters.size else ()

    def forward_dynamics(self, q: ArrayLike, u: ArrayLike, f: ArrayLike) -> tuple[Array, Array, Array]:
        """(d udot/ds (d, d), d udot/du (d, d), d udot/df (d, nf)) of M_r udot + h_r = L^T f; dry friction is left out.

        RankError where the chart is singular or the reduced inertia not positive definite.
        """
        d, nf = self._sizes["u"], self._sizes["f"]
        inputs = (vector(q, self._sizes["q"], "q"), vector(u, d, "u"), vector(f, nf, "f"))
        by_s, by_u, by_f = self._call("forward_dynamics_derivatives", inputs, ((d, d), (d, d), (d, nf)))
        return by_s, by_u, by_f

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> tuple[Array, Array]:
        """(d tau/ds (d, d), d tau/du (d, d)) of tau = M_r udot + h_r; d tau/d udot is the mass matrix.

        RankError where the chart is singular.
        """
        d = self._sizes["u"]
        inputs = (vector(q, self._sizes["q"], "q"), vector(u, d, "u"), vector(udot, d, "udot"))
        by_s, by_u = self._call("inverse_dynamics_derivatives", inputs, ((d, d), (d, d)))
        return by_s, by_u

    def _call(self, name: str, inputs: tuple[Array, ...], shapes: tuple[tuple[int, int], ...]) -> list[Array]:
        lib = self._library
        results = [lib.new(*shape) for shape in shapes]
        given = [lib.input(value) for value in (*inputs, *self._extra)]
        written = [lib.output(result) if result.size else lib.null for result in results]
        status = int(lib.function(name)(*given, *written))
        if status:
            raise RankError(
                f"{lib.prefix}: no derivatives here: a pivot vanishes (the port chart is singular, or the reduced "
                "inertia not positive definite) or a number overflows; use another pose",
                {"chart": "port", "status": status},
            )
        return [result.astype(np.float64, copy=False) for result in results]
