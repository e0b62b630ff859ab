"""How the condensed rows of the chords answer a move of the mechanism, in closed form: no direction is differentiated.

For rows r of points and directions of the two limbs' ends (see `tips`), with C their Jacobian, per speed i

    turn_i  = d(C v)/dx_i            bend_i = d(C a + Cdot v)/dx_i            d(C a + Cdot v)/dy_i = 2 turn_i + swing_i
    H_ik    = d(C_i . lambda)/dx_k

A row that is a product s . t of two such vectors answers by the product rule.  For points and directions both, with F
the force on one, H_ik = omega_i . (phi_k x F) for i inside of k: phi_k x F is summed over all chords of an axis first.
Couplings are differentiated as expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.closures import ChordLimbs, ClosureProgram, chord_limbs
from robocompiler.symbolic.held_speeds import limb_groups
from robocompiler.symbolic.manifold import coordinate_rates
from robocompiler.symbolic.relations import Alignment, Condition, Offset, PointDifference
from robocompiler.symbolic.tips import Group, MovingLimb, Tip, moving_limb

SX = Any


@dataclass(frozen=True)
class RowSlopes:
    """turn, swing, bend (rows, nv) and H (nv, nv) of all condensed rows; sparse."""

    turn: SX
    swing: SX
    bend: SX
    H: SX


def row_slopes(closures: ClosureProgram, v: SX, a: SX, lam: Mapping[int, SX]) -> RowSlopes:
    """For velocities v, accelerations a (nv,) and multipliers {row: lambda}; rows without one are left empty."""
    work = _Work(closures, v, a, lam)
    first = 0
    for closure in closures.closures:
        count = len(closure.row_units)
        wanted = [k for k in range(count) if first + k in lam]
        if wanted and closure.path is None:
            work.coupling(closure.jacobian, first)
        elif wanted:
            chord = next(chord for chord in closures.topology.chords if chord.joint == closure.name)
            work.chord(chord_limbs(closures.symbols, chord), first, wanted)
        first += count
    return work.result(first)


class _Work:
    """Entries found so far, and per (base frame, axis) the moment that turns with everything inside of the axis."""

    def __init__(self, closures: ClosureProgram, v: SX, a: SX, lam: Mapping[int, SX]) -> None:
        self.symbols, self.topology, self.v, self.a, self.lam = closures.symbols, closures.topology, v, a, lam
        self.entries: dict[str, dict[tuple[int, int], SX]] = {"turn": {}, "swing": {}, "bend": {}, "H": {}}
        self.moments: dict[tuple[tuple[str, ...], int], SX] = {}
        self.paths: dict[tuple[tuple[str, ...], int], tuple[Group, ...]] = {}

    def add(self, field: str, i: int, j: int, value: SX) -> None:
        target = self.entries[field]
        target[i, j] = target[i, j] + value if (i, j) in target else value

    def chord(self, limbs: ChordLimbs, first: int, wanted: Iterable[int]) -> None:
        sides = [
            moving_limb(limb, limb_groups(self.topology, limb.motions), self.v, self.a) for limb in (limbs.a, limbs.b)
        ]
        ends = _Ends(limbs.base, *sides)
        for k in wanted:
            condition = limbs.rows[k].condition
            assert condition is not None
            self.row(ends, condition, first + k)

    def row(self, ends: _Ends, condition: Condition, row: int) -> None:
        force = self.lam[row]
        if isinstance(condition, PointDifference):
            for k, answer in (ends.B.point() - ends.A.point()).answers.items():
                self.add("turn", row, k, answer.turn[condition.axis])
                self.add("bend", row, k, answer.bend[condition.axis])
                if answer.swing is not None:
                    self.add("swing", row, k, answer.swing[condition.axis])
            unit = cs.SX(cs.DM.eye(3).full()[:, condition.axis]) * force
            self.moment(ends.base, ends.B, ends.B.point(), unit)
            self.moment(ends.base, ends.A, ends.A.point(), -unit)
        elif isinstance(condition, Offset):
            x, d = ends.A.direction(condition.axis_a), ends.B.point() - ends.A.point()
            self.product(x, d, row)
            self.moment(ends.base, ends.A, x, force * d.value)
            self.moment(ends.base, ends.B, ends.B.point(), force * x.value)
            self.moment(ends.base, ends.A, ends.A.point(), -force * x.value)
        else:
            assert isinstance(condition, Alignment)
            z, x = ends.B.direction(condition.axis_b), ends.A.direction(condition.axis_a)
            self.product(z, x, row)
            self.moment(ends.base, ends.B, z, force * x.value)
            self.moment(ends.base, ends.A, x, force * z.value)

    def product(self, s: Tip, t: Tip, row: int) -> None:
        """The answers of s . t, and what the two vectors' own moves give to H."""
        for one, other in ((s, t), (t, s)):
            for k, mine in one.answers.items():
                self.add("turn", row, k, cs.dot(mine.turn, other.value) + cs.dot(mine.phi, other.rate))
                bend = cs.dot(mine.bend, other.value) + 2 * cs.dot(mine.turn, other.rate)
                self.add("bend", row, k, bend + cs.dot(mine.phi, other.curvature))
                if mine.swing is not None:
                    self.add("swing", row, k, cs.dot(mine.swing, other.value))
        for i, one_answer in s.answers.items():
            for k, other_answer in t.answers.items():
                value = self.lam[row] * cs.dot(one_answer.phi, other_answer.phi)
                self.add("H", i, k, value)
                self.add("H", k, i, value)

    def moment(self, base: tuple[str, ...], limb: MovingLimb, tip: Tip, force: SX) -> None:
        """Note what a force on a tip of the limb turns."""
        for g, group in enumerate(limb.groups):
            for motion in group.motions:
                key = (base, motion.index)
                value = cs.cross(tip.answers[motion.index].phi, force)
                self.moments[key] = self.moments[key] + value if key in self.moments else value
                self.paths[key] = limb.groups[: g + 1]

    def coupling(self, jacobian: SX, row: int) -> None:
        q, (columns, values) = self.symbols.q, _nonzeros(jacobian)
        along_v, along_a = (coordinate_rates(self.topology, q, w) for w in (self.v, self.a))
        turn = cs.jtimes(values, q, along_v)
        bend = cs.jtimes(values, q, along_a) + cs.jtimes(turn, q, along_v)
        for place, k in enumerate(columns):
            self.add("turn", row, k, turn[place])
            self.add("bend", row, k, bend[place])
        for k in columns:
            (own,) = self.topology.moved_coordinates(k)  # a coupling's coordinates are scalar
            second = self.lam[row] * cs.jacobian(values, q[own])
            for place, i in enumerate(columns):
                self.add("H", i, k, second[place])

    def result(self, rows: int) -> RowSlopes:
        for (base, k), G in self.moments.items():
            *inside, own = self.paths[base, k]
            for motion in (motion for group in inside for motion in group.motions if motion.omega is not None):
                value = cs.dot(motion.omega, G)
                self.add("H", motion.index, k, value)
                self.add("H", k, motion.index, value)
            for motion in (motion for motion in own.motions if motion.omega is not None):
                place = (k, motion.index) if own.outer else (motion.index, k)  # axes of the outer frame turn themselves
                self.add("H", *place, cs.dot(motion.omega, G))
        nv = self.topology.nv
        shapes = {"turn": rows, "swing": rows, "bend": rows, "H": nv}
        return RowSlopes(**{field: _sparse(self.entries[field], height, nv) for field, height in shapes.items()})


@dataclass(frozen=True)
class _Ends:
    """The limbs of a chord."""

    base: tuple[str, ...]
    A: MovingLimb
    B: MovingLimb


def _nonzeros(row: SX) -> tuple[list[int], SX]:
    return [int(k) for k in row.sparsity().get_triplet()[1]], cs.vertcat(cs.SX(0, 1), *row.nonzeros())


def _sparse(entries: Mapping[tuple[int, int], SX], rows: int, columns: int) -> SX:
    result = cs.SX(rows, columns)
    for (i, j), value in entries.items():
        result[i, j] = value
    return cs.sparsify(result)
