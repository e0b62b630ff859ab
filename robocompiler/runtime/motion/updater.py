"""`Updater`: the generated updater of a robot, whose state is one C structure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import flag, instance, integer, number
from robocompiler.errors import ArgumentError, AssemblyError, RankError
from robocompiler.runtime.arrays import floats, vector
from robocompiler.runtime.description import Description
from robocompiler.runtime.library import Library
from robocompiler.runtime.motion.inputs import Inputs, Pose, Scalar
from robocompiler.runtime.motion.reports import MODES, Cause, PathResult, Stop, UpdateReport

Array = NDArray[np.float64]
Values = Mapping[str, float | Sequence[float] | Array]

_MOST = 1e30  # numbers beyond are refused, as by the generated code
_COUNTS = {"iterations": 10_000, "substeps": 1_000_000, "homotopy": 1_000_000, "work": 2**31 - 1}  # at most
_KEEP = {"poses": 1, "l": 2, "L": 4, "M": 8, "E": 16}


@dataclass(frozen=True)
class UpdateLimits:
    """What one call may do; see `<robot>_update_limits` in the generated header.

    prediction: along the lift; iterations: Newton corrections of a module at one point; substeps: points tried by
    continuation, 0 for none; homotopy: points tried by acquisition, 0 for none; work: Newton evaluations of the whole
    call, 0 for no bound but those, which fixes its worst-case time; full_check: modules that did not move as well;
    tolerance (scaled residual of the modules) and smallest_step (scaled inputs, rad or lengths), None for the defaults.
    """

    prediction: bool = True
    iterations: int = 12
    substeps: int = 200
    homotopy: int = 100
    work: int = 0
    full_check: bool = False
    tolerance: float | None = None
    smallest_step: float | None = None

    def __post_init__(self) -> None:
        for name in ("prediction", "full_check"):
            flag(getattr(self, name), name)
        for name, most in _COUNTS.items():
            integer(getattr(self, name), name, 0, most)
        for name in ("tolerance", "smallest_step"):
            if getattr(self, name) is not None:
                number(getattr(self, name), name, above=0.0)


@dataclass(frozen=True)
class Snapshot:
    """A state of an updater, inputs not yet accepted and kept outputs included."""

    content: bytes
    owner: str


class Updater:
    """The assembled configuration of a robot under changing inputs.

    Inputs are the independents of the port chart: `set` them by name or index, then `update` moves q there, solving
    only the modules that they touch, or refuses and leaves all as it was.  Outputs are computed when they are read and
    kept until an input that they depend on moves.  One updater serves one thread at a time.
    """

    def __init__(self, library: Library, description: Description, parameters: Array, limits: UpdateLimits) -> None:
        """Not started; see `start` and `acquire`.  parameters (np,)."""
        instance(limits, UpdateLimits, "limits", "UpdateLimits")
        self.limits = limits
        self._library, self._description = library, description
        self._inputs = Inputs(description)
        self._state = library.structure("updater")
        self._limits = _limits(library, limits)
        self._report = library.structure("update_report")
        self._parameters = np.ascontiguousarray(parameters, dtype=library.real)
        self._extra = (library.input(self._parameters),) if parameters.size else ()
        self._modules = tuple(module["name"] for module in description.charts["port"]["modules"])
        self._views: dict[str, NDArray[Any]] = {}
        self._started = False

    # --- where it stands ---

    def start(self, q: ArrayLike) -> UpdateReport:
        """Begin at an assembled q (nq,).  AssemblyError, and the state of before, where it is not acceptable."""
        value = self._configuration(q)
        self._library.function("updater_start")(self._state, self._library.input(value), *self._extra, self._report)
        return self._begun(value)

    def acquire(self, q: ArrayLike) -> UpdateReport:
        """Begin near q (nq,), which need not be closed: its inputs are held, modules corrected or acquired.

        AssemblyError, and the state of before, where no acceptable configuration is found within the limits.
        """
        value = self._configuration(q)
        self._library.function("acquire")(
            self._state, self._library.input(value), *self._extra, self._limits, self._report
        )
        return self._begun(value)

    @property
    def q(self) -> Array:
        """The last accepted configuration (nq,)."""
        return self._read("q", len(self._description.coordinates))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, in the order of u."""
        return self._inputs.names

    def snapshot(self) -> Snapshot:
        """The whole state."""
        return Snapshot(bytes(self._library.content(self._state)), self._description.name)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state of an updater of this robot.  ValueError for one of another."""
        content = self._library.content(self._state)
        instance(snapshot, Snapshot, "snapshot", "what `snapshot` gave")
        if snapshot.owner != self._description.name or len(snapshot.content) != len(content):
            raise ArgumentError(f"a snapshot of {snapshot.owner!r}, not of {self._description.name!r}")
        content[:] = snapshot.content
        self._started = True

    # --- inputs ---

    def set(self, name: str | int, value: float | Sequence[float] | Array) -> None:
        """Want an input at a value: a coordinate, all coordinates of a joint, or the pose of a ball or free root.

        A ball takes its unit quaternion (w, x, y, z), a free root (x, y, z, w, x, y, z).  Speeds of a ball of which
        some are dependent have no coordinate: see `advance`.  ValueError, and nothing set, for what is no input or no
        number.
        """
        place, given = self._checked(name, value)
        if isinstance(place, Pose):
            status = self._library.function("updater_set_pose")(self._state, place.number, self._library.input(given))
            if status:
                raise ArgumentError(f"{name!r}: its quaternion (w, x, y, z) must be of unit length")
            return
        for scalar, wanted in zip(place, given, strict=True):
            _accepted(self._library.function("updater_set")(self._state, scalar.index, float(wanted)), name)

    def _checked(
        self, name: str | int, value: float | Sequence[float] | Array
    ) -> tuple[tuple[Scalar, ...] | Pose, Array]:
        """What a name stands for, and the numbers for it; ValueError for what is no input or no number for it."""
        place = self._inputs.find(name)
        size = place.size if isinstance(place, Pose) else len(place)
        wanted = "a number" if size == 1 else f"{size} numbers"
        given = vector(np.atleast_1d(floats(value, f"input {name!r}", wanted)), size, f"input {name!r}")
        if np.abs(given).max(initial=0.0) > _MOST:
            raise ArgumentError(f"input {name!r}: beyond {_MOST:g}: {given}")
        return place, given

    def set_many(self, values: Values | ArrayLike) -> None:
        """Want several inputs: by name, or the values (d,) of all of them, or as in a configuration (nq,)."""
        if isinstance(values, Mapping):
            for name, value in values.items():
                self._checked(name, value)  # refuse before anything is set
            for name, value in values.items():
                self.set(name, value)
            return
        array = floats(values, "inputs", "{name: value}, or numbers")
        if array.shape == (len(self._description.coordinates),):
            value = self._configuration(array)
            for name, pose in self._inputs.poses.items():
                self.set(name, value[pose.start : pose.start + pose.size])
            for scalar in self._inputs.scalars.values():
                self.set(scalar.index, float(value[scalar.coordinate]))
            return
        array = vector(array, len(self.inputs), "inputs")
        if len(self._inputs.scalars) < len(self.inputs):
            raise ArgumentError("some inputs have no coordinate of their own (balls, free roots); set them by name")
        for index, wanted in enumerate(array):
            self._checked(index, float(wanted))
        for index, wanted in enumerate(array):
            self.set(index, float(wanted))

    def advance(self, name: str | int, increment: float) -> None:
        """Want an input moved by an increment from where it is wanted (rad or m), as its velocity moves it."""
        index = self._inputs.index(name)
        step = number(increment, f"the increment of input {name!r}")
        _accepted(self._library.function("updater_advance")(self._state, index, step), name)

    def set_parameters(self, parameters: ArrayLike) -> None:
        """Want other run-time parameters (np,), in the order of `Robot.parameters`."""
        if not self._extra:
            raise ArgumentError(f"{self._description.name} has no run-time parameters")
        given = vector(parameters, self._parameters.size, "parameters")
        self._library.function("updater_set_parameters")(self._state, self._library.input(given))

    def revert(self) -> None:
        """Forget inputs that no update has accepted."""
        self._library.function("updater_revert")(self._state)

    # --- motion ---

    def update(self) -> UpdateReport:
        """Move q to the inputs wanted.  Where that fails, q and all else stay as they were and `stop` tells why."""
        self._must_be_started()
        self._library.function("updater_update")(self._state, self._limits, self._report)
        return self._update_report()

    def follow(self) -> PathResult:
        """Move q towards the inputs wanted with step control, as far as that goes.

        Every point on the way is accepted in full; q stands at the last one, inputs not reached stay wanted.
        """
        self._must_be_started()
        self._library.function("follow")(self._state, self._limits, self._report)
        done = self._report
        return PathResult(
            self.q, float(done.fraction), int(done.points), int(done.evaluations), float(done.residual), self._stop()
        )

    # --- outputs ---

    def pose(self, frame: str) -> tuple[Array, Array]:
        """(R (3, 3), p (3,)) of a frame: x_world = R x + p."""
        index = self._description.frame_index(frame)
        pose = self._kept("poses", 12 * len(self._description.frames))[12 * index : 12 * index + 12]
        return pose[:9].reshape(3, 3).copy(), pose[9:].copy()

    @property
    def lift(self) -> Array:
        """E (nv, d) with v = E u."""
        return self._matrix("E", len(self._description.velocities), len(self.inputs))

    @property
    def port_displacement(self) -> Array:
        """l (nf,)."""
        return self._kept("l", len(self._description.ports))

    @property
    def port_map(self) -> Array:
        """L (nf, d) with ldot = L u."""
        return self._matrix("L", len(self._description.ports), len(self.inputs))

    @property
    def mass_matrix(self) -> Array:
        """M_r (d, d)."""
        return self._matrix("M", len(self.inputs), len(self.inputs))

    # --- within ---

    def _matrix(self, name: str, rows: int, columns: int) -> Array:
        return self._kept(name, rows * columns).reshape(rows, columns)

    def _kept(self, name: str, size: int) -> Array:
        """A copy of an output, brought up to q.  RankError where it does not exist there."""
        self._must_be_started()
        if size and self._library.function("updater_refresh")(self._state, _KEEP[name]):
            raise RankError(f"{self._description.name}: a pivot vanishes at this configuration", {"output": name})
        return self._read(name, size)

    def _read(self, name: str, size: int) -> Array:
        if name not in self._views:
            self._views[name] = self._library.field(self._state, name)
        return self._views[name][:size].astype(np.float64)

    def _configuration(self, q: ArrayLike) -> Array:
        value = vector(q, len(self._description.coordinates), "q")
        self._description.check_quaternions(value)
        return value

    def _must_be_started(self) -> None:
        if not self._started:
            raise ArgumentError("the updater stands nowhere yet; start(q) or acquire(q) first")

    def _begun(self, q: Array) -> UpdateReport:
        report = self._update_report()
        if report.stop is not None:
            limits = self._description.violated_limits(q)
            raise AssemblyError(
                f"{self._description.name}: cannot begin at this configuration: {report.stop}",
                residual=report.residual,
                joint=report.stop.joint or report.stop.module or "",
                eta=0.0,
                limits=limits,
                q=q,
            )
        self._started = True
        return report

    def _update_report(self) -> UpdateReport:
        done = self._report
        moved = tuple(name for name, flag in zip(self._modules, done.moved, strict=False) if flag)
        return UpdateReport(
            mode=MODES[done.mode],
            moved=moved,
            skipped=tuple(name for name in self._modules if name not in moved),
            evaluations=int(done.evaluations),
            points=int(done.points),
            residual=float(done.residual),
            contraction=float(done.contraction),
            stop=self._stop(),
        )

    def _stop(self) -> Stop | None:
        done = self._report
        if not done.status:
            return None

        def named(index: int, names: Iterable[str]) -> str | None:
            return tuple(names)[index] if index >= 0 else None

        return Stop(
            cause=Cause(done.status),
            joint=named(done.coordinate, self._description.coordinates),
            side={-1: "lower", 1: "upper"}.get(done.side),
            module=named(done.module, self._modules),
            dependent=named(done.dependent, self._description.velocities),
            pivot=float(done.pivot) if done.dependent >= 0 else None,
            fraction=float(done.fraction),
        )


def _limits(library: Library, limits: UpdateLimits) -> Any:
    made = library.structure("update_limits")
    library.function("update_limits_default")(made)
    for name in _COUNTS:
        setattr(made, name, int(getattr(limits, name)))
    made.predict, made.full_check = int(limits.prediction), int(limits.full_check)
    for name in ("tolerance", "smallest_step"):
        if getattr(limits, name) is not None:
            setattr(made, name, float(getattr(limits, name)))
    return made


def _accepted(status: int, name: str | int) -> None:
    """ValueError where the generated code took no input."""
    if status:
        raise ArgumentError(
            f"input {name!r} was not taken: too large, or without a coordinate of its own (status {status})"
        )
