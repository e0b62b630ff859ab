"""The closures of a mechanism as symbolic programs: condensed rows, full augmented residuals, and their Jacobians.

For chord e = (b, c) with forest path P_e (docs/mathematics.md):

    Delta_e = T_e X_e^-1,   rho_e = log(Delta_e)^vee
    C_e v   = J_l(rho_e)^-1 [ sum_i Ad_{Z_i} Xi_i v_i - Ad_Delta Xi_e v_e ]
rho_e stands in the axes of the chord's first body (the joint's body a), about that body's origin.

The condensed rows keep only the components that the closing joint forbids.  Everything is local: a chord's expressions
mention the coordinates on its own path, posed in the first joint frame below the lowest common ancestor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.graph.topology import Chord, Topology
from robocompiler.records.expressions import Scalar, fold
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Coupling
from robocompiler.symbolic.augmented import ChordPath, augmented, path_jacobian
from robocompiler.symbolic.branches import Limb, Symbols, first_frame, make_symbols, walk
from robocompiler.symbolic.curvature import drift, row_curvature
from robocompiler.symbolic.frames import AlignedJoint
from robocompiler.symbolic.joints import Motion, traverse
from robocompiler.symbolic.relations import Row, condensed_rows, recovered_coordinates, recovered_velocities
from robocompiler.symbolic.scalars import sx_algebra
from robocompiler.symbolic.spatial import Pose

SX = Any
_NONE: tuple[int, ...] = ()


@dataclass(frozen=True)
class Closure:
    """One comparison: a chord or a coupling.

    rows (m,) condensed residual and jacobian (m, nv) sparse; row_units 'm', 'rad' or '1'; full (6,) or (1,) the
    augmented residual and path what its Jacobian is made of (None for a coupling, whose `jacobian` it is); recovered
    (k,) the coordinates of an eliminated joint, written to q at recovered_q, and recovered_jacobian (kv, nv) its
    speeds, which are v at recovered_v.
    """

    name: str
    kind: str
    rows: SX
    row_units: tuple[str, ...]
    jacobian: SX
    curvature: SX
    full: SX
    path: ChordPath | None
    recovered_q: tuple[int, ...]
    recovered: SX
    recovered_v: tuple[int, ...]
    recovered_jacobian: SX

    @property
    def full_jacobian(self) -> SX:
        """The Jacobian (.., nv) of the augmented residual, written out at every call."""
        if self.path is None:
            return self.jacobian
        return path_jacobian(self.full, self.path, int(self.jacobian.size2()))


@dataclass(frozen=True)
class ClosureProgram:
    """All closures (chords by name, then couplings by name) over common symbols."""

    symbols: Symbols
    closures: tuple[Closure, ...]

    @property
    def topology(self) -> Topology:
        """The topology the closures were built from."""
        return self.symbols.topology

    @property
    def eliminated(self) -> frozenset[int]:
        """Velocity indices that closed forms recover, hence no unknowns of the condensed system."""
        return frozenset(index for closure in self.closures for index in closure.recovered_v)

    @property
    def active(self) -> tuple[int, ...]:
        """Velocity indices that are columns of the condensed system: tree joints, free roots and kept chords."""
        eliminated = self.eliminated
        return tuple(index for index in range(self.topology.nv) if index not in eliminated)


def build_closures(topology: Topology) -> ClosureProgram:
    """The closure program of a topology."""
    symbols = make_symbols(topology)
    chords = [_chord_closure(symbols, chord) for chord in topology.chords]
    couplings = sorted(topology.mechanism.couplings, key=lambda coupling: coupling.name)
    return ClosureProgram(symbols, (*chords, *(_coupling_closure(symbols, coupling) for coupling in couplings)))


def _matrix(entries: Iterable[tuple[int, int, SX]], rows: int, columns: int) -> SX:
    """A sparse SX matrix from (row, column, value) entries, exact zeros dropped."""
    result = cs.SX(rows, columns)
    for i, j, value in entries:
        result[i, j] += value
    return cs.sparsify(result)


def _row_matrix(rows: list[Row], limb_a: tuple[Motion, ...], limb_b: tuple[Motion, ...], nv: int) -> SX:
    entries = [
        (i, motion.index, row.coefficient(motion, on_b))
        for i, row in enumerate(rows)
        for motions, on_b in ((limb_a, False), (limb_b, True))
        for motion in motions
    ]
    return _matrix(entries, len(rows), nv)


@dataclass(frozen=True)
class ChordLimbs:
    """Both limbs of a chord in its base frame, and the joint that closes them.

    base: what tells base frames apart (the first moving joints of the branch that starts there, its own chord where
    none moves).  A kept chord's own joint is the end of limb a, and a weld closes the loop.
    """

    base: tuple[str, ...]
    a: Limb
    b: Limb
    joint: AlignedJoint

    @property
    def rows(self) -> list[Row]:
        """The condensed rows."""
        return condensed_rows(self.joint, self.a.pose, self.b.pose)


def chord_limbs(symbols: Symbols, chord: Chord) -> ChordLimbs:
    """The limbs that the condensed rows of a chord compare."""
    base, limb_a, limb_b, joint = _own_limbs(symbols, chord)
    if not chord.kept:
        return ChordLimbs(base, limb_a, limb_b, joint)
    own, slot = symbols.coordinates(chord.joint), symbols.topology.slot(chord.joint)
    far, motions = traverse(limb_a.pose, joint, own, slot.v0, True)
    welded = AlignedJoint(JointType.FIXED, joint.A, joint.B, None, cs.SX(0))
    return ChordLimbs(base, Limb(far, (*limb_a.motions, *motions), Pose.identity()), limb_b, welded)


def _own_limbs(symbols: Symbols, chord: Chord) -> tuple[tuple[str, ...], Limb, Limb, AlignedJoint]:
    """(base, limb a, limb b, closing joint) up to the two frames of the chord's own joint."""
    joint = symbols.joints[chord.joint]
    branch, end = _base_branch(symbols, chord, joint)
    base = first_frame(symbols, branch, end)
    limb_a, limb_b = walk(symbols, base, chord.branch_a, joint.A), walk(symbols, base, chord.branch_b, joint.B)
    moving = any(symbols.joints[name].kind is not JointType.FIXED for name in branch)
    return (_first_moving(symbols, branch) if moving else (chord.joint,)), limb_a, limb_b, joint


