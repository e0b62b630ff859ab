"""Small random mechanisms of the tests: the package's generator by seed, and single joints in given places."""

from __future__ import annotations

import numpy as np

from robocompiler.check.random_parts import Maker, RandomMechanism, body_poses, place
from robocompiler.check.random_structure import ALL_KINDS, Size, finish, random_structure
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD

Sample = RandomMechanism
__all__ = ["ALL_KINDS", "Maker", "Sample", "chord_case", "finish", "place", "random_mechanism", "tree_case"]


def random_mechanism(seed: int, *, bodies: int = 6, chords: int = 2, couplings: bool = True) -> Sample:
    """A random closed structure with plain inertias."""
    return random_structure(seed, Size(bodies, chords, couplings))


def chord_case(kind: JointType, *, swapped: bool, kept: bool, seed: int = 0) -> Sample:
    """One chord of the given kind between two bodies that fly freely: nothing but that chord constrains anything.

    Both free joints hang on the world, so that the forest keeps them and cuts the third joint whatever it is.
    """
    maker = Maker(np.random.default_rng([seed, list(JointType).index(kind), swapped, kept]))
    bodies = ("left", "right")
    fly = [maker.joint(f"fly_{body}", JointType.FREE, WORLD, body) for body in bodies]
    ends = ("right", "left") if swapped else ("left", "right")
    chord = maker.joint("tested", kind, *ends, armature=kept, turns=-2)
    chord = maker.closed(chord, body_poses(bodies, fly, maker.values))
    return finish(f"chord_{kind.value}", maker, bodies, (*fly, chord))


def tree_case(kind: JointType, *, reversed_: bool, seed: int = 0) -> Sample:
    """A chain whose second joint is the tested one, closed by a spherical chord: the tested joint stays in the tree."""
    maker = Maker(np.random.default_rng([seed, list(JointType).index(kind), reversed_]))
    ends = ("b1", "b0") if reversed_ else ("b0", "b1")
    chain = [
        maker.joint("base", JointType.UNIVERSAL, WORLD, "b0", armature=True),
        maker.joint("tested", kind, *ends, armature=True, turns=1),
        maker.joint("elbow", JointType.REVOLUTE, "b2", "b1", armature=True),
        maker.joint("wrist", JointType.CYLINDRICAL, "b2", "b3", armature=True),
    ]
    names = ("b0", "b1", "b2", "b3")
    chord = maker.closed(
        maker.joint("closing", JointType.SPHERICAL, "b3", WORLD), body_poses(names, chain, maker.values)
    )
    return finish(f"tree_{kind.value}", maker, names, (*chain, chord))
