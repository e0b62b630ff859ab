"""The state of a simulation, what acts on it, and how it moves: plain records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Refused(Exception):  # noqa: N818  it is caught by the run, which tells it as the end of the simulation
    """A step cannot be taken: the chart is singular, the loops do not close, or numbers are not finite."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind, self.message = kind, message
        super().__init__(message)


@dataclass(frozen=True)
class State:
    """Time t (s), assembled configuration q (nq,), independent speeds u (d,), drive states z (nz,)."""

    t: float
    q: Array
    u: Array
    z: Array


def to_read(array: Array) -> Array:
    """A view that cannot be written to, for functions of the user: the state is not theirs to change."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class Applied:
    """What a controller applies: efforts f (nf,) of the ports, and commands c of the drives (None: drives are idle).

    With commands, the efforts of driven ports follow from the laws of their drives and those of f are not used.
    """

    f: Array
    c: Array | None = None


@dataclass(frozen=True)
class Rate:
    """The motion at a state: v = E u (nv,), udot (d,), zdot (nz,), and the port efforts f (nf,) that act."""

    v: Array
    udot: Array
    zdot: Array
    f: Array
    saturated: NDArray[np.bool_]