def _chord_closure(symbols: Symbols, chord: Chord) -> Closure:
    topology = symbols.topology
    slot, own = topology.slot(chord.joint), symbols.coordinates(chord.joint)
    _, limb_a, limb_b, joint = _own_limbs(symbols, chord)
    full, path = augmented(joint, limb_a, limb_b, own, slot.v0)
    if chord.kept:
        limbs = chord_limbs(symbols, chord)
        limb_a, rows = limbs.a, limbs.rows
        recovered_q, recovered, recovered_v = _NONE, cs.SX(0, 1), _NONE
        recovered_jacobian = cs.SX(0, topology.nv)
    else:
        rows = condensed_rows(joint, limb_a.pose, limb_b.pose)
        recovered_q = tuple(range(slot.q0, slot.q0 + slot.nq))
        recovered_v = tuple(range(slot.v0, slot.v0 + slot.nv))
        recovered = recovered_coordinates(joint, limb_a.pose, limb_b.pose, own)
        speeds = recovered_velocities(joint, limb_a.pose, limb_b.pose)
        recovered_jacobian = _row_matrix(speeds, limb_a.motions, limb_b.motions, topology.nv)
    return Closure(
        name=chord.joint,
        kind=joint.kind.value,
        rows=cs.vertcat(cs.SX(0, 1), *[row.value for row in rows]),
        row_units=tuple(row.unit for row in rows),
        jacobian=_row_matrix(rows, limb_a.motions, limb_b.motions, topology.nv),
        curvature=_curvature(rows, limb_a, limb_b, symbols.v),
        full=full,
        path=path,
        recovered_q=recovered_q,
        recovered=recovered,
        recovered_v=recovered_v,
        recovered_jacobian=recovered_jacobian,
    )


def _curvature(rows: list[Row], limb_a: Limb, limb_b: Limb, v: SX) -> SX:
    a, b = drift(limb_a.motions, v), drift(limb_b.motions, v)
    values = [row_curvature(row.condition, limb_a.pose, limb_b.pose, a, b) for row in rows if row.condition is not None]
    return cs.vertcat(cs.SX(0, 1), *values)


def _base_branch(symbols: Symbols, chord: Chord, joint: AlignedJoint) -> tuple[Sequence[str], Pose]:
    """The side whose first moving joint frame is the base frame, the one that more chords start with, and its end.

    That frame's axis is z, so that planar loops show their zero rows; what chords have in common is computed once.
    """
    sides = [(chord.branch_a, joint.A), (chord.branch_b, joint.B)]
    return max((side for side in sides if side[0]), key=lambda side: _shared(symbols, side[0]), default=sides[1])


def _shared(symbols: Symbols, branch: Sequence[str]) -> tuple[bool, int]:
    """(whether the branch starts with a turn, how many sides of chords start as it does)."""
    first = _first_moving(symbols, branch)
    starts = [
        _first_moving(symbols, side) for chord in symbols.topology.chords for side in (chord.branch_a, chord.branch_b)
    ]
    return symbols.joints[branch[0]].kind is not JointType.PRISMATIC, starts.count(first)


def _first_moving(symbols: Symbols, branch: Sequence[str]) -> tuple[str, ...]:
    """The joints of a branch up to the first one that moves."""
    for k, name in enumerate(branch):
        if symbols.joints[name].kind is not JointType.FIXED:
            return tuple(branch[: k + 1])
    return tuple(branch)


def _coupling_closure(symbols: Symbols, coupling: Coupling) -> Closure:
    topology = symbols.topology
    place = {name: i for i, name in enumerate(topology.q_names)}
    speed = {name: i for i, name in enumerate(topology.v_names)}
    known: dict[str, SX] = {name: symbols.q[place[name]] for name in coupling.coordinates}
    known |= {parameter.name: symbols.p[i] for i, parameter in enumerate(topology.mechanism.parameters)}
    expression: Scalar = coupling.expression
    gamma = fold(expression, known, sx_algebra, cs.SX)
    entries = [(0, speed[name], cs.jacobian(gamma, symbols.q[place[name]])) for name in coupling.coordinates]
    jacobian = _matrix(entries, 1, topology.nv)  # scalar coordinates: N is the identity on them
    own_q = cs.vertcat(*[symbols.q[place[name]] for name in coupling.coordinates])
    own_v = cs.vertcat(*[symbols.v[speed[name]] for name in coupling.coordinates])
    curvature = cs.jtimes(cs.jtimes(gamma, own_q, own_v), own_q, own_v)
    nothing, empty = cs.SX(0, 1), cs.SX(0, topology.nv)
    return Closure(coupling.name, "coupling", gamma, ("1",), jacobian, curvature, gamma, None, (), nothing, (), empty)
