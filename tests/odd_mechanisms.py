"""Small mechanisms at the edges of the generated code: empty sizes, every joint type as a chord, hostile names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from builders import damped, joint, mechanism, port

from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, Mechanism, NamedFrame, Placement
from robocompiler.records.reader import mechanism_from_dict

EDGE = {"mass": 1.0, "inertia": [0.1, 0.1, 0.1, 0, 0, 0]}
Y = [0, -1, 0]


def _read(name: str, bodies: list[str], joints: dict[str, object], **more: object) -> Mechanism:
    data = {"robocompiler": 1, "name": name, "bodies": dict.fromkeys(bodies, EDGE), "joints": joints, **more}
    return mechanism_from_dict(data)


def tree() -> Mechanism:
    """No chord and no closure row at all."""
    return _read("tree", ["arm"], {"hinge": {"type": "revolute", "a": "world", "b": "arm", "axis": Y}})


def rock() -> Mechanism:
    """Not a single coordinate."""
    return _read("rock", ["stone"], {"glue": {"type": "fixed", "a": "world", "b": "stone"}})


def truss() -> Mechanism:
    """Three bars that make a triangle: one loop, no freedom."""
    return _read(
        "truss",
        ["left", "right"],
        {
            "foot": {"type": "revolute", "a": "world", "b": "left", "axis": Y},
            "top": {"type": "revolute", "a": {"body": "left", "xyz": [1, 0, 0]}, "b": "right", "axis": Y},
            "heel": {
                "type": "revolute", "a": {"body": "right", "xyz": [1, 0, 0]}, "b": {"body": "world", "xyz": [1, 0, 0]},
                "axis": Y,
            },
        },
        reference={"joints": {"foot": 1.0471975511965976, "top": -2.0943951023931953, "heel": 1.0471975511965976}},
    )  # fmt: skip


def couplings() -> Mechanism:
    """Coordinates bound by a gear and a cam; no loop of joints."""
    slide = {"type": "prismatic", "a": "world", "axis": [1, 0, 0]}
    return _read(
        "coupled",
        ["a", "b", "c"],
        {"first": {**slide, "b": "a"}, "second": {**slide, "b": "b"}, "third": {**slide, "b": "c"}},
        couplings={
            "gear": {"terms": {"first": 1, "second": -2}, "constant": 0.1},
            "cam": {"expression": "third - 0.3*first**2"},
        },
        ports={"motor": {"joint": "first"}},
        reference={"joints": {"first": 0.3, "second": 0.2, "third": 0.027}},
    )


def doubled() -> Mechanism:
    """Each body carried by two joints of the same type in the same place: chords without any dependent."""
    joints = []
    for kind in JointType:
        joints += [joint(f"{kind.value}_{n}", kind.value, WORLD, f"on_{kind.value}") for n in (1, 2)]
    return dataclasses.replace(mechanism(*joints), name="doubled")


def chords() -> Mechanism:
    """Each joint type once as a chord beside a free joint that is kept in the tree by its damping."""
    joints = []
    for kind in JointType:
        joints.append(damped(f"fly_{kind.value}", "free", WORLD, f"on_{kind.value}"))
        joints.append(joint(f"cut_{kind.value}", kind.value, WORLD, f"on_{kind.value}"))
    return dataclasses.replace(mechanism(*joints), name="chords")


def motors() -> Mechanism:
    """Two motors in one loop and motors on both ends of a rigid pair: ported chords, which are kept."""
    return dataclasses.replace(
        mechanism(
            joint("first", "revolute", WORLD, "arm"),
            joint("second", "revolute", WORLD, "arm"),
            joint("third", "revolute", "arm", WORLD),
            ports=(port("m1", "first"), port("m2", "second"), port("m3", "third")),
        ),
        name="motors",
    )


HOSTILE_BODIES = (
    "int", "a.b/c-d e", "9lives", "sin", "Sin", "SIN", "double", "NAN", "main", "-", "/", "//", "_", "__", "X", "X_X2D",
    "world.", "NQ", "OK", "E", "part", "entries", "status",
)  # fmt: skip
HOSTILE_JOINTS = (
    "double", "J", "j", "x.y", "x_y", "x-y", "x/y", "x y", "q", "K", "M", "p", "for", "cos", "r", "J_1", "i",
    "template", "0", "1e5", "R", "u", "v",
)  # fmt: skip


def hostile(name: str = "3 legs") -> Mechanism:
    """Names that are keywords, functions, macros, numbers, or the same but for their case."""
    assert len(HOSTILE_BODIES) == len(HOSTILE_JOINTS)
    pairs = zip(HOSTILE_BODIES, HOSTILE_JOINTS, strict=True)
    joints = [joint(label, "revolute", WORLD, body) for body, label in pairs]
    joints.append(joint("class", "spherical", WORLD, "int"))
    frames = tuple(NamedFrame(n, Placement("int")) for n in ("frame", "FRAME", "volatile/"))
    return dataclasses.replace(mechanism(*joints, frames=frames), name=name)


def named(name: str) -> Mechanism:
    """A loop with one freedom in a robot of that name."""
    joints = (joint("a", "revolute", WORLD, "arm"), joint("b", "revolute", "arm", WORLD))
    return dataclasses.replace(mechanism(*joints), name=name)


ROBOT_NAMES = (
    "double", "3 legs", "math", "stdio", "test", "all", "selftest", "K", "a/b.c-d", "r", "NAN", "class", "main", "X",
)  # fmt: skip

ODD: dict[str, Callable[[], Mechanism]] = {
    f.__name__: f for f in (tree, rock, truss, couplings, doubled, chords, motors, hostile)
}


def four_bar(link: object = 1.0, **more: object) -> Mechanism:
    """The four-bar of models/fourbar.yaml with its coupler's length and a coupling left open (parameters go here)."""
    return _read(
        "linkage",
        ["crank", "coupler", "rocker", "gear"],
        {
            "j_ga": {"type": "revolute", "a": "world", "b": "crank", "axis": Y},
            "j_ab": {"type": "revolute", "a": {"body": "crank", "xyz": [0.3, 0, 0]}, "b": "coupler", "axis": Y},
            "j_bc": {
                "type": "revolute", "a": {"body": "coupler", "xyz": [link, 0, 0]},
                "b": {"body": "rocker", "xyz": [0.6, 0, 0]}, "axis": Y,
            },
            "j_cg": {"type": "revolute", "a": "rocker", "b": {"body": "world", "xyz": [0.9, 0, 0]}, "axis": Y},
            "j_gear": {"type": "revolute", "a": "world", "b": "gear", "axis": Y},
        },
        frames={"point": {"body": "coupler", "xyz": [0.5, 0, 0.2]}},
        ports={"motor": {"joint": "j_ga"}},
        scales={"length": 1.0},
        **more,
    )  # fmt: skip
