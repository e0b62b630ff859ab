"""`Robot`: a compiled robot in Python.  Needs only numpy and cffi."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.errors import RankError
from robocompiler.runtime.assembly import Assembler
from robocompiler.runtime.description import Description, unknown
from robocompiler.runtime.evaluation import Evaluation
from robocompiler.runtime.library import Library
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.runtime.reports import ModuleInfo, PortInfo, RankReport

Array = NDArray[np.float64]


class Robot:
    """A compiled robot in one chart.

    q (nq,) are all coordinates, cut joints included; v (nv,) all velocities; u (d,) the independent speeds of the
    chart. SI units and radians.  Arguments are anything that numpy turns into float64 arrays; wrong lengths and numbers
    that are not finite raise ValueError.  Methods with `out` write into it and return it.  Safe to share between
    threads.
    """

    def __init__(self, library: Library, description: Description, chart: str, parameters: Mapping[str, float]) -> None:
        self._library, self._description, self._chart = library, description, chart
        self._parameters = dict(parameters)
        self._evaluation = Evaluation(library, description, chart, np.array(list(parameters.values())))
        self._assembler = Assembler(self._evaluation)
        self._independent = description.independent(chart)

    # --- description ---

    @property
    def name(self) -> str:
        """The robot's name."""
        return self._description.name

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of q, in order."""
        return self._description.coordinates

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of v, in order."""
        return self._description.velocities

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of u, in order."""
        return tuple(self.velocities[i] for i in self._independent)

    @property
    def ports(self) -> tuple[PortInfo, ...]:
        """The actuator ports, in file order."""
        return self._description.ports

    @property
    def frames(self) -> tuple[str, ...]:
        """Every body, then the named frames."""
        return self._description.frames

    @property
    def modules(self) -> tuple[ModuleInfo, ...]:
        """The loop modules of this chart."""
        return self._description.modules(self._chart)

    @property
    def rank_report(self) -> RankReport:
        """The rank decision with its evidence."""
        return self._description.rank_report

    @property
    def closures(self) -> tuple[str, ...]:
        """Closures in the order of the residual: chords (six rows each), then couplings (one row each)."""
        return tuple(closure["name"] for closure in self._description.closures)

    @property
    def parameters(self) -> dict[str, float]:
        """Values of the run-time parameters."""
        return dict(self._parameters)

    @property
    def chart_name(self) -> str:
        """'port' or 'inner'."""
        return self._chart

    @property
    def reference(self) -> Array:
        """An assembled configuration (nq,): the file's reference."""
        return self._description.reference.copy()

    def __repr__(self) -> str:
        return (
            f"<Robot {self.name!r}: {len(self.coordinates)} coordinates, {len(self.independent)} freedoms, "
            f"{len(self.modules)} modules, {self._chart} chart>"
        )

    # --- variants ---

    def chart(self, name: str) -> Robot:
        """This robot in another chart ('port' or 'inner')."""
        if name not in self._description.charts:
            raise unknown("chart", name, self._description.charts)
        return Robot(self._library, self._description, name, self._parameters)

    def with_parameters(self, values: Mapping[str, float]) -> Robot:
        """This robot with other values of its run-time parameters (configurations must be assembled again)."""
        for name, value in values.items():
            if name not in self._parameters:
                raise unknown("parameter", name, self._parameters)
            if not np.isfinite(value):
                raise ValueError(f"parameter {name!r}: not a finite number: {value}")
        return Robot(self._library, self._description, self._chart, {**self._parameters, **values})

    # --- configurations ---

    def configuration(
        self, values: Mapping[str, float | Sequence[float] | Array], base: ArrayLike | None = None
    ) -> Array:
        """q with joints or coordinates set by name over `base` (default: the reference); not yet assembled."""
        return self._description.configuration(values, self.reference if base is None else self._q(base))

    def assemble(self, q: ArrayLike, hold: Iterable[str] | None = None) -> Array:
        """Close the loops, moving only what is not held (default: the independents are held).

        Args:
            q: a configuration (nq,), closed or not.
            hold: names of joints or coordinates to keep instead of the chart's independents.

        Returns:
            The assembled q (nq,); a configuration that is closed already comes back bit for bit.

        Raises:
            AssemblyError: no admissible configuration: loops that do not close (with the smallest gap), another branch,
                or limits violated (with the assembled configuration that was wanted).
        """
        start = self._q(q)
        if hold is None:
            return self._assembler.assemble(start, None)
        held = sorted({index for name in hold for index in self._description.velocity_indices(name)})
        return self._assembler.assemble(start, np.array(held, dtype=np.intp))

    def joint(self, q: ArrayLike, name: str) -> float | Array:
        """A joint's coordinate (or one coordinate by name); an array for a joint with several."""
        part = self._q(q)[self._description.coordinate_slice(name)]
        return float(part[0]) if part.size == 1 else part.copy()

    def integrate(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """q (+) v (nq,): q moved by the increment v (nv,) on each joint's Lie group."""
        return _put(self._evaluation.integrate(self._q(q), self._v(v)), out)

    def coordinate_rates(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """qdot = N(q) v (nq,)."""
        return _put(self._evaluation.rates(self._q(q), self._v(v)), out)

    # --- closures ---

    def residual(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """rho (6 per chord, 1 per coupling): log(T_e X_e^-1)^vee in the axes of the chord's body a, rad then m."""
        return _put(self._evaluation.residual(self._q(q)), out)

    def closure_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """C (rows of rho, nv): the derivative of rho, also away from closure."""
        return _put(self._evaluation.augmented(self._q(q))[1], out)

    def lift(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """E (nv, d) with v = E u at an assembled q.  RankError where this chart is singular."""
        E, status = self._evaluation.lift(self._q(q))
        self._check(status)
        return _put(E, out)

    def velocity(self, q: ArrayLike, u: ArrayLike, *, out: Array | None = None) -> Array:
        """v = E u (nv,)."""
        return _put(self.lift(q) @ self._u(u), out)

    def F(self, q: ArrayLike) -> Array:
        """F (d, d) with u_port = F u: from this chart's independent speeds to those of the port chart."""
        E, status = self._evaluation.lift(self._q(q))
        self._check(status)
        return np.asarray(E[self._description.independent("port")])

    def F_inverse(self, q: ArrayLike) -> Array:
        """F^-1 (d, d) with u = F^-1 u_port, taken from the port chart's own lift."""
        E, status = self._evaluation.lift(self._q(q), "port")
        self._check(status)
        return np.asarray(E[self._independent])

    # --- frames ---

    def pose(self, frame: str, q: ArrayLike) -> tuple[Array, Array]:
        """(R (3, 3), p (3,)) of a frame: x_world = R x + p.  Every body is a frame of its own name."""
        return self._evaluation.pose(self._description.frame_index(frame), self._q(q))

    def task_jacobian(self, frame: str, q: ArrayLike, *, out: Array | None = None) -> Array:
        """J (6, d): (omega; velocity of the frame's origin) in world axes = J u."""
        J, status = self._evaluation.task_jacobian(self._description.frame_index(frame), self._q(q))
        self._check(status)
        return _put(J, out)

    # --- checks ---

    def _check(self, status: int) -> None:
        if status:
            raise RankError(
                f"{self.name}: the {self._chart} chart is singular at this configuration; use another chart or pose",
                {"chart": self._chart, "status": status},
            )

    def _q(self, q: ArrayLike) -> Array:
        value = _vector(q, len(self.coordinates), "q")
        self._description.check_quaternions(value)
        return value

    def _v(self, v: ArrayLike) -> Array:
        return _vector(v, len(self.velocities), "v")

    def _u(self, u: ArrayLike) -> Array:
        return _vector(u, self._independent.size, "u")


def _vector(value: ArrayLike, size: int, name: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} has entries that are not finite numbers, first at index {_first_bad(array)}")
    return array


def _first_bad(array: Array) -> int:
    return int(np.flatnonzero(~np.isfinite(array))[0])


def _put(value: Array, out: Array | None) -> Array:
    if out is None:
        return value
    if out.shape != value.shape or out.dtype != np.float64:
        raise ValueError(f"out must be a float64 array of shape {value.shape}, got {out.dtype} {out.shape}")
    out[...] = value
    return out


def load(path: str | Path) -> Robot:
    """Load a compiled robot from its folder (build/NAME) or manifest.

    Imports only numpy and cffi.  Raises LoadError when something is missing, damaged, stale or of another version.
    """
    file = find_manifest(path)
    manifest: dict[str, Any] = read_manifest(file)
    description = Description(manifest)
    library = Library(file.parent, manifest)
    return Robot(library, description, "port", description.parameters)
