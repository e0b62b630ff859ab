"""The increment between two configurations: q_a (+) difference(q_a, q_b) = q_b, joint by joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.numerics import se3

Array = NDArray[np.float64]


def rotation(quaternion: Array) -> Array:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, v = quaternion[0], quaternion[1:]
    V = se3.skew(v)
    return np.asarray(np.eye(3) + 2 * w * V + 2 * V @ V)


def difference(joints: Sequence[dict[str, Any]], a: Array, b: Array, nv: int) -> Array:
    """dv (nv,) with a (+) dv = b."""
    dv = np.zeros(nv)
    for joint in joints:
        (q0, nq), (v0, count) = joint["q"], joint["v"]
        if joint["type"] == "spherical":
            relative = rotation(a[q0 : q0 + 4]).T @ rotation(b[q0 : q0 + 4])
            dv[v0 : v0 + 3] = se3.log(relative, np.zeros(3))[:3]
        elif joint["type"] == "free":
            R = rotation(a[q0 + 3 : q0 + 7])
            dv[v0 : v0 + 6] = se3.log(R.T @ rotation(b[q0 + 3 : q0 + 7]), R.T @ (b[q0 : q0 + 3] - a[q0 : q0 + 3]))
        else:
            dv[v0 : v0 + count] = b[q0 : q0 + nq] - a[q0 : q0 + nq]
    return dv
