"""Visual geometry of imported files: the table, where the engines' own readers place it, and what is told of faults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from import_engines import tree_of
from import_support import imported
from numpy.typing import NDArray
from visual_cases import CORNERS, VOLUME, obj_text, places, stl_bytes, stl_text, volume, write

from robocompiler.importers.transforms import Transform
from robocompiler.importers.visuals import (
    MeshFile,
    Visual,
    VisualBox,
    VisualCapsule,
    VisualCylinder,
    VisualEllipsoid,
    Visuals,
)
from robocompiler.oracle.mujoco_adapter import MujocoModel
from robocompiler.oracle.pinocchio_adapter import PinocchioModel
from robocompiler.viewer.visuals import drawn_visuals, primitive

Array = NDArray[np.float64]
Poses = Mapping[str, tuple[Array, Array]]
INERTIAL = '<inertial mass="1" pos="0 0 0.1" diaginertia=".1 .1 .1"/>'

MJCF = f"""<mujoco model="drawn">
<compiler angle="degree" meshdir="assets"/>
<default>
  <geom group="2"/>
  <default class="arm"><geom type="capsule" size="0.05 0.2" rgba="1 0 0 1"/><mesh scale="2 2 2"/>
    <default class="hit"><geom group="3"/></default></default>
</default>
<asset>
  <material name="green" rgba="0 1 0 0.5"/>
  <mesh file="tet.stl"/>
  <mesh name="big" class="arm" file="tet.obj" refpos="0.1 0.2 0.3" refquat="0.9 0.1 0.2 0.3"/>
  <mesh name="odd" file="tet.stl" scale="1 -2 3"/>
</asset>
<worldbody>
  <geom name="floor" type="plane" size="1 1 1"/>
  <geom name="post" type="box" size=".1 .2 .3" pos="1 2 3" euler="10 20 30"/>
  <body name="upper" pos="0 0 1" childclass="arm"><joint name="hip" axis="0 1 0"/>{INERTIAL}
    <geom name="bar" fromto="0 0 0 0.1 0.2 0.3"/>
    <geom name="across" quat="1 1 0 0" material="green" rgba=".1 .2 .3 1"/>
    <geom name="ball" class="main" type="sphere" size="0.07" material="green"/>
    <frame pos="0.1 0.2 0.3" euler="0 0 90">
      <geom name="tet" type="mesh" mesh="tet" class="main" pos="1 0 0"/>
      <geom name="brick" type="box" size=".1 .2" fromto="0 0 0 0 1 0"/>
    </frame>
    <geom name="bumper" class="hit"/>
    <body name="plate" pos="0 0 0.5" axisangle="1 0 0 30">{INERTIAL}
      <geom name="big" type="mesh" mesh="big" euler="5 6 7"/>
      <geom name="odd" type="mesh" mesh="odd"/>
      <body name="tip" pos="0.1 0 0"><joint name="slide" type="slide"/><joint name="turn" axis="1 0 0"/>{INERTIAL}
        <geom name="egg" type="ellipsoid" size=".1 .2 .3" pos="0 0.1 0"/>
        <geom name="tube" type="cylinder" size=".1 .4"/>
      </body>
    </body>
  </body>
