"""Two representations of one mechanism in the same motion, and how far their reduced quantities are from covariant.

F and Fdot u~ come from the oracle in maximal coordinates: body twists and accelerations of the other representation's
unit speeds, carried to the original's bodies and read there as joint speeds.  No compiled number enters them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from casadi_mechanics import CasadiMechanics
from numpy.typing import NDArray
from oracle_kinematics import is_quaternion
from representations import Variant
from scipy.linalg import qr

from robocompiler.graph.multigraph import joint_multigraph
from robocompiler.graph.roots import hang_on_world
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.states import Pose, State
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """One representation: its compiled kernels and the oracle of its records."""

    mechanics: CasadiMechanics
    model: MaximalModel

    @staticmethod
    def of(mechanism: Mechanism, independent: Sequence[str] = (), cut_first: Sequence[str] = ()) -> Side:
        """Run the front end."""
        return Side(CasadiMechanics.of(mechanism, independent, cut_first), MaximalModel(mechanism))

    @property
    def bodies(self) -> list[str]:
        """Body names in the oracle's order."""
        return [solid.name for solid in self.model.scene.solids]

    def placed(self, values: Mapping[str, float]) -> Pose:
        """The oracle's pose at the given coordinates, on the constraints to rounding."""
        return self.model.project(self.model.pose(values), self.mechanics.independent)

    def q(self, pose: Pose) -> Array:
        """Coordinates of a pose in the compiler's order."""
        return self.mechanics.robot.q({name: float(value) for name, value in pose.values.items()})

    def moving(self, pose: Pose, u: Array) -> State:
        """The oracle's state at speeds u of the compiled chart."""
        independent = self.mechanics.independent
        return self.model.state(pose, dict(zip(independent, map(float, u), strict=True)), independent)

    def read(self, state: State, vector: Array, names: Sequence[str] | None = None, *, rate: bool = False) -> Array:
        """Joint speeds (rate: accelerations) that body twists (accelerations) mean; the chart's by default."""
        rows = [state.rates[name] for name in names or self.mechanics.independent]
        return np.array([float(row(vector)) + (float(row.bias) if rate else 0.0) for row in rows])

    def jacobians(self, q: Array) -> dict[str, Array]:
        """Twist at the world's origin, in world axes, of every body and frame per independent speed: (6, d)."""
        units = np.eye(len(self.mechanics.independent))
        columns = [self.mechanics.robot.twists(q, self.mechanics.motion(q, unit)[1]) for unit in units]
        return {name: np.column_stack([column[name] for column in columns]) for name in columns[0]}


@dataclass(frozen=True)
class Change:
    """u = F u~ and shift = Fdot u~ at one state of both representations."""

    q: Array
    own: Array
    u: Array
    own_u: Array
    F: Array
    shift: Array
    own_state: State


def poses_of(side: Side, pose: Pose) -> dict[str, Array]:
    """4x4 world poses by body."""
    result = {"world": np.eye(4)}
    for name, R, p in zip(side.bodies, pose.poses.R, pose.poses.p, strict=True):
        result[name] = np.eye(4)
        result[name][:3, :3], result[name][:3, 3] = np.array(R, dtype=float), np.array(p, dtype=float)
    return result


def carried(base: Side, variant: Variant, poses: Mapping[str, Array], there: Side, V: Array, a: Array | None) -> Array:
    """Twists V of the other's bodies as twists of the original's; with a, accelerations at those twists."""
    place = {name: 6 * k for k, name in enumerate(there.bodies)}
    result = np.zeros(6 * len(base.bodies))
    for k, name in enumerate(base.bodies):
        at = place[variant.bodies[name]]
        moved = variant.moved.get(name, np.eye(4))
        arm = -poses[name][:3, :3] @ moved[:3, 3]  # from the other's origin of this body to the original's
        x = V if a is None else a
        omega, turn, slide = V[at : at + 3], x[at : at + 3], x[at + 3 : at + 6]
        result[6 * k : 6 * k + 3], result[6 * k + 3 : 6 * k + 6] = turn, slide + np.cross(turn, arm)
        if a is not None:
            result[6 * k + 3 : 6 * k + 6] += np.cross(omega, np.cross(omega, arm))
    return result


