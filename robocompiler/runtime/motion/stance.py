"""A floating robot in one of its support modes, and the change to another one with consistent speeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import duck, instance, mapping, named
from robocompiler.errors import ArgumentError
from robocompiler.runtime.anchors import Placed
from robocompiler.runtime.arrays import vector
from robocompiler.runtime.motion.impulse import admissible_speeds, contact_impulses, kinetic

if TYPE_CHECKING:
    from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]

_ROWS = {"weld": slice(0, 6), "point": slice(3, 6)}  # of a frame's Jacobian, angular first


@dataclass(frozen=True)
class Stance:
    """The state of a floating robot in a support mode.

    floating: the robot without support; mode: the mode's name, None while it floats; held: the robot in that mode with
    its contacts where they are (`floating` itself while it floats); q, u: assembled configuration and independent
    speeds of `held`.
    """

    floating: Robot
    mode: str | None
    held: Robot
    q: Array
    u: Array

    @staticmethod
    def floats(robot: Robot, q: ArrayLike | None = None, u: ArrayLike | None = None) -> Stance:
        """Without support, at an assembled q (default: the reference) with speeds u (default: at rest).

        Raises:
            ValueError: the robot is itself held in a support mode, or arrays of the wrong size.
            AssemblyError: q is not assembled and cannot be.
        """
        duck(robot, ("assemble", "support", "simulate"), "robot", "a Robot")
        if robot.anchors:
            raise ArgumentError(f"{robot.name} is held in a support mode already; give the floating robot")
        start = robot.assemble(robot.reference if q is None else q)
        speeds = np.zeros(len(robot.independent)) if u is None else vector(u, len(robot.independent), "u")
        return Stance(robot, None, robot, start, speeds.copy())

    @property
    def contacts(self) -> dict[str, str]:
        """{frame: 'weld' or 'point'} of the contacts."""
        return {} if self.mode is None else self.floating.supports[self.mode]

    @property
    def floating_q(self) -> Array:
        """This configuration in the coordinates of the floating robot (nq,)."""
        if self.mode is None:
            return self.q.copy()
        value = dict(zip(self.held.coordinates, self.q, strict=True))
        return np.array([value[name] for name in self.floating.coordinates])

    @property
    def floating_u(self) -> Array:
        """These speeds as independent speeds of the floating robot (d,)."""
        return _select(self.held.velocities, self.held.velocity(self.q, self.u), self.floating.independent)

    def switched(self, mode: str | None, at: Mapping[str, Placed] | None = None) -> Switched:
        """The change to `mode` (None: let go of everything), at this configuration; see `switch`."""
        return switch(self, mode, at)


@dataclass(frozen=True)
class Impact:
    """What a change of support does to the speeds.

    impulses: {frame: (moment about its origin, N m s; force, N s)} that the new contacts exert on the robot, world
    axes; undetermined: frames whose share redundant contacts leave open (least norm); jump (d,): change of the floating
    robot's independent speeds; before, after: kinetic energy, J; loss = 1/2 |jump|_M^2 = before - after.
    """

    impulses: dict[str, Array]
    undetermined: tuple[str, ...]
    jump: Array
    before: float
    after: float
    loss: float


@dataclass(frozen=True)
class Switched:
    """The stance after a change of support.

    impact: None where contacts were only let go of, which changes no speed; correction: the largest change of a
    coordinate (m, rad) that closing the loops again took, 0 where q was carried bit for bit.
    """

    stance: Stance
    impact: Impact | None
    correction: float


def switch(stance: Stance, mode: str | None, at: Mapping[str, Placed] | None = None) -> Switched:
    """The same robot in another support mode, its configuration carried by names.

    Contacts that go on keep their anchors, new ones are put where their frames are.  Speeds stay where contacts are
    only let go of; else they jump to the admissible speeds of the new mode that are nearest in the metric of the
    floating robot's reduced inertia: an impact without rebound or slip, in which contacts let go of at the same instant
    take no impulse.

    Args:
        mode: a compiled support mode of `stance.floating`, None to float.
        at: other places of contacts, {frame: (R, p) or p}; the loops are closed again with the independents held.

    Raises:
        ValueError: no such mode, or no such contact.
        LoadError: the mode was not compiled.
        AssemblyError: the loops do not close there, or a joint limit is violated.
        RankError: the chart of the new mode is singular at this configuration.
    """
    instance(stance, Stance, "stance", "a Stance", "begin with Stance.floats(robot)")
    floating = stance.floating
    q, v = stance.floating_q, stance.held.velocity(stance.q, stance.u)
    if mode is None:
        if at:
            raise ArgumentError("a robot that floats has no contact to place")
        held, found = floating, floating.assemble(q)
    else:
        named("support mode", mode, floating.supports)
        held, found = _put(stance, mode, q, {} if at is None else mapping(at, "at", "{frame: (R, p) or p}"))
    after = Stance(floating, mode, held, found, np.zeros(len(held.independent)))
    correction = float(np.abs(after.floating_q - q).max(initial=0.0))
    if released(stance.contacts, after.contacts):
        u = _select(stance.held.velocities, v, held.independent)
        return Switched(Stance(floating, mode, held, found, u), None, correction)
    u, met = impact(after, _select(stance.held.velocities, v, floating.independent))
    return Switched(Stance(floating, mode, held, found, u), met, correction)


def _put(stance: Stance, mode: str, q: Array, at: Mapping[str, Placed]) -> tuple[Robot, Array]:
    """The robot held in `mode` and its configuration, given that of the floating robot."""
    floating = stance.floating
    held = floating.support(mode)
    here = {frame: floating.pose(frame, q) for frame in floating.supports[mode]}
    held = held.at({**here, **at})
    kept = tuple(f"anchor:{frame}:" for frame in stance.contacts if frame not in at)
    anchors = {name: value for name, value in stance.held.parameters.items() if name.startswith(kept)}
    held = held.with_parameters({name: value for name, value in anchors.items() if name in held.parameters})
    start = held.configuration(dict(zip(floating.coordinates, q, strict=True)))
    # the turns of point contacts follow from the rest; what is closed then comes back as it is
    carried = held._evaluation.recover(start)
    own = [held.coordinates.index(name) for name in floating.coordinates]
    carried[own] = q
    return held, held.assemble(carried)


def released(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether every contact of `after` held at least as much before."""
    return all(before.get(frame) in ("weld", kind) for frame, kind in after.items())


