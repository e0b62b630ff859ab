"""Inertia, velocity-product forces, weights and energies of the bodies in world axes, about each body's origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robocompiler.oracle.arithmetic import Arithmetic, Number
from robocompiler.oracle.relative import Poses
from robocompiler.oracle.scene import Scene, Solid
from robocompiler.oracle.vectors import Matrix, Vector, add, apply, cross, dot, multiply, scale, transpose


@dataclass(frozen=True)
class WorldBody:
    """A body at its pose: mass, arm from its origin to its centre of mass, and inertia about that centre."""

    mass: Number
    arm: Vector
    inertia: Matrix

    def momentum(self, omega: Vector, v: Vector) -> tuple[Vector, Vector]:
        """(moment about the origin, force) of the inertia on an angular and a linear vector: M (omega; v)."""
        force = scale(self.mass, add(v, cross(omega, self.arm)))
        return add(apply(self.inertia, omega), cross(self.arm, force)), force

    def velocity_product(self, omega: Vector) -> tuple[Vector, Vector]:
        """(omega x I omega + c x m omega x (omega x c); m omega x (omega x c)): what is left when M a is taken away."""
        force = scale(self.mass, cross(omega, cross(omega, self.arm)))
        gyroscopic = cross(omega, apply(self.inertia, omega))
        return add(gyroscopic, cross(self.arm, force)), force


def world_bodies(scene: Scene, poses: Poses) -> list[WorldBody]:
    """All bodies at their poses."""

    def at(solid: Solid, R: Matrix) -> WorldBody:
        return WorldBody(solid.mass, apply(R, solid.com), multiply(multiply(R, solid.inertia), transpose(R)))

    return [at(solid, R) for solid, R in zip(scene.solids, poses.R, strict=True)]


def halves(V: Sequence[Number], body: int) -> tuple[Vector, Vector]:
    """The angular and linear parts of one body's six numbers."""
    a, b, c, x, y, z = V[6 * body : 6 * body + 6]
    return (a, b, c), (x, y, z)


def apply_inertia(bodies: Sequence[WorldBody], V: Sequence[Number]) -> list[Number]:
    """M V over all bodies."""
    result: list[Number] = []
    for k, body in enumerate(bodies):
        moment, force = body.momentum(*halves(V, k))
        result += (*moment, *force)
    return result


def bias_forces(bodies: Sequence[WorldBody], V: Sequence[Number], gravity: Vector) -> list[Number]:
    """Velocity products less the weights, over all bodies: M a + this = applied forces + A^T lambda."""
    result: list[Number] = []
    for k, body in enumerate(bodies):
        moment, force = body.velocity_product(halves(V, k)[0])
        weight = scale(-body.mass, gravity)
        result += (*add(moment, cross(body.arm, weight)), *add(force, weight))
    return result


def kinetic_energy(bodies: Sequence[WorldBody], V: Sequence[Number]) -> Number:
    """V^T M V / 2."""
    return sum(x * y for x, y in zip(V, apply_inertia(bodies, V), strict=True)) / 2


def potential_energy(bodies: Sequence[WorldBody], poses: Poses, scene: Scene, arithmetic: Arithmetic) -> Number:
    """-sum m g . (centre of mass)."""
    total = arithmetic.number(0.0)
    for body, p in zip(bodies, poses.p, strict=True):
        total -= body.mass * dot(scene.gravity, add(p, body.arm))
    return total
