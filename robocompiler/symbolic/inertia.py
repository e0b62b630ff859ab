"""Rigid-body inertias in CasADi: ten numbers about a link's origin, moved between frames and summed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.records.model import Body
from robocompiler.symbolic.scalars import to_sx, vector_to_sx
from robocompiler.symbolic.spatial import Pose

SX = Any
PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of six entries of a symmetric matrix


@dataclass(frozen=True)
class Inertia:
    """Mass m, first moment h = sum m r and second moment J = sum m r r^T (3, 3) about the frame's origin, in its axes.

    The inertia tensor is I = tr(J) 1 - J.  Momentum of the twist (omega; v): angular I omega + h x v, linear
    m v + omega x h.  Nothing asks m or J to be positive: regrouped links (symbolic.regroup) have parts only.
    """

    m: SX
    h: SX
    J: SX

    @staticmethod
    def zero() -> Inertia:
        """Nothing."""
        return Inertia(cs.SX(0), cs.SX(cs.DM.zeros(3, 1).full()), cs.SX(cs.DM.zeros(3, 3).full()))

    @staticmethod
    def of(body: Body, parameters: Mapping[str, Any]) -> Inertia:
        """A body's inertia about its own origin: J = tr(I_c) / 2 - I_c + m c c^T."""
        m, c = to_sx(body.mass, parameters), vector_to_sx(body.com, parameters)
        xx, yy, zz, xy, xz, yz = (to_sx(value, parameters) for value in body.inertia)
        half = (xx + yy + zz) / 2
        central = symmetric((half - xx, half - yy, half - zz, -xy, -xz, -yz))
        return Inertia(m, m * c, central + m * cs.mtimes(c, c.T))

    @property
    def I(self) -> SX:  # noqa: E743 - the symbol of the textbooks
        """Inertia tensor about the origin (3, 3)."""
        xx, yy, zz, xy, xz, yz = (self.J[i, j] for i, j in PLACES)
        return symmetric((yy + zz, xx + zz, xx + yy, -xy, -xz, -yz))

    @property
    def is_zero(self) -> bool:
        """Whether there is structurally nothing."""
        return all(bool(part.is_zero()) for part in (self.m, self.h, self.J))

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.m + other.m, self.h + other.h, self.J + other.J)

    def moved(self, T: Pose) -> Inertia:
        """The same matter seen from the frame that T maps to (T: this frame to that one)."""
        turned = cs.mtimes(cs.mtimes(T.R, self.J), T.R.T)
        upper = symmetric(tuple(turned[i, j] for i, j in PLACES))  # the lower half is the upper one, not computed twice
        return Inertia(self.m, cs.mtimes(T.R, self.h), upper).shifted(T.p)

    def shifted(self, p: SX) -> Inertia:
        """The same matter seen from parallel axes in which this origin stands at p."""
        half = self.h + self.m * p / 2
        J = symmetric(tuple(self.J[i, j] + p[i] * half[j] + half[i] * p[j] for i, j in PLACES))
        return Inertia(self.m, self.h + self.m * p, J)

    def turned_about_z(self, cosine: SX, sine: SX) -> Inertia:
        """The same matter seen from axes in which these are turned about z."""
        x, y, z = self.h[0], self.h[1], self.h[2]
        xx, yy, zz, xy, xz, yz = (self.J[i, j] for i, j in PLACES)
        change = sine * (xx - yy) + 2 * cosine * xy
        J = symmetric(
            (
                xx - sine * change,
                yy + sine * change,
                zz,
                cosine * change - xy,
                cosine * xz - sine * yz,
                sine * xz + cosine * yz,
            )
        )
        return Inertia(self.m, cs.vertcat(cosine * x - sine * y, sine * x + cosine * y, z), J)

    def momentum(self, omega: SX, v: SX) -> tuple[SX, SX]:
        """(angular, linear) momentum of a twist about the frame's origin."""
        return cs.mtimes(self.I, omega) + cs.cross(self.h, v), self.m * v - cs.cross(self.h, omega)


def symmetric(entries: tuple[SX, ...]) -> SX:
    """The symmetric matrix with the given xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = entries
    return cs.vertcat(cs.horzcat(xx, xy, xz), cs.horzcat(xy, yy, yz), cs.horzcat(xz, yz, zz))