def impact(after: Stance, u: Array) -> tuple[Array, Impact]:
    """Speeds of the mode, and the impact, from independent speeds u of the floating robot."""
    floating, held = after.floating, after.held
    q = after.floating_q
    M = floating.mass_matrix(q)
    rows = [held.velocities.index(name) for name in floating.independent]
    K = held.lift(after.q)[rows]
    speeds = admissible_speeds(M, K, u)
    new = K @ speeds
    contacts = after.contacts
    parts = {frame: floating.task_jacobian(frame, q)[_ROWS[kind]] for frame, kind in contacts.items()}
    J = np.concatenate([np.zeros((0, u.size)), *parts.values()])
    found = contact_impulses(M, J, u, new)
    impulses, unclear, start = {}, [], 0
    for frame, kind in contacts.items():
        place = slice(start, start + parts[frame].shape[0])
        start = place.stop
        impulses[frame] = np.zeros(6)
        impulses[frame][_ROWS[kind]] = found.values[place]
        if found.undetermined[place].any():
            unclear.append(frame)
    jump = new - u
    met = Impact(impulses, tuple(unclear), jump, kinetic(M, u), kinetic(M, new), kinetic(M, jump))
    return speeds, met


def _select(names: tuple[str, ...], values: Array, wanted: tuple[str, ...]) -> Array:
    place = {name: k for k, name in enumerate(names)}
    return np.array([values[place[name]] for name in wanted], dtype=np.float64)
