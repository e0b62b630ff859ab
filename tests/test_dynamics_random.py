"""Random mechanisms: every joint type in trees and as chords, couplings, armature, damping, free roots, reversed.

The kernels are evaluated by CasADi, chained as the generated C chains them; the reference is in maximal coordinates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from casadi_mechanics import CasadiMechanics
from dynamics_agreement import agrees
from random_mechanisms import ALL_KINDS, Sample, chord_case, random_mechanism, tree_case

from robocompiler.check.random_refusals import justified
from robocompiler.compiler import run_front_end
from robocompiler.errors import RankError
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import Mechanism

NEARLY_SINGULAR = 18
MOVING = (JointType.REVOLUTE, JointType.SPHERICAL, JointType.UNIVERSAL, JointType.PRISMATIC)


def damped(mechanism: Mechanism, random: np.random.Generator) -> Mechanism:
    """The mechanism with damping on some joints, chords among them, and a gravity that is not vertical."""
    joints = tuple(
        replace(joint, damping=tuple(random.uniform(0.1, 1, JOINT_SHAPES[joint.type].nv).tolist()))
        if random.random() < 0.3 and JOINT_SHAPES[joint.type].nv
        else joint
        for joint in mechanism.joints
    )
    return replace(mechanism, joints=joints, gravity=(1.0, -2.0, -9.0))


def damped_agrees(sample: Sample, seed: int) -> int:
    """`agrees` with random damping."""
    random = np.random.default_rng(seed)
    return agrees(Sample(damped(sample.mechanism, random), sample.values), random)


@pytest.mark.parametrize("seed", sorted(set(range(40)) - {NEARLY_SINGULAR}))
def test_random_mechanism(seed: int) -> None:
    assert damped_agrees(random_mechanism(seed), seed) >= 0


def test_a_nearly_singular_one_is_refused_and_not_guessed() -> None:
    """One row of this draw has a singular value of 4e-5 where the others have 4e-2 and more."""
    sample = random_mechanism(NEARLY_SINGULAR)
    model = MaximalModel(sample.mechanism)
    values = np.asarray(model.state(model.project(model.pose(sample.values))).space.singular_values, dtype=float)
    assert 1e-5 < values[values > 1e-9].min() < 1e-4
    with pytest.raises(RankError, match=r"not clear: 1 singular value\(s\) lie") as refusal:
        run_front_end(sample.mechanism)
    assert justified(refusal.value, sample.mechanism)[0]


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("kept", [False, True])
def test_every_kind_of_chord(kind: JointType, kept: bool) -> None:
    """Two flying bodies and one chord; kept means that its armature keeps its coordinates in the dynamics."""
    sample = chord_case(kind, swapped=kept, kept=kept)
    assert damped_agrees(sample, 100 + kept) == 6 + JOINT_SHAPES[kind].nv


@pytest.mark.parametrize("kind", MOVING)
def test_every_way_round_in_a_tree(kind: JointType) -> None:
    for turned in (False, True):
        assert damped_agrees(tree_case(kind, reversed_=turned), 200) > 0


def test_damping_of_a_chord_is_not_lost() -> None:
    """The same chord with and without damping: the difference is the damping's power at its own speed."""
    sample = chord_case(JointType.REVOLUTE, swapped=False, kept=True)
    chord = sample.mechanism.joints[-1]
    heavy = replace(sample.mechanism, joints=(*sample.mechanism.joints[:-1], replace(chord, damping=(0.8,))))
    plain, lossy = CasadiMechanics.of(sample.mechanism), CasadiMechanics.of(heavy, ())
    assert plain.independent == lossy.independent
    q = plain.robot.reference
    u = np.random.default_rng(1).uniform(-1, 1, len(plain.independent))
    speed = plain.robot.lift(q)[plain.velocities.index("tested")]
    wanted = 0.8 * speed * (speed @ u)
    found = lossy.inverse(q, u, 0 * u) - plain.inverse(q, u, 0 * u)
    assert np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_the_reference_refuses_what_moves_no_inertia() -> None:
    """A massless free body: no acceleration follows from a force on it."""
    sample = chord_case(JointType.SPHERICAL, swapped=False, kept=False)
    bodies = tuple(replace(b, mass=0.0, inertia=(0.0,) * 6) for b in sample.mechanism.bodies)
    model = MaximalModel(replace(sample.mechanism, bodies=bodies))
    state = model.state(model.project(model.pose(sample.values)))
    with pytest.raises(RankError, match="not positive definite"):
        model.accelerations(state)