</worldbody>
</mujoco>"""


def label(visual: Visual) -> str:
    """The name in the last pair of quotes of the record."""
    return visual.record.rsplit("'", 2)[1]


def by_label(table: Visuals) -> dict[str, Visual]:
    found = {label(item): item for item in table.items}
    assert len(found) == len(table.items)
    return found


def placed(visual: Visual, poses: Poses) -> tuple[Array, Array]:
    """(R, p) of a visual in the world."""
    R, p = poses.get(visual.body, (np.eye(3), np.zeros(3)))
    return R @ np.array(visual.pose.rotation), R @ np.array(visual.pose.translation) + p


def test_geoms_stand_where_mujoco_has_them(tmp_path: Path) -> None:
    mujoco: Any = pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile")
    write(tmp_path / "assets/tet.stl", stl_bytes())
    write(tmp_path / "assets/tet.obj", obj_text())
    found = imported(tmp_path, MJCF, "robot.xml")
    assert found.visuals.notes == ()
    drawn = drawn_visuals(found.visuals)
    assert drawn.notes == ()
    assert drawn.covered == {"world", "upper", "plate", "tip"}

    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data = mujoco.MjData(theirs)
    ours = MujocoModel(tree_of(found.mechanism))
    values = {"hip": 0.4, "slide": -0.2, "turn": 0.9}
    q = np.array(ours.model.qpos0)
    for slot in ours.slots:
        q[slot.q] = values[slot.branch.joint.name]
    data.qpos[:] = list(values.values())
    mujoco.mj_kinematics(theirs, data)
    poses = ours.body_poses(q)

    shown = {theirs.geom(k).name for k in range(theirs.ngeom)} - {"floor", "bumper"}
    assert set(by_label(found.visuals)) == shown
    meshes = 0
    for visual, item in zip(found.visuals.items, drawn.items, strict=True):
        geom = theirs.geom(label(visual))
        world, there = data.geom(geom.id).xmat.reshape(3, 3), data.geom(geom.id).xpos
        R, p = placed(visual, poses)
        if isinstance(visual.shape, MeshFile):  # MuJoCo moves a mesh to its principal axes: its corners tell
            k = geom.dataid[0]
            corners = theirs.mesh_vert[theirs.mesh_vertadr[k] :][: theirs.mesh_vertnum[k]].astype(float)
            base, origin = poses[visual.body]
            own = places(item.mesh.vertices @ base.T + origin)
            np.testing.assert_allclose(own, places(corners @ world.T + there), atol=2e-6)
            assert volume(item.mesh) > 0  # mirrored ones, too, face outward
            meshes += 1
        else:
            np.testing.assert_allclose(R, world, atol=1e-12)
            np.testing.assert_allclose(p, there, atol=1e-12)
            np.testing.assert_allclose(half_sizes(visual), geom.size[: len(half_sizes(visual))], atol=1e-15)
    assert meshes == 3


def half_sizes(visual: Visual) -> list[float]:
    """MuJoCo's sizes of a shape."""
    shape = visual.shape
    if isinstance(shape, VisualBox):
        return [edge / 2 for edge in shape.size]
    if isinstance(shape, VisualEllipsoid):
        return list(shape.radii) if len(set(shape.radii)) > 1 else [shape.radii[0]]
    assert isinstance(shape, VisualCapsule | VisualCylinder)
    return [shape.radius, shape.length / 2]


def test_geoms_have_the_colours_of_their_classes_and_materials(tmp_path: Path) -> None:
    found = by_label(imported(tmp_path, MJCF, "robot.xml").visuals)
    assert found["bar"].rgba == (1, 0, 0, 1)
    assert found["across"].rgba == (0.1, 0.2, 0.3, 1)
    assert found["ball"].rgba == (0, 1, 0, 0.5)
    assert found["post"].rgba is None
    assert found["tube"].line == MJCF[: MJCF.index('name="tube"')].count("\n") + 1


