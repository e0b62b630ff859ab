"""Relative motion of a joint's two frames, and linear functionals of it as rows over the twists of all bodies.

Every constraint and every joint velocity is a functional c . Omega + e . X with

    Omega = omega_b - omega_a,    X = v_pb - v_pa - omega_a x (p_b - p_a)      (world axes)

and moving unit vectors c, e fixed in one of the frames.  Its time derivative is the same row on the accelerations plus
a bias; accelerations are classical (alpha; d/dt of the origin's velocity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import mul

from robocompiler.oracle.arithmetic import Arithmetic, Number
from robocompiler.oracle.scene import GROUND, Frame
from robocompiler.oracle.vectors import (
    Matrix,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    identity,
    multiply,
    negative,
    scale,
    subtract,
    transpose,
)


@dataclass(frozen=True)
class Row:
    """A functional of all twists: sum(entries * V), and the bias of its time derivative."""

    entries: dict[int, Number]
    bias: Number

    def __call__(self, V: Sequence[Number]) -> Number:
        """Value on a vector of 6 numbers a body."""
        return sum(map(mul, self.entries.values(), map(V.__getitem__, self.entries)))

    def __add__(self, other: Row) -> Row:
        entries = dict(self.entries)
        for column, value in other.entries.items():
            entries[column] = entries[column] + value if column in entries else value
        return Row(entries, self.bias + other.bias)

    def times(self, factor: Number) -> Row:
        """This row, scaled by a constant."""
        return Row({column: factor * value for column, value in self.entries.items()}, factor * self.bias)


@dataclass(frozen=True)
class Motion:
    """World pose (R, p) and twist (omega, v of the origin) of one body."""

    R: Matrix
    p: Vector
    omega: Vector
    v: Vector


@dataclass(frozen=True)
class Poses:
    """World rotations and origins of all bodies, in body order."""

    R: tuple[Matrix, ...]
    p: tuple[Vector, ...]

    def motion(self, body: int, twists: Sequence[Number] | None, arithmetic: Arithmetic) -> Motion:
        """Pose and twist of a body (the world included); no twists means rest."""
        zero = arithmetic.number(0.0)
        rest = (zero, zero, zero)
        if body == GROUND:
            return Motion(identity(arithmetic), rest, rest, rest)
        if twists is None:
            return Motion(self.R[body], self.p[body], rest, rest)
        w0, w1, w2, v0, v1, v2 = twists[6 * body : 6 * body + 6]
        return Motion(self.R[body], self.p[body], (w0, w1, w2), (v0, v1, v2))


@dataclass(frozen=True)
class Axis:
    """A unit vector in world axes and its rate."""

    vector: Vector
    rate: Vector


@dataclass(frozen=True)
class Relative:
    """Frame b seen from frame a."""

    body_a: int
    body_b: int
    R_a: Matrix
    R_b: Matrix
    arm_a: Vector  # from the origin of a's body to the origin of frame b: where X is felt on a's side
    arm_b: Vector
    offset: Vector  # p_b - p_a, world axes
    omega_a: Vector
    omega_b: Vector
    Omega: Vector
    X: Vector
    X_bias: Vector
    rotation: Matrix = field(init=False)  # R_a^T R_b
    position: Vector = field(init=False)  # p_b - p_a in the axes of a

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", multiply(transpose(self.R_a), self.R_b))
        object.__setattr__(self, "position", apply_transposed(self.R_a, self.offset))

    def in_a(self, direction: Vector) -> Axis:
        """A direction fixed in frame a."""
        vector = apply(self.R_a, direction)
        return Axis(vector, cross(self.omega_a, vector))

    def in_b(self, direction: Vector) -> Axis:
        """A direction fixed in frame b."""
        vector = apply(self.R_b, direction)
        return Axis(vector, cross(self.omega_b, vector))

    def angular(self, c: Axis) -> Row:
        """The row of c . Omega."""
        return Row(self._entries(c.vector, negative(c.vector), None), dot(c.rate, self.Omega))

    def linear(self, e: Axis) -> Row:
        """The row of e . X."""
        entries = self._entries(cross(self.arm_b, e.vector), negative(cross(self.arm_a, e.vector)), e.vector)
        return Row(entries, dot(e.rate, self.X) + dot(e.vector, self.X_bias))

    def _entries(self, on_b: Vector, on_a: Vector, force: Vector | None) -> dict[int, Number]:
        entries: dict[int, Number] = {}
        ends = (
            (self.body_a, on_a, None if force is None else negative(force)),
            (self.body_b, on_b, force),
        )
        for body, moment, push in ends:
            if body == GROUND:
                continue
            for k in range(3):
                entries[6 * body + k] = moment[k]
                if push is not None:
                    entries[6 * body + 3 + k] = push[k]
        return entries


def relative(a: Frame, b: Frame, poses: Poses, twists: Sequence[Number] | None, arithmetic: Arithmetic) -> Relative:
    """Relative motion of two frames."""
    first, second = poses.motion(a.body, twists, arithmetic), poses.motion(b.body, twists, arithmetic)
    r_a, r_b = apply(first.R, a.p), apply(second.R, b.p)
    offset = subtract(add(second.p, r_b), add(first.p, r_a))
    drift = subtract(
        add(second.v, cross(second.omega, r_b)),
        add(first.v, cross(first.omega, r_a)),
    )
    X = subtract(drift, cross(first.omega, offset))
    X_bias = subtract(
        subtract(
            cross(second.omega, cross(second.omega, r_b)),
            cross(first.omega, cross(first.omega, r_a)),
        ),
        cross(first.omega, drift),
    )
    return Relative(
        a.body, b.body, multiply(first.R, a.R), multiply(second.R, b.R), add(r_a, offset), r_b, offset,
        first.omega, second.omega, subtract(second.omega, first.omega), X, X_bias,
    )  # fmt: skip


def combination(first: Number, a: Axis, second: Number, b: Axis) -> Axis:
    """first a + second b with constant factors."""
    return Axis(
        add(scale(first, a.vector), scale(second, b.vector)),
        add(scale(first, a.rate), scale(second, b.rate)),
    )


def normal(a: Axis, b: Axis) -> Axis:
    """a x b and its rate."""
    return Axis(cross(a.vector, b.vector), add(cross(a.rate, b.vector), cross(a.vector, b.rate)))
