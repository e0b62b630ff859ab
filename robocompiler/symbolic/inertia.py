"""Rigid-body inertias in CasADi: ten numbers about a link's origin, moved between frames and summed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.records.model import Body
from robocompiler.symbolic.scalars import to_sx, vector_to_sx
from robocompiler.symbolic.spatial import Pose, skew

SX = Any


@dataclass(frozen=True)
class Inertia:
    """Mass m, first moment h = m c and second moment I about the frame's origin (3, 3), in the frame's axes.

    Momentum of the twist (omega; v): angular I omega + h x v, linear m v + omega x h.
    """

    m: SX
    h: SX
    I: SX  # noqa: E741 - the symbol of the textbooks

    @staticmethod
    def zero() -> Inertia:
        """Nothing."""
        return Inertia(cs.SX(0), cs.SX(cs.DM.zeros(3, 1).full()), cs.SX(cs.DM.zeros(3, 3).full()))

    @staticmethod
    def of(body: Body, parameters: Mapping[str, Any]) -> Inertia:
        """A body's inertia about its own origin: I = I_c - m skew(c) skew(c)."""
        m, c = to_sx(body.mass, parameters), vector_to_sx(body.com, parameters)
        xx, yy, zz, xy, xz, yz = (to_sx(value, parameters) for value in body.inertia)
        central = cs.vertcat(cs.horzcat(xx, xy, xz), cs.horzcat(xy, yy, yz), cs.horzcat(xz, yz, zz))
        C = skew(c)
        return Inertia(m, m * c, central - m * cs.mtimes(C, C))

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.m + other.m, self.h + other.h, self.I + other.I)

    def moved(self, T: Pose) -> Inertia:
        """The same matter seen from the frame that T maps to (T: this frame to that one)."""
        h = cs.mtimes(T.R, self.h)
        turned = cs.mtimes(cs.mtimes(T.R, self.I), T.R.T)
        P, H = skew(T.p), skew(h)
        PH = cs.mtimes(P, H)
        second = turned - PH - PH.T - self.m * cs.mtimes(P, P)
        symmetric = cs.triu(second) + cs.triu(second, False).T  # the lower half is the upper one, not computed twice
        return Inertia(self.m, h + self.m * T.p, symmetric)

    def momentum(self, omega: SX, v: SX) -> tuple[SX, SX]:
        """(angular, linear) momentum of a twist about the frame's origin."""
        return cs.mtimes(self.I, omega) + cs.cross(self.h, v), self.m * v - cs.cross(self.h, omega)
