"""Regrouped inertias, turned link frames and classical accelerations against the spatial form on the tree as recorded.

The reference is written here: Newton-Euler with spatial twists and the kinetic energy of every link, on the links that
`link_tree` makes, before anything is moved to a parent or turned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as cs
import numpy as np
import pytest
from numpy.typing import NDArray
from random_mechanisms import ALL_KINDS, random_mechanism, tree_case

from robocompiler.graph.build import derive_topology
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism
from robocompiler.resources import models_folder
from robocompiler.symbolic.branches import Symbols, make_symbols
from robocompiler.symbolic.links import Link, LinkTree, link_tree
from robocompiler.symbolic.recursion import newton_euler, reduced_mass
from robocompiler.symbolic.regroup import regrouped
from robocompiler.symbolic.turned_frames import turned_frames

Array = NDArray[np.float64]
GRAVITY = cs.SX([1.0, -2.0, -9.0])
Pair = tuple[Any, Any]  # angular, linear


def spatial_inward(link: Link, V: Pair) -> Pair:
    R, p = link.pose.R, link.pose.p
    return cs.mtimes(R.T, V[0]), cs.mtimes(R.T, V[1] + cs.cross(V[0], p))


def spatial_outward(link: Link, f: Pair) -> Pair:
    R, p = link.pose.R, link.pose.p
    force = cs.mtimes(R, f[1])
    return cs.mtimes(R, f[0]) + cs.cross(p, force), force


def relative(link: Link, rates: Any) -> Pair:
    zero = cs.SX(cs.DM.zeros(3, 1).full())
    angular, linear = zero, zero
    for axis in link.axes:
        angular, linear = angular + axis.omega * rates[axis.index], linear + axis.linear * rates[axis.index]
    return angular, linear


def spatial_forces(tree: LinkTree, v: Any, a: Any) -> dict[int, Any]:
    """Joint forces with spatial accelerations, link by link."""
    twists: list[Pair] = []
    rates: list[Pair] = []
    wrenches: list[Pair] = []
    for link in tree.links:
        w, s = relative(link, v)
        dw, ds = relative(link, a)
        outer = link.parent < 0
        up = (cs.SX.zeros(3), cs.SX.zeros(3)) if outer else twists[link.parent]
        V = tuple(x + y for x, y in zip(spatial_inward(link, up), (w, s), strict=True))
        A0 = spatial_inward(link, (cs.SX.zeros(3), -GRAVITY) if outer else rates[link.parent])
        A = (A0[0] + dw + cs.cross(V[0], w), A0[1] + ds + cs.cross(V[0], s) + cs.cross(V[1], w))
        if outer:  # the world stands still
            A = (A0[0] + dw, A0[1] + ds)
        twists.append(V)
        rates.append(A)
        p, P = link.inertia.momentum(*V)
        dp, dP = link.inertia.momentum(*A)
        wrenches.append((dp + cs.cross(V[0], p) + cs.cross(V[1], P), dP + cs.cross(V[0], P)))
    tau: dict[int, Any] = {}
    for i in reversed(range(len(tree.links))):
        link, f = tree.links[i], wrenches[i]
        for axis in link.axes:
            tau[axis.index] = cs.dot(f[0], axis.omega) + cs.dot(f[1], axis.linear)
        if link.parent >= 0:
            above, moved = wrenches[link.parent], spatial_outward(link, f)
            wrenches[link.parent] = (above[0] + moved[0], above[1] + moved[1])
    return tau


def twice_kinetic_energy(tree: LinkTree, v: Any) -> Any:
    twists: list[Pair] = []
    total = cs.SX(0)
    for link in tree.links:
        w, s = relative(link, v)
        up = (cs.SX.zeros(3), cs.SX.zeros(3)) if link.parent < 0 else twists[link.parent]
        V = spatial_inward(link, up)
        V = (V[0] + w, V[1] + s)
        twists.append(V)
        p, P = link.inertia.momentum(*V)
        total += cs.dot(p, V[0]) + cs.dot(P, V[1])
    return total


def evaluate(symbols: Symbols, a: Any, value: Any, seed: int) -> Array:
    """A value at random coordinates (quaternions of unit length), speeds and accelerations."""
    random = np.random.default_rng(seed)
    q, v, rates = (random.normal(size=int(x.numel())) for x in (symbols.q, symbols.v, a))
    for slot in symbols.topology.slots:
        if slot.nq > slot.nv:
            turn = slice(slot.q0 + slot.nq - 4, slot.q0 + slot.nq)
            q[turn] /= np.linalg.norm(q[turn])
    defaults = [parameter.default for parameter in symbols.topology.mechanism.parameters]
    function = cs.Function("f", [symbols.q, symbols.v, a, symbols.p], [value])
    return np.asarray(function(q, v, rates, defaults).full()).ravel()


def stacked(forces: dict[int, Any]) -> Any:
    return cs.vertcat(*[forces[index] for index in sorted(forces)])


FORMS: dict[str, Callable[[LinkTree], LinkTree]] = {
    "as recorded": lambda tree: tree,
    "regrouped": regrouped,
    "turned": turned_frames,
    "turned and regrouped": lambda tree: regrouped(turned_frames(tree)),
}


def agrees(mechanism: Mechanism, form: str, seed: int) -> bool:
    """Joint forces and kinetic energy of one form of the tree."""
    symbols = make_symbols(derive_topology(mechanism))
    recorded = link_tree(symbols)
    changed = FORMS[form](recorded)
    a = cs.SX.sym("a", symbols.v.numel())
    wanted = evaluate(symbols, a, stacked(spatial_forces(recorded, symbols.v, a)), seed)
    found = evaluate(symbols, a, stacked(newton_euler(changed, symbols.v, a, GRAVITY)), seed)
    energy = evaluate(symbols, a, twice_kinetic_energy(recorded, symbols.v), seed)
    M = reduced_mass(changed, cs.SX.eye(symbols.v.numel()))
    of_mass = evaluate(symbols, a, cs.bilin(M, symbols.v, symbols.v), seed)
    scale = max(1.0, float(np.abs(wanted).max()))
    return bool(np.abs(found - wanted).max() < 1e-12 * scale and abs(of_mass - energy)[0] < 1e-12 * max(1, energy[0]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(12))
def test_random_mechanisms(seed: int, form: str) -> None:
    assert agrees(random_mechanism(seed).mechanism, form, seed)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_joint_type(kind: Any, backward: bool) -> None:
    assert agrees(tree_case(kind, reversed_=backward).mechanism, "turned and regrouped", 1)


@pytest.mark.parametrize("name", ["stewart", "excavator", "go2", "crane"])
def test_shipped_models(name: str) -> None:
    assert agrees(read_mechanism(models_folder() / f"{name}.yaml"), "turned and regrouped", 2)


def test_a_hinged_link_keeps_seven_numbers_of_its_own() -> None:
    """Go2's outermost links: no mass, no first moment along the hinge, no second moment along it."""
    tree = regrouped(link_tree(make_symbols(derive_topology(read_mechanism(models_folder() / "go2.yaml")))))
    hinged = [link for link in tree.links if link.turns_about_z]
    assert len(hinged) == 12
    assert all(link.inertia.m.is_zero() for link in hinged)
    assert all(link.inertia.h[2].is_zero() and link.inertia.J[2, 2].is_zero() for link in hinged)


def test_an_outermost_slide_keeps_its_mass_alone() -> None:
    tree = regrouped(link_tree(make_symbols(derive_topology(read_mechanism(models_folder() / "excavator.yaml")))))
    carriers = {link.parent for link in tree.links}
    rods = [link for i, link in enumerate(tree.links) if link.slides and i not in carriers]
    assert len(rods) == 6
    assert all(link.inertia.h.is_zero() and link.inertia.J.is_zero() and not link.inertia.m.is_zero() for link in rods)


def test_turned_frames_leave_right_angles_between_most_links() -> None:
    """Kangaroo: of 77 seats 20 are full rotations as recorded, none after it but where a link has several on it."""
    tree = link_tree(make_symbols(derive_topology(read_mechanism(models_folder() / "kangaroo.yaml"))))

    def full(links: tuple[Link, ...]) -> int:
        return sum(int((cs.DM(link.seat.R).full() != 0).sum()) > 5 for link in links)

    assert full(tree.links) > 20
    assert full(turned_frames(tree).links) < 8
