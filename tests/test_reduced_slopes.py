"""Both ways of bringing the tree's slopes together give the same, and so do trees apart and together."""

from __future__ import annotations

from typing import Any

import casadi as cs
import numpy as np
import pytest
from mechanics_support import shipped
from random_mechanisms import random_mechanism, tree_case
from test_derivatives import error

from robocompiler.compiler import run_front_end
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism
from robocompiler.symbolic.dynamics import Mechanics
from robocompiler.symbolic.held_speeds import parent_held
from robocompiler.symbolic.reduced_slopes import WAYS, Motion, reduced_slopes, root_trees
from robocompiler.symbolic.tree_slopes import Directions, tree_slopes


def case(name: str) -> Mechanism:
    if name.startswith("random"):
        return random_mechanism(int(name.removeprefix("random"))).mechanism
    if name == "ball":
        return tree_case(JointType.SPHERICAL, reversed_=False).mechanism
    return shipped(name)


@pytest.mark.parametrize("name", ["stewart", "rssr", "ball", "random3", "random5"])
def test_both_ways_and_the_whole_forest_agree(name: str) -> None:
    front = run_front_end(case(name))
    mechanics, topology = Mechanics(front.closures, front.reduction), front.topology
    q, v, nv, random = mechanics.symbols.q, mechanics.symbols.v, topology.nv, np.random.default_rng(4)
    a, E = cs.SX.sym("a", nv), mechanics.travelling.E
    held = parent_held(topology)
    motion = Motion(v, a, cs.SX(list(topology.mechanism.gravity)), held)
    y, z, w = (cs.DM(random.uniform(-1, 1, E.shape)) for _ in range(3))
    H = cs.DM(random.uniform(-1, 1, (nv, nv)))
    sets = (Directions(E, cs.SX(y), cs.SX(z)), Directions(cs.SX(*E.shape), E, cs.SX(w)))

    found: list[Any] = []
    for way in WAYS:
        found += reduced_slopes(mechanics.tree, motion, E, sets, cs.SX(H), ways=(way,))
    found += reduced_slopes(mechanics.tree, motion, E, sets, cs.SX(H))
    whole = tree_slopes(mechanics.tree, v, a, motion.gravity, sets, held)
    found += [cs.mtimes(E.T, whole[0] - cs.mtimes(cs.SX(H), E)), cs.mtimes(E.T, whole[1])]

    function = cs.Function("all", [q, v, a, mechanics.travelling.symbols, mechanics.symbols.p], found)
    e = cs.Function("e", [q, mechanics.symbols.p], [mechanics.travelling.values])
    values = [p.default for p in topology.mechanism.parameters]
    at = front.reduction.reference
    results = function(at, random.uniform(-1, 1, nv), random.uniform(-1, 1, nv), e(at, values), values)
    arrays = [np.array(cs.DM(x).full()) for x in results]
    assert min(float(np.abs(x).max()) for x in arrays[-2:]) > 1e-3
    for k in range(0, 6, 2):
        assert error(arrays[k], arrays[-2]) < 1e-12
        assert error(arrays[k + 1], arrays[-1]) < 1e-12
    links = [link for tree in root_trees(mechanics.tree) for link in tree.links]
    assert sorted(axis.index for link in links for axis in link.axes) == list(range(topology.tree_nv))


def test_ancestors_go_from_the_link_to_its_root() -> None:
    """What `root_trees` relies on: the last ancestor is the link at the world."""
    mechanics = run_front_end(shipped("rssr"))
    tree = Mechanics(mechanics.closures, mechanics.reduction).tree
    for number, link in enumerate(tree.links):
        found = tree.ancestors(number)
        assert found[0] == number
        assert tree.links[found[-1]].parent == -1
        assert found[1:] == (tree.ancestors(link.parent) if link.parent >= 0 else ())
