"""`Robot`: a compiled robot in Python.  Needs only numpy and cffi."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import from_options, mapping, named, number, refused, several
from robocompiler.errors import ArgumentError, LoadError
from robocompiler.runtime.anchors import Placed, anchor_poses, anchor_values, with_unit_quaternions
from robocompiler.runtime.base import Array
from robocompiler.runtime.batch import Batch
from robocompiler.runtime.casadi_calls import casadi_function
from robocompiler.runtime.derivatives import Derivatives
from robocompiler.runtime.description import Description
from robocompiler.runtime.library import Library
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.runtime.motion.charts import ChartSwitcher, SwitchLimits
from robocompiler.runtime.motion.passage import Passage, pass_through
from robocompiler.runtime.motion.reports import PathResult, TrajectoryResult
from robocompiler.runtime.motion.trajectory import trajectory
from robocompiler.runtime.motion.updater import UpdateLimits, Updater, Values
from robocompiler.runtime.prepared import Prepared
from robocompiler.runtime.redundancy.interface import ResolutionInterface
from robocompiler.runtime.simulation.interface import SimulationInterface


class Robot(ResolutionInterface, SimulationInterface):
    """A compiled robot in one chart.

    q (nq,) are all coordinates, cut joints included; v (nv,) all velocities; u (d,) the independent speeds of the
    chart. SI units and radians.  Arguments are anything that numpy turns into float64 arrays; wrong types, wrong
    lengths and numbers that are not finite raise ArgumentError, which is a ValueError.  Methods with `out` write into
    it and return it.  Safe to share between threads.
    """

    _batch: Batch | None = None
    _derivatives: Derivatives | None = None

    # --- variants ---

    @property
    def charts(self) -> dict[str, tuple[str, ...]]:
        """Names of the charts, and of the independent speeds of each."""
        names = self._description.charts
        return {name: tuple(self.velocities[i] for i in self._description.independent(name)) for name in names}

    def chart(self, name: str) -> Robot:
        """This robot in another chart: 'port', 'inner', or a further one that was compiled (`charts`)."""
        named("chart", name, self._description.charts)
        return Robot(self._library, self._description, name, self._parameters)

    def with_parameters(self, values: Mapping[str, float]) -> Robot:
        """This robot with other values of its run-time parameters (configurations must be assembled again).

        ValueError: an unknown name, a value that is not finite, or an anchor's quaternion that is not unit.
        """
        given = {
            named("parameter", name, self._parameters): number(value, f"parameter {name!r}")
            for name, value in mapping(values, "the values of parameters", "{parameter: value}").items()
        }
        merged = with_unit_quaternions({**self._parameters, **given})
        return Robot(self._library, self._description, self._chart, merged)

    @property
    def batch(self) -> Batch:
        """Dynamics of many states at once, in the port chart; see `Batch`.

        Raises LoadError when the robot was compiled without them, ValueError in another chart.
        """
        self._in_port_chart("batch functions")
        if self._batch is None:
            self._batch = Batch(self._library, self._sizes, self._parameter_array)
        return self._batch

    @property
    def derivatives(self) -> Derivatives:
        """Derivatives of the dynamics, in the port chart; see `Derivatives`.

        Raises LoadError when the robot was compiled without them, ValueError in another chart.
        """
        self._in_port_chart("derivatives")
        if self._derivatives is None:
            self._derivatives = Derivatives(self._library, self._sizes, self._parameter_array)
        return self._derivatives

    def casadi(self, name: str) -> Any:
        """A compiled function as a casadi.Function, with the compiled derivatives as its Jacobian.

        name                inputs        output
        forward_dynamics    s, u, f       udot (d,)
        inverse_dynamics    s, u, udot    tau (d,)
        configuration       s             q (nq,), assembled
        port_displacement   s             l (nf,)

        s (d,) are the coordinates of the independents; the loops are closed inside, on the reference's branch.  Without
        second derivatives: give ipopt hessian_approximation "limited-memory".  Keep the function as long as whatever
        uses it; not for several threads.  `rc.casadi.function` gives functions of all coordinates.

        Raises:
            ValueError: no function is called `name`; another chart; an independent without a coordinate.
            LoadError: the dynamics, compiled without derivatives.
            MissingPackageError: CasADi is not installed.
        """
        self._in_port_chart("functions for CasADi")
        return casadi_function(self, name)

    def prepare(self, name: str) -> Prepared:
        """A compiled function of the port chart with arrays of its own, for calls without overhead; see `Prepared`.

        ValueError for a function that cannot be prepared, or in another chart.
        """
        self._in_port_chart("prepared calls")
        return Prepared(self._library, name, self._sizes, self._parameter_array)

    # --- motion ---

    def updater(self, q: ArrayLike, limits: UpdateLimits | None = None, **options: Any) -> Updater:
        """The dependency-aware updater, begun at the assembled q; see `Updater`.

        `options` are fields of `UpdateLimits`.  AssemblyError where q is not acceptable, ValueError in another chart.
        """
        self._in_port_chart("updaters")
        if limits is not None and options:
            raise refused("limits", "None where fields of it are given as well", limits, f"drop {', '.join(options)}")
        chosen = from_options(UpdateLimits, options, "Robot.updater") if limits is None else limits
        made = Updater(self._library, self._description, self._parameter_array, chosen)
        made.start(q)
        return made

    def follow(self, q: ArrayLike, target: Values | ArrayLike, **options: Any) -> PathResult:
        """Continuation along the mechanism from the assembled q to target inputs, as `Updater.set_many` takes them."""
        updater = self.updater(q, **options)
        updater.set_many(target)
        return updater.follow()

    def trajectory(
        self, q: ArrayLike, knots: Iterable[Values | ArrayLike], *, prediction: bool = True, **options: Any
    ) -> TrajectoryResult:
        """Updates from the assembled q through the inputs of every knot, until one is refused."""
        return trajectory(self.updater(q, prediction=prediction, **options), knots)

    def follow_through(self, q: ArrayLike, target: Mapping[str, float], **options: Any) -> Passage:
        """Continuation by arclength from the assembled q towards values of d coordinates, through dead centres.

        The charts are switched on the way, beginning in this one.  `options`: step and longest of
        `motion.passage.pass_through`, and fields of `SwitchLimits`.
        """
        lengths = {name: options.pop(name) for name in ("step", "longest") if name in options}
        return pass_through(self.switcher(**options), q, target, **lengths)

    def switcher(self, **limits: Any) -> ChartSwitcher:
        """Changes between charts along a motion that begins in this one; `limits` are fields of `SwitchLimits`.

        LoadError when the robot was compiled without charts to switch between.
        """
        return ChartSwitcher(self, from_options(SwitchLimits, limits, "Robot.switcher"))

    def _in_port_chart(self, what: str) -> None:
        if self._chart != "port":
            raise ArgumentError(f"{what} are in the port chart, not in {self._chart!r}; use robot.chart('port')")

    @property
    def _sizes(self) -> dict[str, int]:
        return {
            "q": len(self.coordinates), "u": len(self.independent), "f": len(self.ports), "v": len(self.velocities),
        }  # fmt: skip

    @property
    def _parameter_array(self) -> NDArray[Any]:
        return np.array(list(self._parameters.values()), dtype=self._library.real)

    # --- support modes ---

    @property
    def supports(self) -> dict[str, dict[str, str]]:
        """The declared support modes: {mode: {frame: 'weld' or 'point'}}; see `support`."""
        return {name: dict(entry["contacts"]) for name, entry in self._description.supports.items()}

    def support(self, name: str) -> Robot:
        """The robot held in a support mode, in this robot's chart and with its parameter values.

        Its coordinates have the names of this robot's, and those of its point contacts besides.  The contacts are where
        the frames stand at this robot's `reference` (with parameters at their defaults) until `at` moves them.

        Raises:
            ValueError: no mode is called `name`.
            LoadError: the mode was not compiled, or by another compile than this robot.
        """
        modes = self._description.supports
        named("support mode", name, modes)
        library, description = self._library.opened.get(name) or self._open_support(name)
        held = Robot(library, description, "port", description.parameters)
        return held.chart(self._chart).with_parameters(self._parameters)

    def open_supports(self, names: Iterable[str] | None = None) -> None:
        """Open the libraries of support modes (default: of all that were compiled) and keep them.

        They stay this robot's, whatever is compiled into its folder later.  ValueError and LoadError as in `support`.
        """
        compiled = [name for name, entry in self._description.supports.items() if entry["folder"] is not None]
        for name in compiled if names is None else several(names, "names", "support modes"):
            named("support mode", name, self._description.supports)
            if name not in self._library.opened:
                self._library.opened[name] = self._open_support(name)

    def _open_support(self, name: str) -> tuple[Library, Description]:
        modes = self._description.supports
        mend = f"compile(..., supports={name!r}) or robocompile MODEL --support '{name}' compiles it"
        entry = modes[name]
        if entry["folder"] is None:
            raise LoadError(f"{self.name}: support mode {name!r} was not compiled with this robot; {mend}")
        file = find_manifest(self._library.folder / entry["folder"])
        manifest = read_manifest(file)
        if manifest["digest"] != entry["digest"]:
            raise LoadError(f"{file}: comes from another compile than {self.name!r}; {mend}")
        return Library(file.parent, manifest), Description(manifest)

    @property
    def anchors(self) -> dict[str, tuple[Array | None, Array]]:
        """Where the frames of this support mode are held: (R, p) in world axes by frame, R None for a point contact."""
        return anchor_poses(self._parameters)

    def at(self, poses: Mapping[str, Placed]) -> Robot:
        """This held robot with contacts elsewhere: x_world = R x_frame + p (m).  Frames left out stay where they are.

        A weld takes (R, p), as `pose` gives it; a point contact p, or (R, p) whose R does not count.  Configurations
        must be assembled again: `held.at(...).assemble(q)` puts the frames there, with the independents of q.

        Raises:
            ValueError: a frame that no contact holds, or no pose.
        """
        return self.with_parameters(anchor_values(self._parameters, poses))


def load(path: str | Path) -> Robot:
    """Load a compiled robot from its folder (build/NAME) or manifest.

    Imports only numpy and cffi.  Raises LoadError when something is missing, damaged, stale or of another version.
    """
    file = find_manifest(path)
    return _robot(file, read_manifest(file))


def _robot(file: Path, manifest: dict[str, Any]) -> Robot:
    description = Description(manifest)
    library = Library(file.parent, manifest)
    return Robot(library, description, "port", description.parameters)