URDF = """<robot name="drawn">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base"><visual name="foot"><origin xyz="0 0 0.05" rpy="0.1 0.2 0.3"/>
    <geometry><box size="0.2 0.3 0.1"/></geometry><material name="blue"/></visual></link>
  <link name="bracket"><visual name="can"><origin xyz="0.1 0 0"/>
    <geometry><cylinder radius="0.03" length="0.2"/></geometry>
    <material name=""><color rgba="1 1 0 0.5"/></material></visual></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual name="tet"><origin xyz="0 0.1 0.2" rpy="0 1 0"/>
      <geometry><mesh filename="package://drawn/meshes/tet.stl" scale="1 2 3"/></geometry></visual>
    <visual name="knob"><geometry><sphere radius="0.04"/></geometry></visual></link>
  <link name="flange"><visual name="pin"><origin rpy="1.5 0 0"/>
    <geometry><cylinder radius="0.01" length="0.1"/></geometry></visual></link>
  <joint name="mount" type="fixed"><parent link="base"/><child link="bracket"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/></joint>
  <joint name="elbow" type="revolute"><parent link="bracket"/><child link="arm"/>
    <origin xyz="0 0 0.4" rpy="0 0.5 0"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="weld" type="fixed"><parent link="arm"/><child link="flange"/><origin xyz="0.5 0 0" rpy="0 0 1"/></joint>
</robot>"""


def test_visuals_stand_where_pinocchio_has_them_also_on_links_that_fixed_joints_lump(tmp_path: Path) -> None:
    pin: Any = pytest.importorskip("pinocchio", reason="a package of the verify extra, not needed to compile")
    mesh = write(tmp_path / "drawn/meshes/tet.stl", stl_bytes())
    found = imported(write(tmp_path / "drawn/urdf/.keep", "").parent, URDF)
    assert found.visuals.notes == ()
    model = pin.buildModelFromXML(URDF)
    shapes = pin.buildGeomFromUrdfString(model, URDF, pin.GeometryType.VISUAL, package_dirs=[str(tmp_path)])
    data, places_of_shapes = model.createData(), shapes.createData()
    q = np.array([0.7])
    pin.forwardKinematics(model, data, q)
    pin.updateGeometryPlacements(model, data, shapes, places_of_shapes)

    ours = PinocchioModel(found.mechanism)
    poses = ours.body_poses(q)
    counts: dict[str, int] = {}
    assert [item.body for item in found.visuals.items] == ["base", "bracket", "arm", "arm", "flange"]
    for visual in found.visuals.items:
        k = counts[visual.body] = counts.get(visual.body, -1) + 1
        there = places_of_shapes.oMg[shapes.getGeometryId(f"{visual.body}_{k}")]
        R, p = placed(visual, poses)
        np.testing.assert_allclose(R, there.rotation, atol=1e-12)
        np.testing.assert_allclose(p, there.translation, atol=1e-12)
    tet = shapes.geometryObjects[shapes.getGeometryId("arm_0")]
    assert Path(tet.meshPath).samefile(mesh)
    np.testing.assert_array_equal(tet.meshScale, (1, 2, 3))
    drawn = drawn_visuals(found.visuals)
    assert drawn.notes == ()
    assert volume(drawn.items[2].mesh) == pytest.approx(6 * VOLUME)
    assert [(item.colour, item.opacity) for item in drawn.items[:2]] == [("#0000ff", 1.0), ("#ffff00", 0.5)]


SDF = """<sdf version="1.9"><world name="w"><include><uri>model://rig</uri><pose>1 2 3 0 0 0.5</pose></include>
<model name="table"><static>true</static><link name="top"><pose>0 0 0.7 0 0 0</pose>
  <visual name="board"><geometry><box><size>1 2 0.1</size></box></geometry></visual>
  <visual name="ground"><geometry><plane><normal>0 0 1</normal></plane></geometry></visual></link></model>
</world></sdf>"""
RIG = """<sdf version="1.9"><model name="rig">
  <frame name="tool" attached_to="arm"><pose relative_to="arm">0.1 0.2 0.3 0 0.5 0</pose></frame>
  <link name="post"><visual name="bar"><pose>0 0 0.5 0 0 0</pose>
    <geometry><cylinder><radius>0.1</radius><length>1</length></cylinder></geometry></visual></link>
  <link name="arm"><pose relative_to="post">0 0 1 0.4 0 0</pose>
    <visual name="tet"><pose relative_to="tool">0.01 0 0 0 0 0.2</pose>
      <geometry><mesh><uri>meshes/tet.stl</uri><scale>2 2 2</scale></mesh></geometry>
      <material><diffuse>0 0.5 1 1</diffuse></material><transparency>0.25</transparency></visual>
    <visual name="egg"><pose relative_to="post">0 0 1 0.4 0 0</pose>
      <geometry><ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid></geometry></visual>
    <visual name="rod"><geometry><capsule><radius>0.01</radius><length>0.3</length></capsule></geometry></visual></link>
  <joint name="elbow" type="revolute"><parent>post</parent><child>arm</child><axis><xyz>1 0 0</xyz></axis></joint>
</model></sdf>"""


