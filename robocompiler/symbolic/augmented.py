"""Augmented residuals and their Jacobians, in the form in which they are cheap to print.

    rho_e = log(Delta_e)^vee,     C_e = J_l(rho_e)^-1 [ -Ad_W Xi_a,  +Ad_W Xi_b,  -Ad_Delta Xi_e ]

Xi_a and Xi_b are the twists of the chord's two limbs in their base frame, W moves that frame to the chord's first body,
Xi_e are the twists of the cut joint in that body.  The three products in front of the twists are the same 6 x 6
matrices for every column of a chord, and they and the logarithm the same program for every chord.  So a module's kernel
gives W, Delta and the bare twists, two kernels of one chord the logarithm and the three products, and a loop in C does
the rest: written out, that would be most of a robot's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.branches import Limb
from robocompiler.symbolic.frames import AlignedJoint
from robocompiler.symbolic.joints import Motion, traverse
from robocompiler.symbolic.kernel import Argument, Kernel
from robocompiler.symbolic.spatial import Pose, adjoint, inverse_left_jacobian, log_pose, skew

SX = Any

LIMB_A, LIMB_B, OWN = 0, 1, 2  # which of the three products a column takes
TURNING, SLIDING = 6, 3  # numbers of a twist: a slide has no angular part, and its column no angular rows
POSES = 24  # numbers of a chord's W and Delta, each R row by row, then p
FACTORS = 54  # numbers of a chord's three products
# a column's 3 x 3 blocks: two products with the angular part and one with the linear one, summed
_TURNING_OPERATIONS, _SLIDING_OPERATIONS = 48, 15


@dataclass(frozen=True)
class PathColumn:
    """The twist that unit speed of velocity `index` gives, before the product with factor `side`.

    twist: (6,) angular first, or (3,) the linear part of a slide.
    """

    index: int
    side: int
    twist: SX

    @property
    def size(self) -> int:
        """Rows of C that the column fills, the last ones of its chord: 6 or 3."""
        return int(self.twist.numel())


@dataclass(frozen=True)
class ChordPath:
    """W (base frame to the chord's first body), Delta, and the columns of C, each velocity once."""

    base: Pose
    delta: Pose
    columns: tuple[PathColumn, ...]


def augmented(joint: AlignedJoint, limb_a: Limb, limb_b: Limb, own: SX, index: int) -> tuple[SX, ChordPath]:
    """rho_e (6,) of a chord, in its first body's axes, and its path; `own` are its coordinates, `index` its first
    velocity."""
    body_a = limb_a.pose @ joint.A.inverse()
    body_b = limb_b.pose @ joint.B.inverse()
    to_a = body_a.inverse()
    far, motions = traverse(joint.A, joint, own, index, True)
    delta = to_a @ body_b @ (far @ joint.B.inverse()).inverse()
    sides = ((LIMB_A, limb_a.motions), (LIMB_B, limb_b.motions), (OWN, motions))
    columns = tuple(_column(motion, side) for side, group in sides for motion in group)
    assert len({column.index for column in columns}) == len(columns), "a velocity moves a chord twice"
    return log_pose(delta), ChordPath(to_a, delta, columns)


def _column(motion: Motion, side: int) -> PathColumn:
    twist = motion.twist()
    return PathColumn(motion.index, side, twist[3:6] if motion.omega is None else twist)


def path_jacobian(rho: SX, path: ChordPath, nv: int) -> SX:
    """C_e (6, nv), sparse, written out: what the generated loop must give."""
    inverse = inverse_left_jacobian(rho)
    moved = cs.mtimes(inverse, adjoint(path.base))
    factors = {LIMB_A: -moved, LIMB_B: moved, OWN: -cs.mtimes(inverse, adjoint(path.delta))}
    result = cs.SX(6, nv)
    for column in path.columns:
        result[6 - column.size :, column.index] = cs.mtimes(factors[column.side][:, 6 - column.size :], column.twist)[
            6 - column.size :
        ]
    return cs.sparsify(result)


def path_outputs(paths: Sequence[ChordPath]) -> tuple[SX, SX]:
    """What the loops read: (24 per chord) W and Delta, and the twists of all columns (6 or 3 each)."""
    poses = [_numbers(pose) for path in paths for pose in (path.base, path.delta)]
    twists = [column.twist for path in paths for column in path.columns]
    return cs.vertcat(cs.SX(0, 1), *poses), cs.vertcat(cs.SX(0, 1), *twists)


@dataclass(frozen=True)
class ChordKernels:
    """The programs of one chord.

    logarithm: D (12: Delta) -> rho (6).  factors: rho (6), T (24: W, Delta) -> F (54): -J_l^-1 Ad_W, J_l^-1 Ad_W and
    -J_l^-1 Ad_Delta, each [[A, 0], [B, A]] given as A, then B, row by row.
    """

    logarithm: Kernel
    factors: Kernel

    @property
    def kernels(self) -> tuple[Kernel, Kernel]:
        """Both."""
        return self.logarithm, self.factors


def chord_kernels() -> ChordKernels:
    """The programs of one chord, the same for every robot."""
    T, rho = cs.SX.sym("T", POSES), cs.SX.sym("rho", 6)
    inverse = inverse_left_jacobian(rho)
    base, delta = (_product(inverse, _pose(T[start : start + 12])) for start in (0, 12))
    F = cs.vertcat(*[_by_rows(block) for block in (*(-x for x in base), *base, *(-x for x in delta))])
    D = cs.SX.sym("D", 12)
    residual = Argument("rho", 6, "rad, m")
    return ChordKernels(
        Kernel(
            "chord_logarithm",
            "rho = log(Delta) of one chord.",
            (Argument("D", 12, "Delta: R row by row, then p (m)"),),
            (residual,),
            cs.Function("chord_logarithm", [D], cs.cse([cs.densify(log_pose(_pose(D)))]), {"cse": False}),
        ),
        Kernel(
            "chord_factors",
            "The three matrices [[A, 0], [B, A]] that take the twists of one chord to columns of C.",
            (residual, Argument("T", POSES, "W and Delta, each R row by row, then p (m)")),
            (Argument("F", FACTORS, "-J_l^-1 Ad_W, J_l^-1 Ad_W, -J_l^-1 Ad_Delta: A, then B, row by row"),),
            cs.Function("chord_factors", [rho, T], cs.cse([cs.densify(F)]), {"cse": False}),
        ),
    )


@dataclass(frozen=True)
class ChordLoop:
    """What the loops over the closures of one module know beforehand: tables.

    chords: first row of each chord in rho; first: where its columns begin, with the end of the last; side, size and
    place: of every column, its factor, its rows and the place of the first of them among the nonzeros of C.
    couplings: rows of the couplings in rho; others: places in C of their nonzeros.
    """

    chords: tuple[int, ...]
    first: tuple[int, ...]
    side: tuple[int, ...]
    size: tuple[int, ...]
    place: tuple[int, ...]
    couplings: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def operations(self) -> int:
        """Arithmetic operations of the products with the factors."""
        return sum(_TURNING_OPERATIONS if size == TURNING else _SLIDING_OPERATIONS for size in self.size)


def _product(inverse: SX, T: Pose) -> tuple[SX, SX]:
    """(A, B) of J_l^-1 Ad_T."""
    J, lower = inverse[0:3, 0:3], inverse[3:6, 0:3]
    return cs.mtimes(J, T.R), cs.mtimes(lower, T.R) + cs.mtimes(J, cs.mtimes(skew(T.p), T.R))


def _pose(numbers: SX) -> Pose:
    return Pose(cs.reshape(numbers[0:9], 3, 3).T, numbers[9:12])


def _numbers(pose: Pose) -> SX:
    return cs.vertcat(_by_rows(pose.R), cs.densify(pose.p))


def _by_rows(block: SX) -> SX:
    return cs.reshape(cs.densify(block).T, -1, 1)
