"""The closed forms of the rows' slopes against CasADi's differentiation of the rows, off the closed mechanism too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np
import pytest
from mechanics_support import shipped
from numpy.typing import NDArray
from random_mechanisms import chord_case, random_mechanism, tree_case
from test_derivatives import error

from robocompiler.graph.build import derive_topology
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism
from robocompiler.symbolic.closures import ClosureProgram, build_closures
from robocompiler.symbolic.held_speeds import parent_held, unheld
from robocompiler.symbolic.manifold import coordinate_rates
from robocompiler.symbolic.row_slopes import row_slopes

Array = NDArray[np.float64]
CHORDS = [
    JointType.SPHERICAL, JointType.UNIVERSAL, JointType.REVOLUTE, JointType.CYLINDRICAL, JointType.PRISMATIC,
    JointType.PLANAR, JointType.FIXED, JointType.SCREW,
]  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """Largest entries of turn, bend, swing and H along a random direction, and the balls held by their parents."""

    sizes: tuple[float, ...]
    balls: int


def compare(mechanism: Mechanism, seed: int) -> Compared:
    """All four matrices along a random direction e, and along a random change y of the speeds."""
    closures = build_closures(derive_topology(mechanism))
    topology, q, v = closures.topology, closures.symbols.q, closures.symbols.v
    nv, rows = topology.nv, sum(len(closure.row_units) for closure in closures.closures)
    a, e, lam = (cs.SX.sym(name, n) for name, n in (("a", nv), ("e", nv), ("lam", rows)))
    found = row_slopes(closures, v, a, {k: lam[k] for k in range(rows)})
    ours = [
        cs.mtimes(found.turn, e),
        cs.mtimes(found.bend, e),
        cs.mtimes(2 * found.turn + found.swing, e),
        cs.mtimes(found.H, e),
    ]
    results = [
        np.array(column.full()).ravel()
        for column in cs.Function(
            "both", [q, v, a, e, lam, closures.symbols.p], [*ours, *differentiated(closures, a, e, lam)]
        ).call(_numbers(closures, seed, rows))
    ]
    for mine, theirs in zip(results[:4], results[4:], strict=True):
        assert error(mine, theirs) < 1e-12
    return Compared(tuple(float(np.abs(x).max(initial=0.0)) for x in results[4:]), len(parent_held(topology)))


def differentiated(closures: ClosureProgram, a: Any, e: Any, lam: Any) -> list[Any]:
    """The same four along e, of the rows' own Jacobian and curvature, with what is held as `held_speeds` says."""
    topology, q, v = closures.topology, closures.symbols.q, closures.symbols.v
    C = cs.vertcat(*[closure.jacobian for closure in closures.closures])
    curvature = cs.vertcat(*[closure.curvature for closure in closures.closures])
    rates = coordinate_rates(topology, q, e)
    own_v, own_a = unheld(topology, e, v), unheld(topology, e, a)
    second = cs.mtimes(C, a) + curvature
    return [
        cs.jtimes(cs.mtimes(C, v), q, rates) + cs.mtimes(C, own_v),
        cs.jtimes(second, q, rates) + cs.jtimes(curvature, v, cs.densify(own_v)) + cs.mtimes(C, own_a),
        cs.jtimes(curvature, v, e) + cs.mtimes(C, own_v),
        cs.jtimes(cs.densify(cs.mtimes(C.T, lam)), q, rates),
    ]


def _numbers(closures: ClosureProgram, seed: int, rows: int) -> list[Array]:
    """Random q (unit quaternions), v, a, e, lam; the parameters' defaults."""
    random, topology = np.random.default_rng(seed), closures.topology
    q = random.uniform(-1, 1, topology.nq)
    for slot in topology.slots:
        quaternion = {JointType.SPHERICAL: slice(0, 4), JointType.FREE: slice(3, 7)}.get(topology.kind(slot.joint))
        if quaternion is not None:
            part = q[slot.q0 : slot.q0 + slot.nq][quaternion]
            part /= np.linalg.norm(part)
    defaults = np.array([parameter.default for parameter in topology.mechanism.parameters])
    return [q, *(random.uniform(-1, 1, n) for n in (topology.nv, topology.nv, topology.nv, rows)), defaults]


@pytest.mark.parametrize("kind", CHORDS)
@pytest.mark.parametrize("turned", [False, True])
def test_chords_of_every_type_between_flying_bodies(kind: JointType, turned: bool) -> None:
    """Turned round they also keep their coordinates, where they have any."""
    kept = turned and kind is not JointType.FIXED
    assert min(compare(chord_case(kind, swapped=turned, kept=kept).mechanism, 1).sizes) > 0.1


@pytest.mark.parametrize("kind", [*CHORDS[:-2], JointType.SCREW])
@pytest.mark.parametrize("turned", [False, True])
def test_joints_inside_a_limb_walked_both_ways(kind: JointType, turned: bool) -> None:
    result = compare(tree_case(kind, reversed_=turned).mechanism, 2)
    assert min(result.sizes) > 0.1
    assert result.balls == (kind is JointType.SPHERICAL and not turned)


@pytest.mark.parametrize("seed", range(12))
def test_random_mechanisms_with_couplings(seed: int) -> None:
    assert max(compare(random_mechanism(seed, bodies=7, chords=3).mechanism, seed).sizes) > 0.1


@pytest.mark.parametrize(("name", "balls"), [("stewart", 1), ("delta", 7), ("excavator", 0), ("parallel_ankle", 0)])
def test_shipped_models(name: str, balls: int) -> None:
    result = compare(shipped(name), 3)
    assert min(result.sizes) > 0.1
    assert result.balls == balls