def rotation(axis: int, angle: float) -> Array:
    """About a coordinate axis; written out here, so that nothing of the importer is used."""
    c, s = np.cos(angle), np.sin(angle)
    u, v = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[u, u], R[u, v], R[v, u], R[v, v] = c, -s, s, c
    return R


def test_sdf_visuals_are_relative_to_what_they_name_and_lie_beside_their_own_file(tmp_path: Path) -> None:
    write(tmp_path / "rig/model.sdf", RIG)
    write(tmp_path / "rig/meshes/tet.stl", stl_text())
    found = imported(tmp_path, SDF, "world.sdf")
    assert found.visuals.notes == ()
    visuals = by_label(found.visuals)
    assert {name: item.body for name, item in visuals.items()} == {
        "bar": "rig/post", "tet": "rig/arm", "egg": "rig/arm", "rod": "rig/arm", "board": "table/top",
    }  # fmt: skip
    # tool in the arm, then the visual in the tool
    tool = rotation(1, 0.5)
    np.testing.assert_allclose(visuals["tet"].pose.rotation, tool @ rotation(2, 0.2), atol=1e-15)
    np.testing.assert_allclose(visuals["tet"].pose.translation, tool @ [0.01, 0, 0] + [0.1, 0.2, 0.3], atol=1e-15)
    # the pose in the post is the arm's own
    np.testing.assert_allclose(visuals["egg"].pose.rotation, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(visuals["egg"].pose.translation, np.zeros(3), atol=1e-15)
    np.testing.assert_allclose(visuals["bar"].pose.translation, (0, 0, 0.5), atol=0)
    assert visuals["rod"].pose == Transform()
    assert visuals["tet"].rgba == (0, 0.5, 1, 0.75)
    assert visuals["tet"].file == str((tmp_path / "rig/model.sdf").resolve())
    drawn = drawn_visuals(found.visuals)
    assert drawn.notes == ()
    assert drawn.covered == {"rig/post", "rig/arm", "table/top"}
    corners = drawn.items[[label(item) for item in found.visuals.items].index("tet")].mesh.vertices
    expected = (2 * CORNERS) @ (tool @ rotation(2, 0.2)).T + tool @ [0.01, 0, 0] + [0.1, 0.2, 0.3]
    np.testing.assert_allclose(places(corners), places(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (VisualBox((0.2, 0.3, 0.4)), [(0.2, 0.3, 0.4), 0.024, 1e-12]),
        (VisualCylinder(0.1, 0.5), [(0.2, 0.2, 0.5), np.pi * 0.005, 0.03]),
        (VisualCapsule(0.1, 0.5), [(0.2, 0.2, 0.7), np.pi * (0.005 + 4e-3 / 3), 0.03]),
        (VisualEllipsoid((0.1, 0.2, 0.3)), [(0.2, 0.4, 0.6), 4 / 3 * np.pi * 6e-3, 0.06]),
    ],
    ids=["box", "cylinder", "capsule", "ellipsoid"],
)
def test_primitives_stand_about_their_origin(shape: Any, expected: list[Any]) -> None:
    mesh = primitive(shape)
    extent, content, tolerance = expected
    np.testing.assert_allclose(mesh.vertices.max(axis=0), np.array(extent) / 2, rtol=0.02)
    np.testing.assert_allclose(mesh.vertices.min(axis=0), -np.array(extent) / 2, rtol=0.02)
    assert volume(mesh) == pytest.approx(content, rel=tolerance)


def visual(geometry: str, more: str = "") -> str:
    return f"<visual>{more}<geometry>{geometry}</geometry></visual>"


def test_a_faulty_visual_is_told_with_its_line_and_refuses_nothing(tmp_path: Path) -> None:
    faults = [
        (visual('<box size="0.1 0.2"/>'), "'size' needs 3 numbers"),
        (visual('<sphere radius="-1"/>'), "'radius' must be positive"),
        (visual('<cylinder radius="0.1"/>'), "'length' is missing"),
        (visual('<torus radius="0.1"/>'), "<torus> is not drawn"),
        (visual('<mesh filename="a.stl" scale="1 0 1"/>'), "'scale' must not be 0"),
        (visual("<mesh/>"), "'filename' is missing"),
        ("<visual/>", "<geometry> is missing"),
        (visual('<sphere radius="1"/>', '<origin xyz="0 nan 0"/>'), "not a finite number"),
    ]
    links = "\n".join(f'<link name="l{k}">{text}</link>' for k, (text, _) in enumerate(faults))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l0"/><child link="l{k}"/></joint>'
        for k in range(1, len(faults))
    )
    good = '<link name="good"><visual><geometry><sphere radius="1"/></geometry></visual></link>'
    tie = '<joint name="tie" type="fixed"><parent link="l0"/><child link="good"/></joint>'
    found = imported(tmp_path, f'<robot name="r">\n{links}\n{good}{joints}{tie}</robot>')
    assert [note.line for note in found.visuals.notes] == list(range(2, 2 + len(faults)))
    for note, (_, words) in zip(found.visuals.notes, faults, strict=True):
        assert words in note.message
        assert note.file.endswith("robot.urdf")
    assert [item.body for item in found.visuals.items] == ["good"]
    assert found.visuals.incomplete == {f"l{k}" for k in range(len(faults))}
    assert drawn_visuals(found.visuals).covered == {"good"}


