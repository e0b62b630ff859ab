"""The bodies and joints of an MJCF as a tree with resolved values, before anything becomes a record.

Bodies stand in MuJoCo's order: depth first, as in the file.  So do joints, which is the order of qpos.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from robocompiler.importers.draft import Draft
from robocompiler.importers.log import ASSUMED, RENAMED, ImportLog
from robocompiler.importers.mjcf_defaults import Defaults
from robocompiler.importers.mjcf_orientation import KEYS, pose_of
from robocompiler.importers.mjcf_settings import Settings
from robocompiler.importers.transforms import AXES, UNMOVED, Transform, shortest_rotation
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD, Vector3
from robocompiler.records.names import shown
from robocompiler.records.rotations import unit_direction

_EXPANDING = {
    "replicate": "copies its content",
    "attach": "inserts another model",
    "composite": "makes bodies and joints",
}
_KINDS = ("hinge", "slide", "ball", "free")
_SHAPES = "geoms, which a mechanism needs only for inertias"
_NOT_READ = {
    "camera": "cameras and lights", "light": "cameras and lights", "flexcomp": "flexible bodies (flexcomp)",
    "plugin": "plugins of bodies",
}  # fmt: skip


@dataclass(frozen=True)
class TreeJoint:
    """A joint: its legal name, kind, resolved values, position, axis and reference value (rad or m) in the body."""

    name: str
    kind: str
    values: Values
    pos: Vector3
    axis: Vector3
    ref: float


@dataclass(frozen=True)
class TreeGeom:
    """A geom: its resolved values, and the pose of the enclosing frame in its body."""

    values: Values
    frame: Transform


@dataclass(frozen=True)
class TreeBody:
    """A body: legal name, parent, pose in it, world pose at qpos0, and what stands inside it with resolved values."""

    name: str
    source_name: str
    element: Element
    parent: str
    pose: Transform
    world: Transform
    joints: tuple[TreeJoint, ...] = ()
    geoms: tuple[TreeGeom, ...] = ()
    inertial: Element | None = None
    inertial_frame: Transform = UNMOVED


@dataclass(frozen=True)
class Site:
    """A site: its name in the file, its body, and its pose there."""

    name: str
    body: str
    pose: Transform
    line: int | None


@dataclass
class Tree:
    """All of it.  `joints` and `sites` are by their names in the file, `worlds` are poses at qpos0 by legal name.

    ground: geoms of the world.
    """

    draft: Draft
    settings: Settings
    defaults: Defaults
    bodies: list[TreeBody] = field(default_factory=list)
    joints: dict[str, TreeJoint] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)
    ground: list[TreeGeom] = field(default_factory=list)
    worlds: dict[str, Transform] = field(default_factory=lambda: {WORLD: UNMOVED})

    @property
    def log(self) -> ImportLog:
        """The log of the import."""
        return self.draft.log


@dataclass(frozen=True)
class _Place:
    """Where a child element stands: its body, the pose of the enclosing frame in it, and the active default class."""

    body: str
    frame: Transform
    active: str


@dataclass
class _Content:
    """What one body collects."""

    joints: list[TreeJoint] = field(default_factory=list)
    geoms: list[TreeGeom] = field(default_factory=list)
    inertial: Element | None = None
    inertial_frame: Transform = UNMOVED


def read_tree(root: Element, draft: Draft, settings: Settings, defaults: Defaults) -> Tree:
    """The tree below all <worldbody> elements."""
    tree = Tree(draft, settings, defaults)
    for world in root.all("worldbody"):
        content = _Content()
        _children(tree, world, _Place(WORLD, UNMOVED, world.get("childclass")), UNMOVED, content)
        for joint in content.joints:
            joint.values.problem("the world cannot have joints; put them into a body")
        for geom in content.geoms:
            draft.log.leave_out("geoms of the world", geom.values.line)
        tree.ground += content.geoms
    return tree


def _children(tree: Tree, element: Element, place: _Place, world: Transform, content: _Content) -> None:
    for child in element.children:
        if child.tag == "body":
            _body(tree, child, place, world)
        elif child.tag == "frame":
            own = tree.defaults.values(child, place.active)
            inner = _Place(place.body, place.frame @ pose_of(own, tree.settings), _class(tree, child, place.active))
            _children(tree, child, inner, world, content)
        elif child.tag in ("joint", "freejoint"):
            content.joints.append(_joint(tree, child, place))
        elif child.tag == "geom":
            content.geoms.append(TreeGeom(tree.defaults.values(child, place.active), place.frame))
        elif child.tag == "inertial":
            content.inertial, content.inertial_frame = child, place.frame
        elif child.tag == "site":
            _site(tree, child, place)
        elif child.tag in _EXPANDING:
            tree.log.problem(
                f"<{child.tag}> {_EXPANDING[child.tag]}; save the expanded model first (mujoco.mj_saveLastXML)",
                child.label,
                child.line,
            )
        else:
            tree.log.leave_out(_NOT_READ.get(child.tag, f"<{child.tag}> in bodies"), child.line)


def _class(tree: Tree, element: Element, active: str) -> str:
    return tree.defaults.check(element.get("childclass"), element) or active


def _body(tree: Tree, element: Element, place: _Place, world: Transform) -> None:
    draft, name = tree.draft, element.get("name")
    own = Values(element.attributes, element.label, element.line, tree.log)
    if name:
        legal = draft.declare("bodies", name, element.line, "body")
    else:
        legal = draft.fresh("bodies", f"body_{len(tree.bodies) + 1}")
        tree.log.note(RENAMED, f"a body without a name is {shown(legal)}", legal, element.line)
    own.only("name", "childclass", "mocap", "pos", "gravcomp", "user", "sleep", *KEYS)
    pose = place.frame @ pose_of(own, tree.settings)
    body = TreeBody(legal, name, element, place.body, pose, world @ pose)
    k = len(tree.bodies)
    tree.bodies.append(body)
    tree.worlds[legal] = body.world
    if own.flag("mocap", False):
        tree.log.note(ASSUMED, "a mocap body is fixed where the file has it", element.label, element.line)
    if own.number("gravcomp"):
        tree.log.leave_out("gravcomp of bodies: weights act in full", element.line)
    content = _Content()
    _children(tree, element, _Place(legal, UNMOVED, _class(tree, element, place.active)), world @ pose, content)
    if content.geoms:
        for geom in content.geoms:
            tree.log.leave_out(_SHAPES, geom.values.line)
    tree.bodies[k] = replace(
        body,
        joints=tuple(content.joints),
        geoms=tuple(content.geoms),
        inertial=content.inertial,
        inertial_frame=content.inertial_frame,
    )


def _joint(tree: Tree, element: Element, place: _Place) -> TreeJoint:
    own, name = tree.defaults.values(element, place.active), element.get("name")
    kind = "free" if element.tag == "freejoint" else own.choice("type", _KINDS, "hinge")
    if name:
        legal = tree.draft.declare("joints", name, element.line, "joint")
    else:
        legal = tree.draft.fresh("joints", f"{place.body}_{'free' if kind == 'free' else 'joint'}")
        own = replace(own, record=f"joint of {place.body}")
    pos = place.frame.point(own.vector("pos"))
    raw = own.vector("axis", (0.0, 0.0, 1.0))
    if kind in ("hinge", "slide") and not any(raw):
        own.problem('the zero vector has no direction; give the axis, such as axis="0 0 1"')
        raw = (0.0, 0.0, 1.0)
    axis = Transform(place.frame.rotation).point(raw)
    ref = own.number("ref")
    joint = TreeJoint(legal, kind, own, pos, axis, tree.settings.angle(ref) if kind == "hinge" else ref)
    if name and name not in tree.joints:
        tree.joints[name] = joint
    return joint


def _site(tree: Tree, element: Element, place: _Place) -> None:
    own = tree.defaults.values(element, place.active)
    name = element.get("name")
    if not name:
        tree.log.leave_out("sites without names", element.line)
        return
    pose = place.frame @ (between(own) if "fromto" in own else pose_of(own, tree.settings))
    if name in tree.sites:
        own.problem(f"another site has this name already (line {tree.log.place(tree.sites[name].line)[1]}); rename one")
        return
    tree.sites[name] = Site(name, place.body, pose, element.line)


def between(own: Values) -> Transform:
    """The pose of an element given by two points: in their middle, its z axis from the second to the first."""
    x1, y1, z1, x2, y2, z2 = own.numbers("fromto", (6,), (0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
    axis = unit_direction((x1 - x2, y1 - y2, z1 - z2))
    if axis is None:
        own.problem("'fromto': the two points are one point")
        return UNMOVED
    return Transform(shortest_rotation(AXES["z"], axis), ((x1 + x2) / 2, (y1 + y2) / 2, (z1 + z2) / 2))
