"""How the end of a limb answers its joints: change of a point or direction, of its speed and of its acceleration.

A limb is walked outward from a base frame that stands still.  A point p of its last link moves by phi_i = omega_i x
(p - o_i) + slide_i per unit of speed i; a direction likewise, with o_i = p and no slides.  The axes of joint i are held
by a frame N of the limb (angular velocity omega, angular acceleration alpha), relative to which p has the velocity u
and, seen from the base, the excess b of acceleration over a point of N at the same place.  Along unit x_i, speeds held,

    dp = phi_i      d(pdot) = turn_i = omega x phi_i + omega_i x u
    d(pddot) = bend_i = alpha x phi_i + omega x (omega x phi_i) + 2 (omega x omega_i) x u + omega_i x b

and along a unit change of speed i by itself  d(pdot) = phi_i,  d(pddot) = 2 turn_i + swing_i,  where swing vanishes but
for joints whose several axes act together and that are not `steady`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import casadi as cs

from robocompiler.symbolic.branches import Limb
from robocompiler.symbolic.joints import Motion
from robocompiler.symbolic.spatial import Pose, skew

SX = Any


@dataclass(frozen=True)
class Group:
    """Motions that act together.

    outer: their axes are fixed in the outer frame (else in the inner one), and forces are measured along them;
    held_outer: their speeds are held along axes of the outer frame while the configuration changes.  For a single axis
    all this is the same, and `held_outer` may be what is cheaper.  steady: a change of its speeds comes with the change
    of its accelerations that leaves no swing.
    """

    motions: tuple[Motion, ...]
    outer: bool = True
    held_outer: bool = True
    steady: bool = False


@dataclass(frozen=True)
class Frame:
    """Angular velocity and acceleration of a frame along the limb."""

    omega: SX
    alpha: SX

    @cached_property
    def U(self) -> SX:
        """[alpha]x + [omega]x [omega]x."""
        turning = skew(self.omega)
        return skew(self.alpha) + cs.mtimes(turning, turning)


@dataclass(frozen=True)
class Answer:
    """One joint speed at the tip: phi, turn, swing and bend (3,); swing is None where it vanishes."""

    phi: SX
    turn: SX
    swing: SX | None
    bend: SX


@dataclass(frozen=True)
class Tip:
    """A vector of a limb's end (base axes), its two time derivatives, and its answers {velocity: Answer}."""

    value: SX
    rate: SX
    curvature: SX
    answers: Mapping[int, Answer]

    def __sub__(self, other: Tip) -> Tip:
        """The difference of the tips of two limbs without a common joint."""
        negative = {
            k: Answer(-a.phi, -a.turn, None if a.swing is None else -a.swing, -a.bend) for k, a in other.answers.items()
        }
        return Tip(
            self.value - other.value,
            self.rate - other.rate,
            self.curvature - other.curvature,
            {**self.answers, **negative},
        )


@dataclass(frozen=True)
class MovingLimb:
    """A limb in motion: its groups outward, and the frames before, between and after them.

    pose: of the frame at its end; end: the same in the far frame of the last joint, constant.
    """

    groups: tuple[Group, ...]
    frames: tuple[Frame, ...]
    v: SX
    a: SX
    pose: Pose
    end: Pose

    def point(self) -> Tip:
        """The origin of the end."""
        return self._tip(self.pose.p, self.end.p, lambda motion: motion.velocity_of(self.pose.p))

    def direction(self, axis: int) -> Tip:
        """An axis of the end."""
        e = self.pose.R[:, axis]
        return self._tip(
            e, self.end.R[:, axis], lambda motion: _zero() if motion.omega is None else cs.cross(motion.omega, e)
        )

    def _phis(self, g: int, own: SX, moved: Callable[[Motion], SX]) -> list[SX]:
        """phi of a group; the last ball's from `own`, the vector in its axes, whose zeros are seen (a rod's spin)."""
        motions = self.groups[g].motions
        if g + 1 < len(self.groups) or len(motions) != 3 or not self.groups[g].outer:
            return [moved(motion) for motion in motions]
        x, y, z = (motion.omega for motion in motions)
        return [own[1] * z - own[2] * y, own[2] * x - own[0] * z, own[0] * y - own[1] * x]

    def _tip(self, value: SX, own: SX, moved: Callable[[Motion], SX]) -> Tip:
        """From the tip inward: u and c sum what the joints beyond a frame give, b = c + omega x u."""
        u, c = _zero(), _zero()
        answers: dict[int, Answer] = {}
        for g in reversed(range(len(self.groups))):
            group, inner, outer = self.groups[g], self.frames[g], self.frames[g + 1]
            phis = self._phis(g, own, moved)
            speed = _sum(phi * self.v[m.index] for m, phi in zip(group.motions, phis, strict=True))
            pushed = _sum(phi * self.a[m.index] for m, phi in zip(group.motions, phis, strict=True))
            several = len(group.motions) > 1
            frame, beyond = (inner, u + speed) if group.held_outer else (outer, u)
            spin = _sum(m.omega * self.v[m.index] for m in group.motions if m.omega is not None)
            turns = [
                cs.cross(frame.omega, phi) + _turned(m, beyond) for m, phi in zip(group.motions, phis, strict=True)
            ]
            if several:  # the turns' sum, whichever frame holds the axes
                coriolis = cs.cross(frame.omega, speed) + cs.cross(spin, beyond)
            else:
                coriolis = turns[0] * self.v[group.motions[0].index]
            c_in = c + pushed + coriolis
            b = (c_in if group.held_outer else c) + cs.cross(frame.omega, beyond)
            for m, phi, turn in zip(group.motions, phis, turns, strict=True):
                swing = None
                if several and not group.steady:
                    swing = cs.cross(spin, phi) - _turned(m, speed)
                    swing = swing if group.held_outer else -swing
                answers[m.index] = Answer(phi, turn, swing, _bend(frame, m, phi, beyond, b))
            u, c = u + speed, c_in
        return Tip(value, u, c, answers)


def moving_limb(limb: Limb, groups: Sequence[Group], v: SX, a: SX) -> MovingLimb:
    """The limb at velocities v and accelerations a (nv,) of all joints."""
    frames = [Frame(_zero(), _zero())]
    for group in groups:
        turns = [m for m in group.motions if m.omega is not None]
        spin = _sum(m.omega * v[m.index] for m in turns)
        pushed = _sum(m.omega * a[m.index] for m in turns)
        inner = frames[-1]
        frames.append(Frame(inner.omega + spin, inner.alpha + pushed + cs.cross(inner.omega, spin)))
    return MovingLimb(tuple(groups), tuple(frames), v, a, limb.pose, limb.end)


def grouped(motions: Sequence[Motion]) -> list[tuple[Motion, ...]]:
    """The motions of a limb by factor, outward."""
    return [tuple(group) for _, group in groupby(motions, key=lambda motion: motion.factor)]


def _bend(frame: Frame, motion: Motion, phi: SX, u: SX, b: SX) -> SX:
    turned = _zero() if motion.omega is None else 2 * cs.cross(cs.cross(frame.omega, motion.omega), u)
    return cs.mtimes(frame.U, phi) + turned + _turned(motion, b)


def _turned(motion: Motion, x: SX) -> SX:
    return _zero() if motion.omega is None else cs.cross(motion.omega, x)


def _zero() -> SX:
    return cs.SX(cs.DM.zeros(3, 1).full())


def _sum(parts: Any) -> SX:
    total = _zero()
    for part in parts:
        total = total + part
    return total
