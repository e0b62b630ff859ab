"""The mechanisms and changes of representation that covariance is shown on, and the bounds that must hold."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from covariance_support import Side, change, differences, poses_of, random_chart, random_cuts
from mechanics_support import shipped
from random_mechanisms import random_mechanism
from representations import Variant, identity, reframed, reversed_joints, together, with_reference

from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import Mechanism

TOLERANCE = 1e-12
EPS = float(np.finfo(float).eps)
CHANGES = ("reversed", "reframed", "forest 0", "forest 1", "chart 1", "chart 2", "together")
AXIAL = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.UNIVERSAL)


def records(case: str) -> Mechanism:
    """Shipped records, or a random mechanism with dampers on some hinges and slides, whichever the forest cuts."""
    if not case.startswith("random"):
        return shipped(case)
    seed = int(case.replace("_", " ").split()[1])
    random = np.random.default_rng(seed)
    mechanism = random_mechanism(seed).mechanism
    joints = tuple(
        replace(j, damping=tuple(random.uniform(0.1, 1, JOINT_SHAPES[j.type].nv).tolist()))
        if j.type in AXIAL and random.random() < 0.4
        else j
        for j in mechanism.joints
    )
    return replace(mechanism, joints=joints, gravity=(1.0, -2.0, -9.0))


@functools.cache
def original(case: str) -> Side:
    return Side.of(records(case))


def represented(case: str, kind: str) -> tuple[Variant, Side]:
    """Another representation of a case, its reference the assembled one of the original.

    (A reference that is only a seed, as the Kangaroo's, is assembled to another pose from another forest.)
    """
    base, (name, _, number) = original(case), kind.partition(" ")
    mechanism, seed = base.model.scene.mechanism, int(number or 7)
    values = base.mechanics.robot.named(base.mechanics.robot.reference)
    cuts: Sequence[str] = ()
    chart: Sequence[str] = ()
    make = {"reversed": reversed_joints, "reframed": reframed, "together": together}.get(name)
    made = identity(mechanism, values) if make is None else make(mechanism, values, seed)
    made = with_reference(made, poses_of(base, base.placed(values)))
    if name in ("forest", "together"):
        cuts = random_cuts(made.mechanism, seed)
    if name == "chart":
        chart = random_chart(base, seed)
    there = Side.of(made.mechanism, chart, cuts)
    if cuts:
        assert {chord.joint for chord in there.mechanics.robot.topology.chords} == set(cuts)
    return made, there


def check(case: str, kind: str, size: float, speed: float) -> dict[str, float]:
    """Every quantity within its bound at a state off the reference; the differences and condition numbers.

    The bound is 1e-12, or what the chart's own condition leaves where that is more: 8 eps k with k = cond F for what F
    enters once, 8 eps k^2 for what it enters twice or by its rate, and 4 eps cond M for body accelerations.
    """
    base, (variant, there) = original(case), represented(case, kind)
    random = np.random.default_rng(3)
    q = base.mechanics.robot.assembled_near(random, size)
    u = random.uniform(-speed, speed, len(base.mechanics.independent))
    f = random.uniform(-10, 10, len(base.mechanics.ports))
    at = change(base, variant, there, base.mechanics.robot.named(q), u)
    found = differences(base, variant, there, at, f)
    condition = float(np.linalg.cond(base.mechanics.mass(at.q)))
    k = float(np.linalg.cond(at.F))
    once, twice = max(TOLERANCE, 8 * EPS * k), max(TOLERANCE, 8 * EPS * k**2)
    bounds = dict.fromkeys(found, once) | dict.fromkeys(("M", "h", "force"), twice)
    bounds["a"] = max(TOLERANCE, 4 * EPS * condition)
    assert all(found[name] < bounds[name] for name in found), (found, condition, k)
    return found | {"cond M": condition, "cond F": k}