def change(base: Side, variant: Variant, there: Side, values: Mapping[str, float], u: Array) -> Change:
    """Both representations where the original has the coordinates `values` and the speeds u."""
    pose = base.placed(values)
    poses = poses_of(base, pose)
    given = variant.values(poses)
    if _same_joints(base, there):  # then signs of quaternions can agree as well
        near = {name: float(value) for name, value in pose.values.items()}
        given = {n: -x if is_quaternion(n) and abs(near[n] + x) < abs(near[n] - x) else x for n, x in given.items()}
    other = there.placed(given)
    still = there.moving(other, np.zeros(len(u)))
    at_rest = base.moving(pose, np.zeros(len(u)))
    columns = [carried(base, variant, poses, there, np.array(c, dtype=float), None) for c in still.lift]
    F = np.column_stack([base.read(at_rest, column) for column in columns])
    own_u = np.linalg.solve(F, u)
    own_state = there.moving(other, own_u)
    drift = carried(
        base, variant, poses, there, np.array(own_state.V, dtype=float), np.array(own_state.drift, dtype=float)
    )
    shift = base.read(base.moving(pose, u), drift, rate=True)
    return Change(base.q(pose), there.q(other), u, own_u, F, shift, own_state)


def _same_joints(base: Side, there: Side) -> bool:
    ours, theirs = ({j.name: j for j in side.model.scene.mechanism.joints} for side in (base, there))
    return ours == theirs


def relative(found: Array, wanted: Array, *terms: Array) -> float:
    """|found - wanted| / max(|wanted|, |terms|...), norms of Frobenius; 0 for nothing."""
    size = max((float(np.linalg.norm(x)) for x in (wanted, *terms)), default=0.0)
    return float(np.linalg.norm(found - wanted)) / size if size else float(np.abs(found).max(initial=0.0))


def differences(base: Side, variant: Variant, there: Side, at: Change, f: Array) -> dict[str, float]:
    """Relative distance from covariance of every quantity, compiled numbers on both sides.

    B: all joint speeds, read from the bodies' twists J F;  N B: all coordinate rates, where the joints are the same;
    J: twists of all bodies and frames;  L, M;  h with the term F^T M Fdot u~, relative to the larger of its terms;
    a: classical accelerations of all bodies and frames under port efforts f;  force: the forces M udot, relative to the
    larger of themselves and h;  power: tau.u on both sides and f.ldot, relative to |u| (|M udot| + |h|).
    """
    one, two, F = base.mechanics, there.mechanics, at.F
    J, own_J = base.jacobians(at.q), there.jacobians(at.own)
    names = {name: variant.bodies.get(name, name) for name in J}
    found: dict[str, float] = {}
    stacked = [np.vstack([table[key] for key in keys]) for table, keys in ((J, names), (own_J, names.values()))]
    found["J"] = relative(stacked[1], stacked[0] @ F)
    new_poses = poses_of(there, at.own_state.pose)
    back = {new: name for name, new in names.items()}
    columns = []
    for k in range(F.shape[1]):
        V = np.zeros(6 * len(there.bodies))
        for i, body in enumerate(there.bodies):
            twist = J[back[body]] @ F[:, k]
            V[6 * i : 6 * i + 3] = twist[:3]
            V[6 * i + 3 : 6 * i + 6] = twist[3:] + np.cross(twist[:3], new_poses[body][:3, 3])
        columns.append(there.read(at.own_state, V, two.velocities))
    found["B"] = relative(two.robot.lift(at.own), np.column_stack(columns))
    if _same_joints(base, there):
        found["N B"] = relative(_rates(two, at.own), _rates(one, at.q)[_places(one, two)] @ F)
    L, own_L = _port_maps(one, two, at)
    found["L"] = relative(own_L, L @ F)
    M, own_M = one.mass(at.q), two.mass(at.own)
    found["M"] = relative(own_M, F.T @ M @ F)
    zero = np.zeros(len(at.u))
    h, own_h = one.inverse(at.q, at.u, zero), two.inverse(at.own, at.own_u, zero)
    found["h"] = relative(own_h, F.T @ (h + M @ at.shift), F.T @ h, F.T @ (M @ at.shift))
    order = [two.ports.index(port) for port in one.ports]
    own_f = np.zeros(len(f))
    own_f[order] = f
    udot, own_udot = one.forward(at.q, at.u, f), two.forward(at.own, at.own_u, own_f)
    found["force"] = relative(M @ (F @ own_udot + at.shift), M @ udot, h)
    found["a"] = relative(*_accelerations(base, variant, there, at, udot, own_udot))
    tau, own_tau = one.inverse(at.q, at.u, udot), two.inverse(at.own, at.own_u, own_udot)
    size = float(np.linalg.norm(at.u) * (np.linalg.norm(M @ udot) + np.linalg.norm(h)))
    powers = (tau @ at.u, own_tau @ at.own_u, f @ (L @ at.u))
    found["power"] = max(abs(powers[0] - p) for p in powers) / size if size else 0.0
    return found


