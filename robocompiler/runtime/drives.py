"""The drives of a compiled robot: names, start, actual efforts and rates of the drive states."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import put, vector
from robocompiler.runtime.mechanics import MechanicalInterface
from robocompiler.runtime.reports import DriveInfo

Array = NDArray[np.float64]

NOT_FINITE = 16  # status bit of the generated code


class DriveInterface(MechanicalInterface):
    """Methods of declared drives: f = f_f(z, c, l, ldot, q, v), zdot = f_z(...).  u is that of the robot's chart."""

    @property
    def drives(self) -> tuple[DriveInfo, ...]:
        """The drives, in file order; empty where the model declares none."""
        return self._description.drives

    @property
    def drive_states(self) -> tuple[str, ...]:
        """Names of z (`drive:state`), in order."""
        return tuple(name for drive in self.drives for name in drive.states)

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of c (`drive:command`), in order."""
        return tuple(name for drive in self.drives for name in drive.commands)

    @property
    def initial_drive_states(self) -> Array:
        """z (nz,) at the start: the initial values of the file."""
        return self._description.drive_start.copy()

    def drive_efforts(
        self,
        q: ArrayLike,
        u: ArrayLike,
        z: ArrayLike,
        c: ArrayLike,
        f: ArrayLike | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """Efforts of all ports (nf,), ready for `forward_dynamics`.

        Args:
            q, u: assembled configuration and independent speeds.
            z, c: drive states and commands, in the order of `drive_states` and `commands`.
            f: (nf,) efforts of the ports without a drive (0 if left out); entries of driven ports are not used.

        Raises:
            ValueError: the model declares no drive, or a law has no finite value here (with the drive's name).
            RankError: the port chart is singular here.
        """
        inputs = self._drive_inputs(q, u, z, c)
        given = np.zeros(len(self.ports)) if f is None else vector(f, len(self.ports), "f")
        found, status = self._evaluation.get("drive_efforts", inputs, (len(self.ports),))
        ports = [port.name for port in self.ports]
        driven = [ports.index(drive.port) for drive in self.drives]
        self._refuse(status, found[driven], [f"the effort of drive {drive.name!r}" for drive in self.drives])
        efforts = given.copy()
        efforts[driven] = found[driven]
        return put(efforts, out)

    def drive_rates(self, q: ArrayLike, u: ArrayLike, z: ArrayLike, c: ArrayLike, *, out: Array | None = None) -> Array:
        """zdot (nz,) in the states' units per second.  Arguments and errors as in `drive_efforts`."""
        inputs = self._drive_inputs(q, u, z, c)
        rates, status = self._evaluation.get("drive_rates", inputs, (len(self.drive_states),))
        self._refuse(status, rates, [f"the rate of {name!r}" for name in self.drive_states])
        return put(rates, out)

    def _drive_inputs(self, q: ArrayLike, u: ArrayLike, z: ArrayLike, c: ArrayLike) -> tuple[Array, ...]:
        if not self.drives:
            raise ArgumentError(
                f"{self.name} declares no drive: the efforts of its ports are the input f of forward_dynamics itself; "
                "drives belong into the model file, under `drives`"
            )
        if not self.independent:
            raise ArgumentError(f"{self.name} has no freedom, so that its drives are not compiled")
        q, own = self._q(q), self._u(u)
        states, commands = vector(z, len(self.drive_states), "z"), vector(c, len(self.commands), "c")
        return q, self._port_speeds(q, own), states, commands

    def _refuse(self, status: int, values: Array, names: list[str]) -> None:
        """RankError for a singular chart; ValueError naming what is not finite."""
        self._check(status & ~NOT_FINITE)
        if status & NOT_FINITE:
            bad = [name for name, value in zip(names, values, strict=True) if not abs(value) <= 1e30]
            raise ArgumentError(
                f"{self.name}: {', '.join(bad)} is not a finite number at this state; its law divides by zero or "
                "leaves the domain of a function"
            )
