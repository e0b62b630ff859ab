"""The compiled equations of a mechanism against the oracle, evaluated by CasADi as the generated C chains them."""

from __future__ import annotations

import numpy as np
from casadi_mechanics import CasadiMechanics
from mechanics_support import difference
from random_mechanisms import Sample

from robocompiler.compiler import run_front_end
from robocompiler.oracle.maximal import Efforts, MaximalModel


def agrees(sample: Sample, random: np.random.Generator) -> int:
    """Compare every quantity at a random state off the reference; the freedoms that were compared.

    Raises RankError where the compiler refuses.
    """
    records = sample.mechanism
    front = run_front_end(records)
    model = MaximalModel(records)
    if front.program.mechanics is None:  # nothing can move: the reference must say so too
        pose = model.project(model.pose(sample.values), [])
        assert model.state(pose).independent == ()
        return 0
    compiled = CasadiMechanics(front)
    q = compiled.robot.assembled_near(random)
    d, nf = len(compiled.independent), len(compiled.ports)
    u, udot = random.uniform(-1, 1, d), random.uniform(-2, 2, d)
    pose = model.project(model.pose(compiled.robot.named(q)), compiled.independent)
    state = model.state(pose, dict(zip(compiled.independent, u.tolist(), strict=True)), compiled.independent)
    reduced = model.reduced(state)
    E = model.lift(state, compiled.velocities)
    # what rounding the chart's choice leaves: its lift's size squared, times that of M
    tolerance = 1e-11 * max(1.0, float(np.abs(E).max())) ** 2
    M = compiled.mass(q)
    assert difference(M, reduced.M) < tolerance
    np.testing.assert_array_equal(M, M.T)
    assert difference(compiled.inverse(q, u, 0 * u), reduced.h) < tolerance
    assert difference(compiled.inverse(q, u, udot), reduced.M @ udot + reduced.h) < tolerance
    drift = model.curvature(state)
    a = np.array([drift[n] for n in compiled.velocities]) + E @ udot
    assert difference(compiled.acceleration(q, u, udot), a) < tolerance
    f, tau = random.uniform(-5, 5, nf), random.uniform(-3, 3, d)
    efforts = Efforts(
        ports=dict(zip(compiled.ports, f.tolist(), strict=True)),
        joints=dict(zip(compiled.independent, tau.tolist(), strict=True)),
    )
    wanted = model.accelerations(state, efforts).udot
    values = np.linalg.eigvalsh(reduced.M)
    assert difference(compiled.forward(q, u, f, tau), wanted) < tolerance * max(1.0, values[-1] / values[0] / 100)
    rise = compiled.energy(q, u) - compiled.energy(compiled.robot.reference, 0 * u)  # a potential has a free constant
    still = model.state(model.project(model.pose(compiled.robot.named(compiled.robot.reference)), compiled.independent))
    np.testing.assert_allclose(rise, np.subtract(model.energies(state), model.energies(still)), rtol=1e-10, atol=1e-10)
    return d