def _rates(compiled: CasadiMechanics, q: Array) -> Array:
    E = compiled.robot.lift(q)
    return np.column_stack([compiled.robot.call(compiled.robot.program.rates, q, column)[0] for column in E.T])


def _places(one: CasadiMechanics, two: CasadiMechanics) -> list[int]:
    names = list(one.robot.topology.q_names)
    return [names.index(name) for name in two.robot.topology.q_names]


def _port_maps(one: CasadiMechanics, two: CasadiMechanics, at: Change) -> tuple[Array, Array]:
    """L of both, ports in the first one's order."""
    return one.port_map(at.q), two.port_map(at.own)[[two.ports.index(port) for port in one.ports]]


def _accelerations(
    base: Side, variant: Variant, there: Side, at: Change, udot: Array, own_udot: Array
) -> tuple[Array, Array]:
    """Accelerations of all bodies (at the original's origins) and frames, the other's and the original's."""
    wanted = base.mechanics.frame_accelerations(at.q, at.u, udot)
    own = there.mechanics.frame_accelerations(at.own, at.own_u, own_udot)
    poses = {
        name: poses_of(there, at.own_state.pose)[new] @ np.linalg.inv(variant.moved.get(name, np.eye(4)))
        for name, new in variant.bodies.items()
    }
    table = np.concatenate([own[name] for name in there.bodies])
    moved = carried(base, variant, poses, there, np.array(at.own_state.V, dtype=float), table)
    rest = [name for name in wanted if name not in variant.bodies]
    found = np.concatenate([moved, *(own[name] for name in rest)])
    return found, np.concatenate([*(wanted[name] for name in base.bodies), *(wanted[name] for name in rest)])


def random_cuts(mechanism: Mechanism, seed: int) -> tuple[str, ...]:
    """The joints outside a random spanning tree that keeps free roots and fixed joints where it can."""
    random = np.random.default_rng(seed)
    hung, _ = hang_on_world(mechanism)
    graph = nx.MultiGraph()
    for u, v, name in joint_multigraph(hung).edges(keys=True):
        graph.add_edge(u, v, name, weight=float(random.random()))
    kept = {name for _, _, name in nx.minimum_spanning_edges(graph, keys=True, data=False)}
    return tuple(sorted(joint.name for joint in hung.joints if joint.name not in kept))


def random_chart(side: Side, seed: int) -> tuple[str, ...]:
    """Other independents: rows of the lift at the reference, scaled at random and chosen by pivoting."""
    robot, random = side.mechanics.robot, np.random.default_rng(seed)
    active = list(map(int, robot.evaluator.active))
    rows = robot.lift(robot.reference)[active]
    weights = random.uniform(0.1, 1.0, len(active)) / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)
    weights[np.linalg.norm(rows, axis=1) < 1e-6] = 0.0
    chosen = qr((rows * weights[:, None]).T, mode="r", pivoting=True)[1][: rows.shape[1]]
    return tuple(sorted(robot.topology.v_names[active[int(k)]] for k in chosen))
