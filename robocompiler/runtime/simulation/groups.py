"""Tangent coordinates of a step on the joints' Lie groups: q = q_0 (+) theta, thetadot = dexp^-1(theta) v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Tangent:
    """The map from body velocities to rates of the tangent coordinates theta (nv,).

    Velocities of balls and free joints are in body axes, so that with theta = (phi; rho), ad the adjoint action and the
    Bernoulli numbers 1, 1/2, 1/12, 0, -1/720 over factorials,

        thetadot = v + 1/2 ad v + 1/12 ad^2 v - 1/720 ad^4 v + ...

    which is cut behind ad^4: the error is of sixth order in the step, beyond the methods' order.  Coordinates that
    commute (hinges, slides) and eliminated joints, whose coordinates are recovered from the others, keep thetadot = v.
    """

    def __init__(self, joints: Sequence[Mapping[str, Any]]) -> None:
        """joints: records of the manifest, with `type`, `role` and places `v`."""
        kept = [joint for joint in joints if joint["role"] != "cut"]
        self._balls = [slice(sum(j["v"]) - 3, sum(j["v"])) for j in kept if j["type"] == "spherical"]
        self._free = [slice(sum(j["v"]) - 6, sum(j["v"])) for j in kept if j["type"] == "free"]

    def rate(self, theta: Array, v: Array) -> Array:
        """thetadot (nv,)."""
        if not self._balls and not self._free:
            return v
        result = v.copy()
        for place in self._balls:
            result[place] = _series(theta[place], v[place], _cross)
        for place in self._free:
            result[place] = _series(theta[place], v[place], _bracket)
        return result


def _series(theta: Array, v: Array, ad: Any) -> Array:
    first = ad(theta, v)
    second = ad(theta, first)
    fourth = ad(theta, ad(theta, second))
    return np.asarray(v + first / 2 + second / 12 - fourth / 720)


def _cross(a: Array, b: Array) -> Array:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _bracket(a: Array, b: Array) -> Array:
    """ad_a b of twists, angular first."""
    return np.concatenate((_cross(a[:3], b[:3]), _cross(a[:3], b[3:]) + _cross(a[3:], b[:3])))
