"""One step of an integration method on the closure manifold.

Runge-Kutta methods run on the joints' Lie groups (Munthe-Kaas): stages q_i = q (+) theta_i, rates dexp^-1(theta_i) v_i.
The field v = E(q) u is smooth beside the manifold, so that stages keep their order there; the loops are closed after
the step with the independents held, and u is kept: v = E u is consistent by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.simulation.methods import LinearlyImplicit, Method, Methods, SemiImplicit
from robocompiler.runtime.simulation.plant import Plant, Source
from robocompiler.runtime.simulation.state import Rate, State

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """The state behind a step, and the error of it over its tolerance (0 for methods of fixed step)."""

    state: State
    error: float


def take(plant: Plant, method: Methods, state: State, rate: Rate, h: float, source: Source, rtol: float) -> Step:
    """The step of length h (s) from `state`, whose rate is given.  Raises Refused."""
    if isinstance(method, SemiImplicit):
        return _semi_implicit(plant, state, rate, h)
    if isinstance(method, LinearlyImplicit):
        return _linearly_implicit(plant, state, rate, h, source)
    return _runge_kutta(plant, method, state, rate, h, source, rtol)


def _semi_implicit(plant: Plant, state: State, rate: Rate, h: float) -> Step:
    u = state.u + h * rate.udot
    v = plant.velocity(state.q, u, state.t)
    q = plant.close(plant.move(state.q, h * v), state.t + h)
    return Step(State(state.t + h, q, u, state.z + h * rate.zdot), 0.0)


def _runge_kutta(plant: Plant, method: Method, state: State, rate: Rate, h: float, source: Source, rtol: float) -> Step:
    stages = method.b.size
    nv, d, nz = rate.v.size, rate.udot.size, rate.zdot.size
    K = np.empty((stages, nv + d + nz))
    K[0] = np.concatenate((rate.v, rate.udot, rate.zdot))
    for i in range(1, stages):
        moved = h * (method.a[i, :i] @ K[:i])
        theta = moved[:nv]
        stage = State(
            state.t + method.c[i] * h, plant.move(state.q, theta), state.u + moved[nv : nv + d],
            state.z + moved[nv + d :],
        )  # fmt: skip
        found = plant.rate(stage, source)
        K[i, :nv] = plant.tangent.rate(theta, found.v)
        K[i, nv : nv + d], K[i, nv + d :] = found.udot, found.zdot
    total = h * (method.b @ K)
    q = plant.close(plant.move(state.q, total[:nv]), state.t + h)
    new = State(state.t + h, q, state.u + total[nv : nv + d], state.z + total[nv + d :])
    if method.error is None:
        return Step(new, 0.0)
    error = h * (method.error @ K)
    return Step(new, plant.size(error[:nv], error[nv : nv + d], error[nv + d :], new, rtol))


GAMMA = 1 - 1 / np.sqrt(2)
NUDGE = 1e-6  # scales per second by which speeds are changed to difference their accelerations


def _linearly_implicit(plant: Plant, state: State, rate: Rate, h: float, source: Source) -> Step:
    left = np.eye(state.u.size) - GAMMA * h * _speed_slopes(plant, state, rate, source)
    k1 = np.linalg.solve(left, rate.udot)
    theta = h * rate.v
    ahead = State(state.t + h, plant.move(state.q, theta), state.u + h * k1, state.z + h * rate.zdot)
    found = plant.rate(ahead, source)
    k2 = np.linalg.solve(left, found.udot - 2 * k1)
    mean = (rate.v + plant.tangent.rate(theta, found.v)) / 2  # A is zero for positions: these are Heun's
    q = plant.close(plant.move(state.q, h * mean), state.t + h)
    z = state.z + h * (rate.zdot + found.zdot) / 2
    return Step(State(state.t + h, q, state.u + h * (3 * k1 + k2) / 2, z), 0.0)


def _speed_slopes(plant: Plant, state: State, rate: Rate, source: Source) -> Array:
    """d udot / d u (d, d) by forward differences."""
    A = np.empty((state.u.size, state.u.size))
    for k, scale in enumerate(plant.speed_scales):
        u = state.u.copy()
        u[k] += NUDGE * scale
        A[:, k] = (plant.rate(State(state.t, state.q, u, state.z), source).udot - rate.udot) / (NUDGE * scale)
    return A
