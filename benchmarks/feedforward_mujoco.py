"""The same control in MuJoCo, on the model that our exporter writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Law = Callable[[float, Array, Array], Array]


@dataclass(frozen=True)
class Softness:
    """How MuJoCo is set: its step (s), the time constant of equalities over the step, and the least inertia of the
    massless end bodies of exported universal closures (kg, kg m^2; 0: as exported, 1e-14).
    """

    step: float
    stiffness: float
    end_mass: float
    end_inertia: float

    def told(self) -> str:
        """In words."""
        ends = "model as exported"
        if self.end_mass:
            ends = f"end bodies given {self.end_mass:g} kg and {self.end_inertia:g} kg m²"
        return f"step {self.step:g} s, solref {self.stiffness * self.step:g} s, {ends}"


@dataclass(frozen=True)
class Tracked:
    """Times (N,), port displacements (N, nf) and the widest equality (m or rad) at samples; why it ended early."""

    t: Array
    l: Array  # noqa: E741
    gap: float
    failure: str


def track(text: str, ports: Sequence[str], law: Law, duration: float, period: float, softness: Softness) -> Tracked:
    """Run the exported model under law(t, l, ldot), sampled with `period` and held between."""
    model, data = _loaded(text, softness)
    actuators = [model.actuator(name).id for name in ports]
    if not np.array_equal(model.actuator_gear[actuators, 0], np.ones(len(ports))):
        raise ValueError("a port of the exported model is not a joint with gear 1")
    each = round(period / softness.step)
    times, found, gap = [], [], 0.0
    for k in range(round(duration / period) + 1):
        mujoco.mj_forward(model, data)
        length, rate = data.actuator_length[actuators].copy(), data.actuator_velocity[actuators].copy()
        times.append(k * period)
        found.append(length)
        gap = max(gap, float(np.abs(data.efc_pos[: data.ne]).max(initial=0.0)))
        if not np.all(np.isfinite(length)) or gap > 0.02 or data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            why = f"diverges at t = {k * period:.3f} s (gap {gap:.2g})"
            return Tracked(np.array(times), np.array(found), gap, why)
        data.ctrl[actuators] = law(k * period, length, rate)
        mujoco.mj_step(model, data, each)
    return Tracked(np.array(times), np.array(found), gap, "")


def _loaded(text: str, softness: Softness) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep = softness.step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.iterations, model.opt.tolerance = 100, 1e-12
    model.eq_solref[:] = (softness.stiffness * softness.step, 1.0)
    model.eq_solimp[:] = (0.95, 0.999, 1e-4, 0.5, 2.0)
    if softness.end_mass:
        ends = [k for k in range(model.nbody) if re.search(r"_end$", model.body(k).name)]
        light = [k for k in ends if model.body_mass[k] < softness.end_mass]
        model.body_mass[light], model.body_inertia[light] = softness.end_mass, softness.end_inertia
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    return model, data
