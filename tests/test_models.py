"""The models that ship with the compiler: they read, have the right sizes, close at their reference, can move.

The kinematics here is deliberately plain and shares no code with the compiler: 4x4 matrices from the records alone, and
mobility as the null space of velocity constraints in maximal coordinates (6 per body, no tree in the count).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import yaml

from robocompiler.graph.build import derive_topology
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names
from robocompiler.records.model import WORLD, Body, Joint, Mechanism, Placement
from robocompiler.records.reader import read_mechanism

Array = npt.NDArray[np.float64]

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "tests" / "data" / "kangaroo_published.yaml"
ALL = [*sorted((ROOT / "models").glob("*.yaml")), PUBLISHED]
TEACHING = ("fourbar", "slider_crank", "five_bar", "delta", "rssr", "parallel_ankle", "crane")
DIGESTS = {  # of the published figures, computed from the sources and not from the files here
    "stewart": "02e81ffad2377bca",
    "excavator": "0ea8df8cb8c47eaf",
    "kangaroo": "6813524ce113fe50",
    "kangaroo_published": "620b989b556d0288",
    "go2": "950f83e36611ecb1",
    "panda": "be0c6055fbe0ef0d",
}
KINDS = {"spherical": JointType.SPHERICAL, "universal": JointType.UNIVERSAL}


def load(name: str) -> Mechanism:
    return read_mechanism(PUBLISHED if name == PUBLISHED.stem else ROOT / "models" / f"{name}.yaml")


def cross(v: Array) -> Array:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def pose(rotation: Array, translation: Array) -> Array:
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = rotation, translation
    return result


def turn(axis: Array, angle: float) -> Array:
    k = cross(axis)
    result: Array = np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)
    return result


def from_quaternion(w: float, x: float, y: float, z: float) -> Array:
    v = np.array([x, y, z])
    return np.eye(3) + 2.0 * w * cross(v) + 2.0 * cross(v) @ cross(v)


def placed(placement: Placement) -> Array:
    return pose(np.array(placement.rotation), np.array([evaluate(x, {}) for x in placement.translation]))


def motion(joint: Joint, q: Array) -> Array:
    """Q(q) of the joint types that occur in the models."""
    n, m, zero = np.array(joint.axis), np.array(joint.axis2), np.zeros(3)
    match joint.type:
        case JointType.FIXED:
            return np.eye(4)
        case JointType.REVOLUTE:
            return pose(turn(n, q[0]), zero)
        case JointType.PRISMATIC:
            return pose(np.eye(3), n * q[0])
        case JointType.UNIVERSAL:
            return pose(turn(n, q[0]) @ turn(m, q[1]), zero)
        case JointType.SPHERICAL:
            return pose(from_quaternion(*q), zero)
        case _:
            raise AssertionError(f"no model has a {joint.type.value} joint")


def reference(mechanism: Mechanism, joint: Joint) -> Array | None:
    """The reference coordinates of a joint, or None where none is recorded."""
    values = dict(mechanism.reference.coordinates)
    names = coordinate_names(joint.name, joint.type)
    return np.array([values[name] for name in names]) if all(name in values for name in names) else None


@dataclass(frozen=True)
class Gap:
    """How far a joint outside the propagated tree is from closing."""

    joint: str
    metres: float
    radians: float


def closes(mechanism: Mechanism) -> tuple[dict[str, Array], list[Gap]]:
    """Poses of all bodies at the reference, and the gaps of the joints that the propagation did not need.

    Joints are taken in order of their freedoms (Kruskal), so that a spherical or universal joint is only propagated
    where nothing else carries its body; without recorded coordinates it is then taken at 0.
    """
    poses = {WORLD: np.eye(4)}
    for base in mechanism.reference.bases:
        poses[base.body] = pose(from_quaternion(*base.quaternion), np.array(base.translation))
    group = {body.name: body.name for body in mechanism.bodies} | dict.fromkeys(poses, WORLD)
    tree: list[Joint] = []
    rest: list[Joint] = []
    for joint in sorted(mechanism.joints, key=lambda j: JOINT_SHAPES[j.type].nv):
        one, two = group[joint.a.body], group[joint.b.body]
        (rest if one == two else tree).append(joint)
        group = {body: one if head == two else head for body, head in group.items()}
    assert len(set(group.values())) == 1, "a body hangs on nothing"
    while tree:
        joint = next(j for j in tree if (j.a.body in poses) or (j.b.body in poses))
        tree.remove(joint)
        x = placed(joint.a) @ motion(joint, at(mechanism, joint)) @ np.linalg.inv(placed(joint.b))
        if joint.a.body in poses:
            poses[joint.b.body] = poses[joint.a.body] @ x
        else:
            poses[joint.a.body] = poses[joint.b.body] @ np.linalg.inv(x)
    return poses, [gap(mechanism, joint, poses) for joint in rest]


def at(mechanism: Mechanism, joint: Joint) -> Array:
    """Reference coordinates, the zero position where none is recorded."""
    q = reference(mechanism, joint)
    zero = [1.0, 0.0, 0.0, 0.0] if joint.type is JointType.SPHERICAL else [0.0] * JOINT_SHAPES[joint.type].nq
    return np.array(zero) if q is None else q


def gap(mechanism: Mechanism, joint: Joint, poses: dict[str, Array]) -> Gap:
    """Closure error of `joint`: against its recorded coordinates, else of what its type forbids."""
    frame_a, frame_b = poses[joint.a.body] @ placed(joint.a), poses[joint.b.body] @ placed(joint.b)
    t = np.linalg.inv(frame_a) @ frame_b
    q = reference(mechanism, joint)
    if q is not None:
        delta = t @ np.linalg.inv(motion(joint, q))
        return Gap(joint.name, float(np.linalg.norm(delta[:3, 3])), float(np.linalg.norm(delta[:3, :3] - np.eye(3))))
    assert joint.type in KINDS.values(), f"{joint.name} needs its reference value"
    skew = 0.0
    if joint.type is JointType.UNIVERSAL:
        skew = abs(float(np.array(joint.axis) @ t[:3, :3] @ np.array(joint.axis2)))
    return Gap(joint.name, float(np.linalg.norm(t[:3, 3])), skew)


def with_balls(mechanism: Mechanism, body: str) -> Mechanism:
    """The mechanism with the unrecorded balls of `body` where one pose of it fits them all (Kabsch)."""
    poses, _ = closes(mechanism)
    balls = [j for j in mechanism.joints if j.type is JointType.SPHERICAL and j.b.body == body]
    seats = np.array([(poses[j.a.body] @ placed(j.a))[:3, 3] for j in balls])
    studs = np.array([placed(j.b)[:3, 3] for j in balls])
    u, _, vt = np.linalg.svd((studs - studs.mean(0)).T @ (seats - seats.mean(0)))
    fit = vt.T @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ u.T
    values = dict(mechanism.reference.coordinates)
    for joint in balls:
        r = (poses[joint.a.body] @ placed(joint.a))[:3, :3].T @ fit @ placed(joint.b)[:3, :3]
        w = np.sqrt(1.0 + np.trace(r)) / 2.0
        quaternion = [w, *(np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4.0 * w))]
        values |= zip(coordinate_names(joint.name, joint.type), map(float, quaternion), strict=True)
    return replace(mechanism, reference=replace(mechanism.reference, coordinates=tuple(values.items())))


def freedoms(joint: Joint, q: Array) -> Array:
    """Motion of b in the joint frame of a per unit speed, angular first: (6, nv)."""
    n, zero = np.array(joint.axis), np.zeros(3)
    match joint.type:
        case JointType.FIXED:
            return np.zeros((6, 0))
        case JointType.REVOLUTE:
            return np.array([[*n, *zero]]).T
        case JointType.PRISMATIC:
            return np.array([[*zero, *n]]).T
        case JointType.UNIVERSAL:
            return np.array([[*n, *zero], [*(turn(n, q[0]) @ np.array(joint.axis2)), *zero]]).T
        case JointType.SPHERICAL:
            return np.eye(6, 3)
        case _:
            raise AssertionError(f"no model has a {joint.type.value} joint")


def mobility(mechanism: Mechanism) -> tuple[int, float, float]:
    """Independent speeds at the reference, with the singular values beside the gap (last kept, first dropped).

    Unknowns are the spatial velocities of all bodies and the joint speeds; every joint gives V_b - V_a = S qdot.
    """
    poses, _ = closes(mechanism)
    bodies = {body.name: 6 * i for i, body in enumerate(mechanism.bodies)}
    column, total = {}, 6 * len(bodies)
    for joint in mechanism.joints:
        column[joint.name] = total
        total += JOINT_SHAPES[joint.type].nv
    rows = np.zeros((6 * len(mechanism.joints) + len(mechanism.couplings), total))
    for i, joint in enumerate(mechanism.joints):
        block = rows[6 * i : 6 * i + 6]
        for sign, body in ((1.0, joint.b.body), (-1.0, joint.a.body)):
            if body != WORLD:
                block[:, bodies[body] : bodies[body] + 6] += sign * np.eye(6)
        frame = poses[joint.a.body] @ placed(joint.a)
        r, p = frame[:3, :3], frame[:3, 3]
        adjoint = np.block([[r, np.zeros((3, 3))], [cross(p) @ r, r]])
        s = adjoint @ freedoms(joint, at(mechanism, joint))
        block[:, column[joint.name] : column[joint.name] + s.shape[1]] -= s
    for i, coupling in enumerate(mechanism.couplings, start=6 * len(mechanism.joints)):
        zero = dict.fromkeys(coupling.coordinates, 0.0)
        for name in coupling.coordinates:  # affine, so that a unit step is the exact derivative
            step = evaluate(coupling.expression, {**zero, name: 1.0}) - evaluate(coupling.expression, zero)
            rows[i, column[name]] += step
    values = np.linalg.svd(rows, compute_uv=False)
    rank = int(np.sum(values > 1e-7))
    dropped = float(values[rank]) if rank < len(values) else 0.0
    return total - rank, float(values[rank - 1]), dropped


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_model_reads_without_warning_and_is_named_after_its_file(path: Path) -> None:
    mechanism = read_mechanism(path)
    assert mechanism.name == path.stem
    assert mechanism.warnings == ()
    assert mechanism.gravity == (0.0, 0.0, -9.81)
    assert mechanism.ports, "a model without ports cannot be driven"


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_inertias_belong_to_real_mass_distributions(path: Path) -> None:
    def spread(body: Body) -> tuple[float, Array]:
        xx, yy, zz, xy, xz, yz = (evaluate(x, {}) for x in body.inertia)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return evaluate(body.mass, {}), np.linalg.eigvalsh(tensor)

    for body in read_mechanism(path).bodies:
        mass, moments = spread(body)
        massless = mass == 0.0 and not moments.any()
        slack = moments[0] + moments[1] - moments[2]  # largest moment at most the sum of the others
        assert massless or (mass > 0.0 and moments[0] > 0.0 and slack > -1e-12 * moments[2]), body.name


@pytest.mark.parametrize(
    ("name", "bodies", "joints", "kinds", "ports"),
    [
        ("stewart", 20, 25, {"spherical": 6, "universal": 0}, 6),
        ("stewart_free", 20, 26, {"spherical": 6, "universal": 0}, 6),
        ("excavator", 25, 34, {"spherical": 0, "universal": 0}, 8),
        ("kangaroo", 78, 101, {"spherical": 16, "universal": 8}, 12),
        ("kangaroo_published", 74, 101, {"spherical": 28, "universal": 0}, 12),
        ("go2", 17, 16, {"spherical": 0, "universal": 0}, 12),
        ("panda", 11, 11, {"spherical": 0, "universal": 0}, 8),
    ],
)
def test_record_counts(name: str, bodies: int, joints: int, kinds: dict[str, int], ports: int) -> None:
    mechanism = load(name)
    assert (len(mechanism.bodies), len(mechanism.joints), len(mechanism.ports)) == (bodies, joints, ports)
    assert {kind: sum(j.type is t for j in mechanism.joints) for kind, t in KINDS.items()} == kinds


@pytest.mark.parametrize("name", DIGESTS)
def test_robot_figures_are_those_of_the_source_to_the_last_bit(name: str) -> None:
    mechanism = load(name)
    figures: dict[str, list[float]] = {}
    for body in mechanism.bodies:
        figures[body.name] = [evaluate(x, {}) for x in (body.mass, *body.com, *body.inertia)]
    for joint in mechanism.joints:
        values = [x for p in (joint.a, joint.b) for x in (*sum(p.rotation, ()), *p.translation)]
        axes: tuple[float, ...] = joint.axis if JOINT_SHAPES[joint.type].has_axis else ()
        axes += joint.axis2 if joint.type is JointType.UNIVERSAL else ()
        figures[joint.name] = [evaluate(x, {}) for x in (*values, *axes)]
    lines = [" ".join([key, *((value + 0.0).hex() for value in figures[key])]) for key in sorted(figures)]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] == DIGESTS[name]


@pytest.mark.parametrize(
    ("name", "chords", "tree_nv", "couplings"),
    [
        ("stewart", 5, 21, 0),
        ("stewart_free", 6, 24, 0),
        ("excavator", 9, 23, 0),
        ("kangaroo", 24, 82, 0),
        ("kangaroo_published", 28, 78, 0),
        ("go2", 0, 18, 0),
        ("panda", 0, 9, 1),
    ],
)
def test_derived_structure_of_the_robots(name: str, chords: int, tree_nv: int, couplings: int) -> None:
    topology = derive_topology(load(name))
    assert (len(topology.chords), topology.tree_nv) == (chords, tree_nv)
    assert len(topology.mechanism.couplings) == couplings


def test_excavator_has_32_joint_coordinates() -> None:
    assert sum(JOINT_SHAPES[joint.type].nq for joint in load("excavator").joints) == 32


def test_floating_bases_stand_where_the_records_say() -> None:
    for name, height in (("kangaroo", 0.83), ("kangaroo_published", 0.83), ("go2", 0.27)):
        mechanism = load(name)
        assert [(base.body, base.translation) for base in mechanism.reference.bases] == [
            ("base_link", (0.0, 0.0, height))
        ]
        assert all(joint.type is not JointType.FREE for joint in mechanism.joints)
        assert [component.free_joint for component in derive_topology(mechanism).components] == ["base_link_free"]


def test_go2_lists_every_stance_of_two_to_four_feet() -> None:
    feet = ("FL", "FR", "RL", "RR")
    supports = {support.name: dict(support.contacts) for support in load("go2").supports}
    chosen = [[foot for i, foot in enumerate(feet) if bits >> i & 1] for bits in range(16)]
    wanted = {
        "_".join(stance): {f"{foot}_contact": "point" for foot in stance} for stance in chosen if len(stance) >= 2
    }
    assert supports == wanted
    assert len(wanted) == 11


def test_kangaroo_stands_on_welded_soles() -> None:
    supports = {support.name: dict(support.contacts) for support in load("kangaroo").supports}
    left, right = {"left_sole": "weld"}, {"right_sole": "weld"}
    assert supports == {"left": left, "right": right, "double": left | right}


def test_stewart_closes_at_its_reference() -> None:
    poses, gaps = closes(with_balls(load("stewart"), "platform"))
    assert len(gaps) == 5
    assert max(g.metres for g in gaps) < 1e-9
    assert max(g.radians for g in gaps) < 1e-9
    np.testing.assert_allclose(poses["platform"], pose(np.eye(3), np.array([0.0, 0.0, 0.6])), atol=1e-9)


def test_excavator_closes_at_its_reference() -> None:
    _, gaps = closes(load("excavator"))
    assert len(gaps) == 9
    assert max(g.metres for g in gaps) < 1e-9
    assert max(g.radians for g in gaps) < 1e-9


@pytest.mark.parametrize("name", TEACHING)
def test_teaching_model_records_every_coordinate_of_an_assembled_pose(name: str) -> None:
    mechanism = load(name)
    assert all(reference(mechanism, joint) is not None for joint in mechanism.joints)
    _, gaps = closes(mechanism)
    assert len(gaps) == len(mechanism.joints) - len(mechanism.bodies) > 0
    assert max(g.metres for g in gaps) < 1e-12
    assert max(g.radians for g in gaps) < 1e-12
    assert mechanism.frames


@pytest.mark.parametrize(("name", "case"), [("fourbar", "c01"), ("rssr", "c21"), ("delta", "c23")])
def test_teaching_model_has_the_records_of_its_case(name: str, case: str) -> None:
    """So that the known answers of the case hold for the model."""
    records = yaml.safe_load((ROOT / "tests" / "data" / "cases" / f"{case}.yaml").read_text())["model"]
    model = yaml.safe_load((ROOT / "models" / f"{name}.yaml").read_text())
    assert model["bodies"] == records["bodies"]
    physical = ("type", "a", "b", "axis")
    joints = {key: {k: v for k, v in joint.items() if k in physical} for key, joint in model["joints"].items()}
    assert joints == records["joints"]


@pytest.mark.parametrize("name", ["kangaroo", "kangaroo_published"])
def test_kangaroo_closes_exactly_with_every_coordinate_at_zero(name: str) -> None:
    mechanism = load(name)
    _, gaps = closes(replace(mechanism, reference=replace(mechanism.reference, coordinates=())))
    assert len(gaps) == (24 if name == "kangaroo" else 28)
    assert max(g.metres for g in gaps) < 1e-15
    assert max(g.radians for g in gaps) < 1e-15


@pytest.mark.parametrize(("name", "worst"), [("kangaroo", 3.824e-4), ("kangaroo_published", 3.917e-4)])
def test_kangaroo_reference_is_a_seed_beside_an_assembled_pose(name: str, worst: float) -> None:
    """The source's simulation holds its loops softly (0.4 mm); only the unrecorded ankle balls are far off."""
    mechanism = load(name)
    _, gaps = closes(mechanism)
    assert max(g.metres for g in gaps) == pytest.approx(worst, rel=1e-3)
    skewed = {g.joint for g in gaps if g.radians > 2e-3}
    ankles = {f"{side}_ankle_{i}_closed" for side in ("left", "right") for i in (4, 5)}
    assert skewed == (ankles if name == "kangaroo" else set())


@pytest.mark.parametrize(
    ("name", "speeds"),
    [
        ("fourbar", 1), ("slider_crank", 1), ("five_bar", 2), ("delta", 9), ("rssr", 2), ("parallel_ankle", 2),
        ("crane", 3), ("stewart", 6), ("excavator", 7), ("go2", 18), ("panda", 8),
    ],
)  # fmt: skip
def test_mobility_in_maximal_coordinates(name: str, speeds: int) -> None:
    mechanism = load(name)
    found, kept, dropped = mobility(with_balls(mechanism, "platform") if name == "stewart" else mechanism)
    assert found == speeds
    assert kept > 1e3 * max(dropped, 1e-12), "the rank is not clear"
