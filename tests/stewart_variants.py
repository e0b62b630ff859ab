"""Twelve variants of models/stewart.yaml in geometry, payload, inertia, frames and order, and its six trees.

A tree keeps one of the six spherical joints and cuts the other five.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from covariance_support import Side, change, differences, poses_of, relative
from mechanics_support import shipped
from numpy.typing import NDArray
from oracle_kinematics import rigid
from random_mechanisms import place
from representations import Variant, identity, permuted, reframed, reversed_joints, with_reference

from robocompiler.oracle.maximal import Efforts
from robocompiler.oracle.tasks import port_map
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Body, Joint, Mechanism, Reference

Array = NDArray[np.float64]
LEGS = range(6)
BALLS = tuple(f"leg_{k}_ball" for k in LEGS)
GROUND = (-10.0, 10.0, 110.0, 130.0, 230.0, 250.0)
PLATFORM = (-50.0, 50.0, 70.0, 170.0, 190.0, 290.0)
HEIGHT = 0.6
NAMES = (
    "nominal", "base radius", "platform radius", "anchor angles", "irregular", "payload mass", "payload centre",
    "asymmetric inertia", "driven legs", "frames", "order", "reference",
)  # fmt: skip
SPEED, EFFORT = 0.25, 400.0  # rad/s or m/s; N


@dataclass(frozen=True)
class Sixfold:
    """A variant: what it changes, its records as a representation of `origin`, and whether that is the shipped one."""

    name: str
    says: str
    origin: Mechanism
    variant: Variant

    @property
    def represents_the_shipped(self) -> bool:
        """Whether only the representation differs from the shipped records."""
        return self.origin == shipped("stewart")


def cuts(kept: int) -> tuple[str, ...]:
    """The five spherical joints that are cut when that of leg `kept` stays in the tree."""
    return tuple(ball for ball in BALLS if ball != f"leg_{kept}_ball")


def circle(radius: float, degrees: tuple[float, ...]) -> Array:
    """Points (6, 3) on a horizontal circle."""
    angles = np.radians(degrees)
    return np.column_stack((radius * np.cos(angles), radius * np.sin(angles), 0 * angles))


def shortest(direction: Array) -> Array:
    """The rotation that takes z to a direction the short way."""
    x, y, z = direction
    return np.array([[1 - x * x / (1 + z), -x * y / (1 + z), x],
                     [-x * y / (1 + z), 1 - y * y / (1 + z), y],
                     [-x, -y, z]])  # fmt: skip


def anchored(mechanism: Mechanism, ground: Array, platform: Array, height: float = HEIGHT) -> Mechanism:
    """The platform with other anchors (6, 3) in metres, level at `height`, every leg straight at its reference."""
    rays = platform + np.array([0, 0, height]) - ground
    lengths = np.linalg.norm(rays, axis=1)

    def moved(joint: Joint) -> Joint:
        k = int(joint.name[4]) if joint.name.startswith("leg_") else 0
        if joint.name.endswith("_u_x"):
            return replace(joint, a=place("world", rigid(shortest(rays[k] / lengths[k]), ground[k])))
        if joint.name.endswith("_ball"):
            return replace(joint, b=place("platform", rigid(np.eye(3), platform[k])))
        return joint

    values = {f"leg_{k}_{part}": 0.0 for k in LEGS for part in ("u_x", "u_y")}
    values |= {f"leg_{k}_length": float(lengths[k]) for k in LEGS}
    return replace(mechanism, joints=tuple(map(moved, mechanism.joints)), reference=Reference(tuple(values.items())))


def with_bodies(mechanism: Mechanism, change: Callable[[Body], Body]) -> Mechanism:
    """Every body changed."""
    return replace(mechanism, bodies=tuple(change(body) for body in mechanism.bodies))


def only(*names: str, **fields: object) -> Callable[[Body], Body]:
    """A change of the named bodies."""
    return lambda body: replace(body, **fields) if body.name in names else body  # type: ignore[arg-type]


def _skewed(body: Body) -> Body:
    if body.name not in ("platform", "payload"):
        return body
    inertia = {"platform": (0.30, 0.42, 0.61, 0.05, -0.03, 0.04), "payload": (0.16, 0.11, 0.13, -0.02, 0.015, 0.03)}
    return replace(body, inertia=inertia[body.name])


def _heavy_leg(body: Body) -> Body:
    if not body.name.endswith(("_barrel", "_rod")):
        return body
    xx, yy, zz, *_ = (float(x) for x in body.inertia)  # type: ignore[arg-type]
    x, y, z = (float(c) for c in body.com)  # type: ignore[arg-type]
    return replace(
        body, mass=2.5 * float(body.mass), com=(x + 0.02, y - 0.015, z),  # type: ignore[arg-type]
        inertia=(2.5 * xx, 3.0 * yy, 3.5 * zz, 0.1 * xx, 0.05 * zz, -0.05 * zz),
    )  # fmt: skip


def _driven(joint: Joint) -> Joint:
    if joint.type is JointType.PRISMATIC:
        return replace(joint, armature=(3.0 + 0.5 * int(joint.name[4]),), damping=(40.0,))
    return replace(joint, damping=(0.3,)) if joint.type is JointType.REVOLUTE else joint


def _physical(records: Mechanism) -> dict[str, tuple[str, Mechanism]]:
    ground, platform = circle(0.55, GROUND), circle(0.35, PLATFORM)
    wide = circle(0.55, (-18.0, 18.0, 102.0, 138.0, 222.0, 258.0))
    close = circle(0.35, (-46.0, 46.0, 74.0, 166.0, 194.0, 286.0))
    random = np.random.default_rng(2609)
    odd_ground, odd_platform = (x + random.uniform(-0.05, 0.05, (6, 3)) for x in (ground, platform))
    return {
        "nominal": ("as shipped", records),
        "base radius": ("ground circle 0.62 m", anchored(records, circle(0.62, GROUND), platform)),
        "platform radius": ("platform circle 0.28 m", anchored(records, ground, circle(0.28, PLATFORM))),
        "anchor angles": ("pairs of anchors 36 and 28 degrees apart", anchored(records, wide, close)),
        "irregular": ("all anchors moved at random by up to 50 mm", anchored(records, odd_ground, odd_platform, 0.57)),
        "payload mass": ("payload of 14 kg", with_bodies(records, only("payload", mass=14.0))),
        "payload centre": (
            "payload's centre at (60, -40, 150) mm",
            with_bodies(records, only("payload", com=(0.06, -0.04, 0.15))),
        ),
        "asymmetric inertia": ("full tensors of platform and payload", with_bodies(records, _skewed)),
        "driven legs": (
            "legs 2.5 times heavier and off axis, rotors and dampers",
            with_bodies(replace(records, joints=tuple(map(_driven, records.joints))), _heavy_leg),
        ),
    }


def variants(values: Mapping[str, float], poses: Mapping[str, Array], shifted: Mapping[str, Array]) -> list[Sixfold]:
    """All twelve.

    Args:
        values: coordinates of the shipped reference by name.
        poses: 4x4 world poses of all bodies there.
        shifted: those of another assembled state, which is the reference of the variant that shifts it.
    """
    records = shipped("stewart")
    made = [Sixfold(n, says, own, identity(own, {})) for n, (says, own) in _physical(records).items()]
    frames = with_reference(reframed(records, values, 5), poses)
    order = reversed_joints(records, values, 5)
    order = with_reference(replace(order, mechanism=permuted(order.mechanism, values, 5).mechanism), poses)
    elsewhere = with_reference(identity(records, values), shifted)
    made.append(Sixfold("frames", "all body and joint frames re-expressed", records, frames))
    made.append(Sixfold("order", "joints reversed, records permuted", records, order))
    made.append(Sixfold("reference", "the reference at another pose", records, elsewhere))
    return made


class Study:
    """The shipped platform with the ball of leg 0 in its tree, and its variants."""

    def __init__(self) -> None:
        self.nominal = Side.of(shipped("stewart"), (), cuts(0))
        robot = self.nominal.mechanics.robot
        values = robot.named(robot.reference)
        moved = robot.named(robot.assembled_near(np.random.default_rng(11), 0.05))
        here, there = (poses_of(self.nominal, self.nominal.placed(x)) for x in (values, moved))
        self.variants = {one.name: one for one in variants(values, here, there)}

    def sixfold(self, name: str) -> Sixfold:
        """One of the twelve."""
        return self.variants[name]

    def compared(self, one: Sixfold, base: Side, there: Side) -> tuple[dict[str, float], dict[str, float]]:
        """Relative distances from covariance with `base`, and from the oracle of the variant's records, at one state.

        The state is the same for all trees of a variant: 0.05 from the reference, speeds to 0.25, efforts to 400 N.
        """
        random = np.random.default_rng([7, NAMES.index(one.name)])
        robot = base.mechanics.robot
        q = robot.assembled_near(random, 0.05)
        u = random.uniform(-SPEED, SPEED, len(base.mechanics.independent))
        f = random.uniform(-EFFORT, EFFORT, len(base.mechanics.ports))
        variant = one.variant if base is self.nominal else identity(one.variant.mechanism, {})
        at = change(base, variant, there, robot.named(q), u)
        return differences(base, variant, there, at, f), against_oracle(there, at.own, at.own_u, f)


def against_oracle(one: Side, q: Array, u: Array, f: Array) -> dict[str, float]:
    """Lift, port map, mass matrix, bias and acceleration against maximal coordinates of the same records, relative."""
    compiled, model = one.mechanics, one.model
    state = one.moving(one.placed(compiled.robot.named(q)), u)
    reduced = model.reduced(state)
    efforts = Efforts(ports=dict(zip(compiled.ports, map(float, f), strict=True)))
    wanted = {
        "B": (compiled.robot.lift(q), model.lift(state, compiled.velocities)),
        "L": (compiled.port_map(q), port_map(model, state, compiled.ports)),
        "M": (compiled.mass(q), reduced.M),
        "h": (compiled.inverse(q, u, 0 * u), reduced.h),
        "udot": (compiled.forward(q, u, f), model.accelerations(state, efforts).udot),
    }
    return {name: relative(found, np.asarray(number, dtype=float)) for name, (found, number) in wanted.items()}
