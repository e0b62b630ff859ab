"""Reference motions of a robot: independents prescribed over time, loops closed along the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import duck, function, number, refused
from robocompiler.errors import ArgumentError, AssemblyError, RankError
from robocompiler.runtime.arrays import floats, shape_refused
from robocompiler.runtime.assembly import ITERATIONS, SOLVED
from robocompiler.runtime.drives import DriveInterface
from robocompiler.runtime.simulation.splines import CubicSpline

Array = NDArray[np.float64]

Path = Callable[[float], tuple[ArrayLike, ArrayLike, ArrayLike]]
NEAR = 0.2  # largest scaled move of an independent that is predicted in one step


@dataclass(frozen=True)
class Wanted:
    """A state of a reference: q (nq,), u and udot (d,), port displacements l and their rates (nf,)."""

    q: Array
    u: Array
    udot: Array
    l: Array  # noqa: E741  the paper's symbol
    ldot: Array


class Reference:
    """Independents s(t) of the port chart over time, with q(t) assembled along the path.

    s, sdot and sddot are u's coordinates, speeds and accelerations exactly, so that l, ldot = L sdot and the inverse
    dynamics of the reference are exact too.  Times may be asked in any order; near the last one is fastest.
    """

    def __init__(self, robot: DriveInterface, path: Path, start: ArrayLike | None = None) -> None:
        """path(t): (s, sdot, sddot), each (d,) in the order of `robot.independent`.

        start: an assembled q from where the path's beginning is reached [the robot's reference].

        Raises:
            ValueError: an independent that is part of a ball or a free joint has no coordinate of its own.
            AssemblyError: the beginning cannot be reached.
        """
        duck(robot, ("assemble", "lift"), "robot", "a Robot")
        function(path, "path", "path(t) that returns (s, sdot, sddot)")
        self._robot, self._path = robot, path
        self._places = independent_coordinates(robot)
        self._tolerance = SOLVED[robot._evaluation.library.real]
        self._q = robot.reference if start is None else robot.assemble(start)
        self._scales = robot._description.column_scales[robot._independent]
        self.at(0.0)

    def at(self, t: float) -> Wanted:
        """The wanted state at time t (s).  Raises AssemblyError where the path leaves what can be assembled."""
        t = number(t, "t", unit="seconds")
        parts = self._path(t)
        if not isinstance(parts, tuple | list) or len(parts) != 3:
            raise refused("what the path of a reference returns", "three vectors (s, sdot, sddot)", parts)
        s, sdot, sddot = (floats(x, f"what the path of a reference returns at t = {t:.9g} s") for x in parts)
        if not all(np.isfinite(x).all() for x in (s, sdot, sddot)):
            raise ArgumentError(f"a reference of {self._robot.name} is not finite at t = {t:.9g} s")
        if not s.shape == sdot.shape == sddot.shape == self._places.shape:
            raise ArgumentError(f"a reference of {self._robot.name} must give three vectors ({self._places.size},)")
        q = self._reach(s)
        L = self._robot.port_map(q)
        return Wanted(q, sdot, sddot, self._robot.port_displacement(q), L @ sdot)

    def _reach(self, s: Array) -> Array:
        """q with the independents at s, from the last one by prediction and correction."""
        evaluation = self._robot._evaluation
        q = self._q
        size = float(np.abs((s - q[self._places]) / self._scales).max(initial=0.0))
        pieces = max(1, int(np.ceil(size / NEAR)))
        for k in range(pieces):
            E, status = evaluation.lift(q)
            step = (s - q[self._places]) / (pieces - k)
            wanted = q[self._places] + step
            q = evaluation.integrate(q, E @ step)
            q[self._places] = s if k == pieces - 1 else wanted
            q, failed, residual = evaluation.correct(q, self._tolerance, ITERATIONS)
            if status or failed:
                raise AssemblyError(
                    f"{self._robot.name}: the reference cannot be assembled on its path", residual=residual, q=q
                )
        self._q = evaluation.recover(q)
        return self._q


def independent_coordinates(robot: DriveInterface) -> NDArray[np.intp]:
    """Indices (d,) into q of the independents; ValueError for one that is part of a ball or a free joint."""
    places, description = {}, robot._description
    for joint in description.joints:
        (q0, nq), (v0, nv) = joint["q"], joint["v"]
        if nq == nv:
            places.update({v0 + k: q0 + k for k in range(nv)})
    missing = [description.velocities[i] for i in robot._independent if int(i) not in places]
    if missing:
        raise ArgumentError(
            f"{robot.name}: {', '.join(missing)} are speeds of balls or free joints, which have no coordinate of their "
            "own; a reference is for robots whose independents are hinges and slides"
        )
    return np.array([places[int(i)] for i in robot._independent], dtype=np.intp)


def through_independents(robot: DriveInterface, times: ArrayLike, values: ArrayLike) -> Reference:
    """The C2 spline through values (n, d) of the independents at times (n,), at rest at both ends."""
    duck(robot, ("assemble", "lift"), "robot", "a Robot")
    spline = CubicSpline(times, values)
    _columns(spline, len(robot.independent), "values", f"the independents of {robot.name}", robot.independent)
    return Reference(robot, spline)


def through_ports(robot: DriveInterface, times: ArrayLike, displacements: ArrayLike) -> Reference:
    """The same through port displacements (n, nf): exact at the given times, and between them where ports are joints.

    Raises RankError where the ports do not determine the motion (L not of full column rank), AssemblyError where
    displacements are out of reach.
    """
    duck(robot, ("assemble", "lift"), "robot", "a Robot")
    spline = CubicSpline(times, displacements)
    ports = tuple(port.name for port in robot.ports)
    _columns(spline, len(ports), "displacements", f"the ports of {robot.name}", ports)
    places = independent_coordinates(robot)
    q, knots = robot.reference, []
    for row in spline.values:
        q = _with_ports(robot, q, row, places)
        knots.append(q[places])
    return Reference(robot, CubicSpline(spline.times, np.array(knots)))


def _columns(spline: CubicSpline, size: int, name: str, what: str, names: tuple[str, ...]) -> None:
    """ArgumentError where a spline has not one column for each of these names."""
    wanted, got = f"({spline.times.size}, {size})", spline.values.shape
    if got[1] != size:
        raise shape_refused(name, wanted, got, f"; its columns are {what}: {', '.join(names)}")


def _with_ports(robot: DriveInterface, q: Array, wanted: Array, places: NDArray[np.intp]) -> Array:
    """The assembled configuration near q whose port displacements are as wanted (m or rad), by Newton's method."""
    scales = robot._description.column_scales[robot._independent]
    for _ in range(50):
        miss = wanted - robot.port_displacement(q)
        L = robot.port_map(q)
        step, _, rank, _ = np.linalg.lstsq(L * scales, miss, rcond=1e-9)
        if rank < places.size:
            raise RankError(f"{robot.name}: its ports do not determine its motion here (rank {rank} of {places.size})")
        size = float(np.abs(step).max(initial=0.0))
        if size < 1e-12:
            if np.abs(miss).max(initial=0.0) > 1e-9:
                break
            return q
        moved = robot.integrate(q, robot.velocity(q, step * scales * min(1.0, NEAR / size)))
        q = robot.assemble(moved)
    raise AssemblyError(f"{robot.name}: port displacements {wanted} cannot be reached", q=q)
