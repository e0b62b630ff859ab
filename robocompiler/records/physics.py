"""Physical checks of inertia tensors.

A real body's principal moments l1 <= l2 <= l3 about its centre of mass are non-negative and l3 <= l1 + l2 (otherwise
some mass would be negative).  An indefinite tensor is refused.  One that is definite but breaks the triangle inequality
is accepted with a warning: identified parameters and reflected
rotor inertias do that, and the equations stay well posed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EIGENVALUE_TOLERANCE = 1e-12  # relative to the largest magnitude: rounding of the decimal input and of the eigenvalues


@dataclass(frozen=True)
class InertiaVerdict:
    """`eigenvalues` ascending (kg m^2); `triangle_deficit` = l3 - l1 - l2, 0 when the inequality holds to rounding."""

    eigenvalues: tuple[float, float, float]
    indefinite: bool
    triangle_deficit: float


def judge_inertia(inertia: tuple[float, float, float, float, float, float]) -> InertiaVerdict:
    """Judge (xx, yy, zz, xy, xz, yz) in kg m^2 about the centre of mass."""
    scale = max(abs(value) for value in inertia)
    if scale == 0:
        return InertiaVerdict((0.0, 0.0, 0.0), False, 0.0)
    xx, yy, zz, xy, xz, yz = (value / scale for value in inertia)
    low, middle, high = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])).tolist()
    tolerance = EIGENVALUE_TOLERANCE * max(abs(low), abs(high))
    deficit = high - middle - low
    return InertiaVerdict(
        eigenvalues=(low * scale, middle * scale, high * scale),
        indefinite=low < -tolerance,
        triangle_deficit=deficit * scale if deficit > tolerance else 0.0,
    )
