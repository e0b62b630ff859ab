"""The row of MuJoCo's mj_forward, called from Python, without what the call itself costs.

Closures are its soft equality constraints at the adapter's stiffness, with MuJoCo's own default solver settings.  Every
state is called some times in turn, so that its solver starts from its last answer, and setting the state is not timed.
The empty-work call is mj_camlight of the same model and data, which has no camera and no light.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.bench.states import References, worst
from robocompiler.bench.timing import FORWARD, SAMPLE_SECONDS, Sample, Skipped, Timed
from robocompiler.errors import MissingPackageError, ModelError
from robocompiler.oracle.mujoco_adapter import MujocoModel
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]
NAME = "MuJoCo, mj_forward"
_ITERATIONS, _TOLERANCE = 100, 1e-8  # MuJoCo's defaults; the adapter's own settings are for accuracy


def mujoco_rows(mechanism: Mechanism, states: References) -> tuple[list[Timed], list[Skipped]]:
    """mj_forward, or why there is none."""
    try:
        engine = MujocoModel(mechanism)
    except (MissingPackageError, ModelError) as error:
        return [], [Skipped(NAME, str(error))]
    option = engine.model.opt
    option.iterations, option.tolerance = _ITERATIONS, _TOLERANCE
    option.jacobian = int(engine.mujoco.mjtJacobian.mjJAC_AUTO)
    chords = [chord.name for chord in engine.spanning.chords]
    prepared, found, wanted = [], [], []
    for one in states.each:
        q = engine.configuration(one.values)
        v = engine.velocity(q, one.speeds)
        efforts = one.tree_efforts(chords, ports=True)
        rates = engine.accelerations(q, v, efforts)
        found.append(np.array(list(rates.values())))
        wanted.append(np.array([one.forward[name] for name in rates]))
        prepared.append((q, v, engine.applied(q, v, efforts)))
    loop = _Loop(engine, prepared)
    note = "soft closures, error over its tree's velocities; less mj_camlight of a model without any"
    note += "".join(f"; {count} times: {what}" for what, count in _left_out(engine.notes).items())
    deviation = None if mechanism.couplings else worst(found, wanted)
    note += "; couplings are left out, so that it solves another problem" if mechanism.couplings else ""
    return [Timed(FORWARD, NAME, False, loop.sample, deviation, note)], []


def _left_out(notes: list[str]) -> Counter[str]:
    """How often each thing is left out, whatever the closure's name.

    The adapter leaves out the damping of closures too; here it is among the applied efforts.
    """
    texts = (note.partition(": ")[2] or note for note in notes)
    return Counter(text.replace("armature and damping of a closure are", "armature of a closure is") for text in texts)


class _Loop:
    """Calls a few times at each state."""

    def __init__(self, engine: MujocoModel, states: list[tuple[Array, Array, Array]]) -> None:
        self._engine, self._states, self._repeats = engine, states, 0

    def sample(self) -> Sample:
        """One sample of mj_forward and of the empty-work call."""
        engine = self._engine
        if not self._repeats:
            once = self._run(engine.mujoco.mj_forward, 3) / 3
            self._repeats = max(3, round(SAMPLE_SECONDS / max(once, 1e-9)))
        per_call = 1.0 / (self._repeats * len(self._states))
        overhead = self._run(engine.mujoco.mj_camlight, self._repeats) * per_call
        return Sample(self._run(engine.mujoco.mj_forward, self._repeats) * per_call - overhead, overhead)

    def _run(self, call: Any, repeats: int) -> float:
        """Seconds of `repeats` calls at each state."""
        model, data, total = self._engine.model, self._engine.data, 0.0
        for q, v, force in self._states:
            data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, force
            begin = time.thread_time()
            for _ in range(repeats):
                call(model, data)
            total += time.thread_time() - begin
        return total
