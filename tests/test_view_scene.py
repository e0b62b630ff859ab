"""What the viewer draws: shapes of equal inertia, closed meshes, chords in their module's colour, struts that fit."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robocompiler as rc
from robocompiler.graph.build import derive_topology
from robocompiler.graph.draw_style import PORT_COLOUR
from robocompiler.importers.read_model import read_model
from robocompiler.viewer.meshes import AROUND, Mesh, merged, mesh_of
from robocompiler.viewer.panel import panel_html
from robocompiler.viewer.scene import CHORDS, INERTIAS, PORTS, ModuleMark, Scene, strut_pose
from robocompiler.viewer.serve import scene_of
from robocompiler.viewer.shapes import Ball, Box, Capsule, Cylinder, Pose, Ring, about, inertia_box
from robocompiler.viewer.status import LimitReached, ModulePivot, Status

MODELS = Path(__file__).resolve().parent.parent / "models"
TURNED = Pose((0.1, -0.2, 0.3), tuple(map(tuple, about(np.array([0.6, 0.0, 0.8])).tolist())))  # type: ignore[arg-type]
POLYGON = AROUND / 2 * math.sin(2 * math.pi / AROUND)  # area of the regular polygon in a circle of radius 1


def scene(compiled: Any, name: str) -> tuple[rc.Robot, Scene]:
    robot = compiled(name)
    return robot, scene_of(robot, derive_topology(read_model(MODELS / f"{name}.yaml")))


def poses(robot: rc.Robot, drawn: Scene, q: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {body: robot.pose(body, q) for body in drawn.bodies}


# --- shapes and meshes ---


def test_the_box_of_a_body_has_its_mass_centre_and_inertia() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        edges, mass = rng.uniform(0.05, 1.0, 3), rng.uniform(0.1, 9.0)
        R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        given = R @ np.diag([mass / 12 * (edges @ edges - e * e) for e in edges]) @ R.T
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = given
        box = inertia_box(mass, (1.0, 2.0, 3.0), (xx, yy, zz, xy, xz, yz))
        assert box is not None
        assert box.pose.position == (1.0, 2.0, 3.0)
        axes, size = np.array(box.pose.rotation), np.array(box.size)
        assert np.linalg.det(axes) == pytest.approx(1.0)
        np.testing.assert_allclose(sorted(size), sorted(edges), rtol=1e-6)
        again = axes @ np.diag(mass / 12 * (size @ size - size**2)) @ axes.T
        np.testing.assert_allclose(again, given, atol=1e-9 * mass)


def test_bodies_without_extent_get_no_box_and_a_thin_rod_gets_one() -> None:
    assert inertia_box(0.0, (0, 0, 0), (1.0, 1.0, 1.0, 0, 0, 0)) is None
    assert inertia_box(2.0, (0, 0, 0), (0.0,) * 6) is None
    rod = inertia_box(1.2, (0, 0, 0), (0.0, 0.1, 0.1, 0, 0, 0))
    assert rod is not None
    np.testing.assert_allclose(sorted(rod.size), [0.0, 0.0, 1.0], atol=1e-7)


def volume(mesh: Mesh) -> float:
    """By the divergence theorem; positive only where the triangles face outward."""
    corners = mesh.vertices[mesh.faces]
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6)


def rim(shape: Ring) -> float:
    """Volume of a torus whose tube has ten corners, each a polygon when turned."""
    turns = np.arange(11) * (2 * math.pi / 10)
    profile = np.stack([shape.radius + shape.tube * np.cos(turns), shape.tube * np.sin(turns)], axis=1)
    (r0, z0), (r1, z1) = profile[:-1].T, profile[1:].T
    return float(np.sum((r0**2 + r0 * r1 + r1**2) * (z1 - z0)) / 3 * POLYGON)


RING = Ring((0.1, 0.2, 0.3), (0.0, -1.0, 0.0), 0.5, 0.1)


@pytest.mark.parametrize(
    ("shape", "expected", "tolerance"),
    [
        (Box(TURNED, (0.2, 0.3, 0.4)), 0.024, 1e-12),
        (Cylinder((0, 0, 0.1), (0.3, -0.4, 0.1), 0.2), 0.5 * 0.04 * POLYGON, 1e-12),
        (Ball((0.3, 0.2, 0.1), 0.5), math.pi / 6, 0.05),
        (Capsule((0, 0, 0), (0, 0, -1.0), 0.1), math.pi * (0.01 + 4e-3 / 3), 0.05),
        (RING, rim(RING), 1e-12),
    ],
    ids=["box", "cylinder", "ball", "capsule", "ring"],
)
def test_meshes_are_closed_face_outward_and_have_the_right_volume(
    shape: Any, expected: float, tolerance: float
) -> None:
    mesh = mesh_of(shape)
    assert volume(mesh) == pytest.approx(expected, rel=tolerance)
    names = {tuple(np.round(v, 9) + 0.0): k for k, v in enumerate(mesh.vertices)}  # corners that coincide are one
    index = [names[tuple(np.round(v, 9) + 0.0)] for v in mesh.vertices]
    faces = [[index[k] for k in face] for face in mesh.faces]
    edges = Counter((f[k], f[(k + 1) % 3]) for f in faces if len(set(f)) == 3 for k in range(3))
    assert edges
    assert all(edges[(b, a)] == count for (a, b), count in edges.items())


def test_merging_keeps_every_triangle() -> None:
    parts = [mesh_of(Ball((0, 0, 0), 1.0)), mesh_of(RING), mesh_of(Box(TURNED, (1, 2, 3)))]
    assert volume(merged(parts)) == pytest.approx(sum(map(volume, parts)))


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (0, 0.6, -0.8), (1, 0, 0)])
def test_about_turns_z_to_the_axis(axis: tuple[float, float, float]) -> None:
    R = about(np.array(axis, dtype=float))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)


# --- scenes ---


@pytest.mark.parametrize("name", ["excavator", "stewart", "five_bar", "go2"])
def test_every_chord_has_the_colour_of_the_module_that_closes_it(name: str, compiled: Any) -> None:
    robot, drawn = scene(compiled, name)
    topology = derive_topology(read_model(MODELS / f"{name}.yaml"))
    owner = {closure: module.name for module in robot.modules for closure in module.closures}
    colours = {module.name: module.colour for module in drawn.modules}
    assert len(set(colours.values())) == len(robot.modules)
    assert {chord.joint: chord.module for chord in drawn.chords} == {c.joint: owner[c.joint] for c in topology.chords}
    assert all(chord.colour == colours[chord.module] for chord in drawn.chords)
    signs = {part.record: part.colour for part in drawn.parts if part.layer == CHORDS}
    assert signs == {chord.joint: chord.colour for chord in drawn.chords}
    others = {part.colour for part in drawn.parts if part.layer != CHORDS}
    assert not others & set(colours.values())


def test_the_two_frames_of_a_chord_meet_where_it_is_closed(compiled: Any) -> None:
    robot, drawn = scene(compiled, "stewart")
    at = poses(robot, drawn, robot.reference)
    assert len(drawn.chords) == 5
    for chord in drawn.chords:
        ends = [at[body][0] @ frame.position + at[body][1]
                for body, frame in ((chord.body_a, chord.frame_a), (chord.body_b, chord.frame_b))]  # fmt: skip
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def test_struts_stretch_with_their_ports(compiled: Any) -> None:
    robot, drawn = scene(compiled, "stewart")
    assert [strut.record for strut in drawn.struts] == [port.name for port in robot.ports]
    assert {strut.colour for strut in drawn.struts} == {PORT_COLOUR}
    for change in (0.0, 0.05):
        values = {f"leg_{k}_length": 0.7 + change * (k % 2) for k in range(6)}
        q = robot.assemble(robot.configuration(values))
        for strut, length in zip(drawn.struts, robot.port_displacement(q), strict=True):
            pose, found = strut_pose(strut, poses(robot, drawn, q))
            assert found == pytest.approx(length, abs=1e-12)
            R, p = robot.pose(strut.body_b, q)
            end = np.array(pose.position) + found * np.array(pose.rotation)[:, 2]
            np.testing.assert_allclose(end, R @ np.array(strut.point_b) + p, atol=1e-12)


def test_turning_ports_get_a_dial_and_bodies_their_boxes(compiled: Any) -> None:
    _, drawn = scene(compiled, "five_bar")
    dials = Counter((part.record, type(part.shape)) for part in drawn.parts if part.layer == PORTS)
    assert all(dials[(motor, kind)] == 1 for motor in ("motor_left", "motor_right") for kind in (Ring, Ball, Cylinder))
    boxes = [part.body for part in drawn.parts if part.layer == INERTIAS]
    assert boxes == list(drawn.bodies)
    assert [frame.name for frame in drawn.frames] == ["toe"]


def test_sizes_follow_the_mechanism(compiled: Any) -> None:
    small, large = scene(compiled, "slider_crank")[1], scene(compiled, "excavator")[1]
    for drawn in (small, large):
        assert 0.005 < drawn.unit / drawn.size < 0.02
    assert 0.15 < small.size < 0.5
    assert 2 < large.size < 20


# --- the panel ---

STATUS = Status(
    residual=3e-16, tolerance=1e-12, rank=18, freedoms=6, kept=3.2e-2, dropped=4e-17,
    pivots=(ModulePivot("module_0", 0.02, 0.5), ModulePivot("module_1", 0.5, 0.5)),
    limits=(LimitReached("knee", 1.0, 1.0, False), LimitReached("hip <b>", 2.1, 2.0, True)),
)  # fmt: skip
MARKS = (
    ModuleMark("module_0", "#0072b2", ("a<script>", *(f"chord_{k}" for k in range(8))), ()),
    ModuleMark("module_1", "#d55e00", ("z",), ()),
)


def test_the_panel_tells_all_numbers_and_marks_small_pivots() -> None:
    text = panel_html(STATUS, MARKS, ("module_1",), "Refused. <knee> stops.")
    for part in ("3.0e-16", "1e-12", "18", "leaves 6 freedoms", "3.2e-02 / 4.0e-17", "4 % small", "100 %", "#d55e00",
                 "at 1", "beyond 2", "module_1", "and 3 more", "&lt;knee&gt; stops"):  # fmt: skip
        assert part in text, part
    assert "<script>" not in text
    assert "<b>" not in text.replace('<b style="', "")
    assert "100 % small" not in text


def test_the_panel_without_loops_or_redundancy() -> None:
    quiet = Status(0.0, 1e-12, 0, 7, 1.0, None, (), ())
    text = panel_html(quiet, (), (), "")
    for part in ("nothing closes a loop", "none reached", "no module", "no chord"):
        assert part in text
    assert 'class="message"' not in text
    full = Status(0.0, 1e-12, 15, 6, 0.23, None, (), ())
    assert "no redundant rows" in panel_html(full, (), (), "")
    exact = Status(0.0, 1e-12, 15, 6, 0.23, 0.0, (), ())
    assert "0, exactly" in panel_html(exact, (), (), "")
