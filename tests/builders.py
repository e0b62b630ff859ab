"""Small builders of mechanisms from the record dataclasses, and a hypothesis strategy of random ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import (
    WORLD,
    Body,
    CoordinateSum,
    Joint,
    Mechanism,
    Placement,
    Port,
)


def joint(name: str, kind: str, a: str, b: str, **fields: Any) -> Joint:
    """A joint of type `kind` between the origins of two bodies."""
    return Joint(name, JointType(kind), Placement(a), Placement(b), **fields)


def damped(name: str, kind: str, a: str, b: str, damping: float = 0.5) -> Joint:
    """A joint with the same damping on each of its velocities."""
    return joint(name, kind, a, b, damping=(damping,) * JOINT_SHAPES[JointType(kind)].nv)


def port(name: str, *coordinates: str) -> Port:
    """A port on the sum of `coordinates`."""
    return Port(name, CoordinateSum(tuple((coordinate, 1.0) for coordinate in coordinates)))


def mechanism(*joints: Joint, bodies: dict[str, float] | None = None, **fields: Any) -> Mechanism:
    """A mechanism of `joints`; bodies that only occur in joints weigh 1 kg, `bodies` gives other masses and bodies."""
    masses = {place.body: 1.0 for item in joints for place in (item.a, item.b) if place.body != WORLD}
    masses.update(bodies or {})
    records = tuple(Body(name, mass) for name, mass in masses.items())
    return Mechanism("test", bodies=records, joints=tuple(joints), **fields)


def fourbar(kind: str = "revolute") -> Mechanism:
    """Crank, coupler and rocker on the world, with a motor on the crank; `kind` is the type of the rocker's tip."""
    return mechanism(
        joint("j_crank", "revolute", WORLD, "crank"),
        joint("j_coupler", "revolute", "crank", "coupler"),
        joint("j_tip", kind, "coupler", "rocker"),
        joint("j_rocker", "revolute", WORLD, "rocker"),
        ports=(port("motor", "j_crank"),),
    )


def robot(name: str) -> Mechanism:
    """The graph (no geometry) of a published robot: stewart, excavator, kangaroo_full or kangaroo_published."""
    data = json.loads((Path(__file__).parent / "data" / "graph_robots.json").read_text(encoding="utf-8"))[name]
    joints = tuple((damped if drives else joint)(n, kind, a, b) for n, kind, a, b, drives in data["joints"])
    bodies = tuple(Body(body, mass) for body, mass in data["bodies"])
    return Mechanism(name, bodies=bodies, joints=joints, ports=tuple(port(n, c) for n, c in data["ports"]))


@st.composite
def mechanisms(draw: st.DrawFn, max_bodies: int = 7, max_joints: int = 12, kinds: tuple[str, ...] = ()) -> Mechanism:
    """Random multigraphs: parallel joints, several components, lone bodies, ports and damping here and there."""
    types = kinds or tuple(kind.value for kind in JointType)
    names = [f"b{index}" for index in range(draw(st.integers(1, max_bodies)))]
    nodes = [WORLD, *names]
    joints: list[Joint] = []
    labels = draw(st.permutations(range(max_joints)))
    for label in labels[: draw(st.integers(0, max_joints))]:
        a = draw(st.integers(0, len(nodes) - 1))
        b = (a + draw(st.integers(1, len(nodes) - 1))) % len(nodes)
        build = damped if draw(st.integers(0, 4)) == 0 else joint
        joints.append(build(f"j{label}", draw(st.sampled_from(types)), nodes[a], nodes[b]))
    masses = {name: float(draw(st.integers(1, 3))) for name in names}
    scalar = [item.name for item in joints if JOINT_SHAPES[item.type].nv == 1]
    ports = tuple(port(f"p{index}", name) for index, name in enumerate(scalar[:2]) if draw(st.booleans()))
    return mechanism(*joints, bodies=masses, ports=ports)