def test_faulty_geoms_and_sdf_visuals_are_told_and_refuse_nothing(tmp_path: Path) -> None:
    geoms = [
        ('<geom type="box" size="1 1"/>', "'size' needs 3 positive numbers"),
        ('<geom type="mesh" mesh="tot"/>', "did you mean 'tet'"),
        ('<geom type="sphere" mesh="tet" mass="0"/>', "a sphere that is fitted"),
        ('<geom type="mesh" mesh="inline"/>', "not in a file of its own"),
    ]
    text = "\n".join(geom for geom, _ in geoms)
    model = (
        '<mujoco><asset><mesh name="tet" file="tet.stl"/>'
        '<mesh name="inline" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
        f'<worldbody><body name="b"><joint/>{INERTIAL}\n{text}\n</body></worldbody></mujoco>'
    )
    found = imported(tmp_path, model, "robot.xml")
    assert [note.line for note in found.visuals.notes] == [2, 3, 4, 5]
    for note, (_, words) in zip(found.visuals.notes, geoms, strict=True):
        assert words in note.message

    sdf = (
        '<sdf version="1.9"><model name="m"><link name="l"><visual name="v">'
        '<pose relative_to="nobody">0 0 0 0 0 0</pose>'
        "<geometry><sphere><radius>1</radius></sphere></geometry></visual></link>"
        '<joint name="j" type="revolute"><parent>world</parent><child>l</child><axis><xyz>1 0 0</xyz></axis></joint>'
        "</model></sdf>"
    )
    found = imported(tmp_path, sdf, "robot.sdf")
    assert [note.message for note in found.visuals.notes] == ["no link, joint or frame is called 'nobody'"]
    assert found.visuals.items == ()
    assert found.visuals.incomplete == {"l"}
