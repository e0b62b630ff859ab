"""What the reduced forces change with: the tree's slopes brought together along the columns of the inner lift.

    Q = E^T [ dw - d(C^T lambda + L_T^T f) ]

Every tree of links that stands on the world is worked out by itself, in the cheaper of two ways.  `by columns`: along
the columns of E directly, which is best where a link is moved by few of them.  `by axes`: along every joint axis of the
tree, as the slopes of an open chain, and then

    dw = (K_x - H) E + K_v y + K_a z

which is best for a leg that ends on a platform, say: its few joints all move with every column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as cs

from robocompiler.symbolic.kernels import operation_count
from robocompiler.symbolic.links import LinkTree
from robocompiler.symbolic.tree_slopes import Directions, tree_forces, tree_slopes

SX = Any


@dataclass(frozen=True)
class Motion:
    """Velocities v and accelerations a (nv,), gravity (3,) and the balls whose speeds are held in the parent's axes."""

    v: SX
    a: SX
    gravity: SX
    parent_held: tuple[int, ...]


Sets = tuple[Directions, Directions]
Way = Callable[[LinkTree, Motion, SX, Sets, SX], list[SX]]


def reduced_slopes(tree: LinkTree, motion: Motion, E: SX, sets: Sets, H: SX, ways: Sequence[Way] = ()) -> tuple[SX, SX]:
    """Changes (d, d) of E^T (Newton-Euler forces) along each set; the first also less E^T H E, H (nv, nv).

    Every tree goes the way of `ways` (both, if empty) that takes the fewest operations, the first of equals.
    """
    totals = [-cs.mtimes(E.T, cs.mtimes(_outside(H, tree), E)), cs.SX(E.shape[1], E.shape[1])]
    for part in root_trees(tree):
        found = [way(part, motion, E, sets, H) for way in (ways or WAYS)]
        best = min(found, key=operation_count) if len(found) > 1 else found[0]
        totals = [total + more for total, more in zip(totals, best, strict=True)]
    return cs.sparsify(totals[0]), cs.sparsify(totals[1])


def open_forces(tree: LinkTree, motion: Motion) -> SX:
    """The Newton-Euler forces (nv,) at the motion, with the expressions of the slopes."""
    forces = cs.SX(motion.v.shape[0], 1)
    for part in root_trees(tree):
        for index, force in tree_forces(part, motion.v, motion.a, motion.gravity, motion.parent_held).items():
            forces[index] = force
    return forces


def root_trees(tree: LinkTree) -> tuple[LinkTree, ...]:
    """The trees that stand on the world, each with its own numbers of links (and no seats)."""
    members: dict[int, list[int]] = {}
    for i in range(len(tree.links)):
        members.setdefault(tree.ancestors(i)[-1], []).append(i)
    found = []
    for numbers in members.values():
        place = {-1: -1} | {i: k for k, i in enumerate(numbers)}
        links = (tree.links[i] for i in numbers)
        found.append(LinkTree(tuple(replace(link, parent=place[link.parent]) for link in links), {}))
    return tuple(found)


def _axes(tree: LinkTree) -> list[int]:
    return [axis.index for link in tree.links for axis in link.axes]


def _outside(H: SX, tree: LinkTree) -> SX:
    """The rows of H at velocities of no link (cut joints that keep their coordinate)."""
    rest = cs.SX(H)
    rest[_axes(tree), :] = 0
    return cs.sparsify(rest)


def by_columns(tree: LinkTree, motion: Motion, E: SX, sets: Sets, H: SX) -> list[SX]:
    """The forces along every column of the lift."""
    own = _axes(tree)
    found = tree_slopes(tree, motion.v, motion.a, motion.gravity, sets, motion.parent_held)
    forces = [cs.sparsify(part[own, :]) for part in found]
    forces[0] = cs.sparsify(forces[0] - cs.mtimes(H[own, :], E))
    return [cs.mtimes(E[own, :].T, part) for part in forces]


def by_axes(tree: LinkTree, motion: Motion, E: SX, sets: Sets, H: SX) -> list[SX]:
    """K_x, K_v and K_a of the open tree, then their products with the columns."""
    own, nv = _axes(tree), E.shape[0]
    unit, nothing = cs.SX(nv, len(own)), cs.SX(nv, len(own))
    for k, index in enumerate(own):
        unit[index, k] = 1
    alone = (Directions(unit, nothing, nothing), Directions(nothing, unit, nothing), Directions(nothing, nothing, unit))
    found = tree_slopes(tree, motion.v, motion.a, motion.gravity, alone, motion.parent_held)
    K_x, K_v, K_a = (cs.sparsify(part[own, :]) for part in found)
    turned = cs.SX(H[own, :])
    turned[:, own] -= K_x
    forces = []
    for k, directions in enumerate(sets):
        part = cs.mtimes(K_v, directions.y[own, :]) + cs.mtimes(K_a, directions.z[own, :])
        forces.append(part if k else part - cs.mtimes(cs.sparsify(turned), E))
    return [cs.mtimes(E[own, :].T, cs.sparsify(part)) for part in forces]


WAYS: tuple[Way, ...] = (by_columns, by_axes)
